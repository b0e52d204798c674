//! The trials of a search for the highest rate, and its result.

use super::grid::{Grid, Side};
use super::prose;
use syncline_record::units;

/// A run of the search.
#[derive(Clone, Debug, PartialEq)]
pub struct RateTrial {
    /// Arrivals per second; none for the closed loop that measured when the store is saturated.
    pub rate_per_s: Option<f64>,
    /// Commits per second.
    pub throughput_per_s: f64,
    /// The bounded percentile of response times, of the kind of transaction where it was longest; none if
    /// none committed often enough.
    pub percentile_ns: Option<u64>,
    /// Whether the bound held; none if it was not judged, as in the closed loop.
    pub holds: Option<bool>,
    /// The share of arrivals that committed, if the store did not keep up with them.
    pub kept_up: Option<f64>,
    /// The id of its record.
    pub id: String,
}

/// The trials in the order of their rates, and the result in a sentence.
pub fn rate_search(title: &str, percentile: &str, trials: &[RateTrial], result: &str) -> String {
    let columns = [
        ("arrivals/s", Side::Right),
        ("commits/s", Side::Right),
        (percentile, Side::Right),
        ("holds", Side::Left),
        ("record", Side::Left),
    ];
    let mut grid = Grid::new(&columns).optional_columns(&["record"]);
    let mut trials: Vec<&RateTrial> = trials.iter().collect();
    let rate = |trial: &RateTrial| trial.rate_per_s.unwrap_or(f64::INFINITY);
    trials.sort_by(|one, other| rate(one).total_cmp(&rate(other)));
    for trial in trials {
        let holds = match (trial.rate_per_s, trial.holds, trial.kept_up) {
            (None, _, _) => String::new(),
            (_, None, _) => units::UNKNOWN.to_owned(),
            (_, Some(true), _) => "yes".to_owned(),
            (_, Some(false), None) => "no".to_owned(),
            (_, Some(false), Some(share)) => {
                format!("no: it keeps up with {:.0} % of the arrivals", share * 100.0)
            }
        };
        grid.row(vec![
            trial.rate_per_s.map_or_else(|| "closed loop".to_owned(), units::count),
            units::count(trial.throughput_per_s),
            trial.percentile_ns.map_or_else(|| units::UNKNOWN.to_owned(), units::span_ns),
            holds,
            trial.id.clone(),
        ]);
    }
    format!("{title}\n\n{}\n{}", grid.render(), prose::wrap("", result))
}
