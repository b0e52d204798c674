//! The sampling error of the shares of modules in a profiled run.

use super::CostChoice;
use super::sheet::{Figure, Heading, Sheet};
use syncline_record::Cost;
use syncline_record::units;

/// With this many samples any share is known to ten points either way, with 95 % confidence.
const ENOUGH: u64 = 100;
/// The frequency that is recommended if there are few samples.
const OFTEN: u64 = 999;
/// With more samples any share is known to two points, which needs no advice.
const PLENTY: u64 = 2_500;

/// Why there are too few samples of the shown threads for shares of processor time; `None` if there are
/// enough, or if processor time was not sampled.
pub(crate) fn too_few(cost: &Cost, choice: &CostChoice) -> Option<String> {
    let samples = samples(cost, choice)?;
    (samples < ENOUGH).then(|| {
        format!(
            "{} in {} are too few for shares by module: {ENOUGH} give +-10 points (95 %); {}",
            units::plural(samples, "CPU sample"),
            units::span_ns(cost.window_ns),
            advice(cost)
        )
    })
}

/// The error of any share, once for all rows; `None` if [`too_few`] returns a sentence.
pub(crate) fn sampling_error(cost: &Cost, choice: &CostChoice) -> Option<String> {
    let samples = samples(cost, choice).filter(|samples| *samples >= ENOUGH)?;
    // Half the width of the interval of a share of one half, which is the widest.
    let points = 1.96 * 0.5 / (samples as f64).sqrt() * 100.0;
    let advice = if samples < PLENTY { format!("; {}", advice(cost)) } else { String::new() };
    Some(format!(
        "{}: CPU shares +-{points:.0} points or better (95 %){advice}",
        units::plural(samples, "sample")
    ))
}

/// The number of samples of the shown threads.
fn samples(cost: &Cost, choice: &CostChoice) -> Option<u64> {
    let sheet = Sheet::of(cost, choice);
    let column = sheet.headings.iter().position(|heading| *heading == Heading::Samples)?;
    match sheet.sum.cells[column] {
        Figure::Samples(samples) => Some(samples),
        _ => None,
    }
}

/// How to get more samples. `detail` of processor time starts with the frequency.
fn advice(cost: &Cost) -> String {
    let mut metrics = cost.metrics.iter().filter(|one| one.metric.starts_with("cpu_"));
    let frequency = metrics.find_map(|one| {
        let detail = one.detail.as_deref()?;
        detail.split(' ').next()?.parse::<u64>().ok()
    });
    if frequency.is_some_and(|per_s| per_s < OFTEN) {
        format!("measure longer or use --sampling-hz {OFTEN}")
    } else {
        "measure longer".to_owned()
    }
}
