//! `run --find-max 'p99 < 10ms'`: the highest rate of arrivals at which response times stay within a bound.
//!
//! A closed loop with the same clients measures the rate at which the store is saturated; then an open loop
//! tries rates below and around it, as [`RateSearch`] says. Each trial is a run with a record of its own.
//!
//! A rate holds if the store keeps up with the arrivals, and if the response times of every kind of
//! transaction satisfy the bound. Times of a kind that occurred too seldom for its percentile are not judged;
//! if that is so of all kinds, the trial is too short, and the search says so.

use super::run::{log_places, urls};
use super::run_matrix::{self, Choice};
use super::series::{self, Series};
use super::sync_lines::SyncLines;
use crate::args::{ResponseBound, RunArgs};
use crate::interrupt;
use crate::registry::TargetRegistry;
use serde_json::{Value, json};
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_contract::LogLocation;
use syncline_profile::Map;
use syncline_record::{Latency, RunRecord, units};
use syncline_report::table::{self, RateTrial};
use syncline_runner::{Arrival, RateFound, RateSearch, Turns};

/// The least share of the arrivals that must commit, or abort by the workload's own rule.
const KEEPS_UP: f64 = 0.99;

/// Trials of a typical search, for the estimate of its time.
const TYPICAL_TRIALS: u64 = 12;

/// Searches on each target in turn. The exit code is 1 if the bound does not hold at any rate of some target,
/// and 2 if a search had no result.
pub(super) fn find_max<S: TargetRegistry>(
    workload: &str,
    options: &[(String, String)],
    (args, bound): (&RunArgs, &ResponseBound),
    registry: &S,
) -> Outcome {
    let choice = run_matrix::choose(workload, options, args)?;
    let [choice] = <[Choice; 1]>::try_from(choice).map_err(|_choices| {
        CannotRun::because("--find-max searches for one load: leave out --sweep")
    })?;
    let urls = urls(args, registry)?;
    let locations = log_places(registry, &urls)?;
    syncline_record::prepare_folder(&args.runs)?;
    let map = args.meter.read_map()?;
    let (duration, warm_up) = choice.spans();
    let trial = duration.unwrap_or_default() + warm_up;
    let tenths = u64::try_from(trial.as_millis() / 100).unwrap_or(u64::MAX);
    let tenths = tenths.saturating_mul(TYPICAL_TRIALS * urls.len() as u64);
    let bar = terminal::Progress::of_time(tenths);
    let mut lines = SyncLines::before(&args.line, &locations, &bar)?;
    let choice = choice.calibrated(registry)?;
    let mut searches = Vec::new();
    let mut first_number = 1;
    for (url, location) in urls.iter().zip(&locations) {
        let trials = Trials {
            args,
            bound,
            choice: &choice,
            target: (url, location),
            lines: &lines,
            map: map.as_ref(),
            number: first_number,
            records: Vec::new(),
        };
        let search = trials.search(registry, &bar)?;
        first_number += search.records.len() as u64;
        searches.push(search);
    }
    if !interrupt::stopped() {
        lines.after(&bar);
    }
    drop(bar);
    let mut verdict = Verdict::Holds;
    if args.json {
        let found: Vec<Value> = searches.iter().map(|search| search.json(bound)).collect();
        let text = serde_json::to_string_pretty(&json!({ "find_max": found }));
        terminal::print(&(text.map_err(|error| CannotRun(error.to_string()))? + "\n"))?;
    }
    for search in &searches {
        if !args.json {
            let percentile = bound.percentile();
            terminal::print_view(|| {
                table::rate_search(
                    &search.title(),
                    percentile,
                    &search.trials,
                    &search.sentence(bound),
                )
            })?;
        }
        verdict = search.records.iter().map(series::report_verdict).fold(verdict, Verdict::and);
        verdict = verdict.and(match search.found {
            Some(RateFound::Rate { .. }) => Verdict::Holds,
            Some(RateFound::None { .. }) => Verdict::Broken,
            Some(RateFound::Unclear) | None => Verdict::Partial,
        });
    }
    Ok(verdict)
}

/// The trials of one target, as they run.
struct Trials<'s> {
    args: &'s RunArgs,
    bound: &'s ResponseBound,
    choice: &'s Choice,
    target: (&'s str, &'s LogLocation),
    lines: &'s SyncLines,
    map: Option<&'s Map>,
    /// The number of the next record.
    number: u64,
    records: Vec<RunRecord>,
}

/// A search that has ended.
struct Search {
    url: String,
    records: Vec<RunRecord>,
    trials: Vec<RateTrial>,
    /// None if it was interrupted, or a trial was too short.
    found: Option<RateFound>,
    /// Why there is no result.
    why: Option<String>,
}

impl Trials<'_> {
    fn search<S: TargetRegistry>(
        mut self,
        registry: &S,
        bar: &terminal::Progress,
    ) -> Result<Search, CannotRun> {
        let url = syncline_stores::server::redacted_url(self.target.0);
        let mut trials = Vec::new();
        let (mut found, mut why) = (None, None);
        let saturated = self.run(registry, Arrival::Closed, bar)?;
        let saturated_per_s = saturated.end.throughput_per_s;
        trials.push(self.trial(&saturated, (None, None)));
        match RateSearch::new(saturated_per_s) {
            None => why = Some("nothing committed in the closed loop".to_owned()),
            Some(mut search) => {
                while found.is_none() && why.is_none() {
                    let rate_per_s = match search.next() {
                        Ok(rate_per_s) => rate_per_s,
                        Err(end) => {
                            found = Some(end);
                            break;
                        }
                    };
                    // What earlier trials found is shown nevertheless.
                    let record = match self.run(registry, Arrival::Poisson { rate_per_s }, bar) {
                        Ok(record) => record,
                        Err(error) => {
                            why = Some(error.0);
                            break;
                        }
                    };
                    let holds = self.holds(&record);
                    trials.push(self.trial(&record, (Some(rate_per_s), holds)));
                    if interrupt::stopped() || record.end.cut_short.is_some() {
                        why = Some("the search was cut short".to_owned());
                    } else if let Some(holds) = holds {
                        search.record(rate_per_s, holds);
                    } else {
                        let least = self.bound.count_min();
                        why = Some(format!(
                            "at {} no kind of transaction committed {least} times, which {} needs; give a \
                             longer --duration",
                            units::rate(rate_per_s),
                            self.bound.percentile()
                        ));
                    }
                }
            }
        }
        Ok(Search { url, records: self.records, trials, found, why })
    }

    /// One run, whose record is written.
    fn run<S: TargetRegistry>(
        &mut self,
        registry: &S,
        arrival: Arrival,
        bar: &terminal::Progress,
    ) -> Result<RunRecord, CannotRun> {
        let (url, location) = self.target;
        let choices = [self.choice.arriving(arrival)];
        let cases = run_matrix::cases(
            &choices,
            &[url.to_owned()],
            std::slice::from_ref(location),
            self.lines,
            self.args.alias.as_deref(),
        );
        let series = Series {
            repetitions: 1,
            turns: Turns::InBlocks,
            runs: &self.args.runs,
            survey: None,
            map: self.map.cloned(),
            first_number: self.number,
        };
        self.number += 1;
        let tenths = series::tenths(&cases, 1);
        let part = bar.part(None, tenths, tenths);
        let result = series.run(registry, &cases, &part, None);
        drop(part);
        let failed = result.failed.into_iter().map(|(_, why)| why).chain(result.broken_records);
        if let Some(why) = failed.into_iter().next() {
            return Err(CannotRun(format!("{}: {why}", cases[0].name)));
        }
        let ran = result.ran.into_iter().next();
        let ran = ran.ok_or_else(|| CannotRun::because("stopped before the trial ran"))?;
        let (record, file) = ran.finish(|location| self.lines.of(location));
        if let Some(file) = file? {
            terminal::note(&format!("record: {}", file.display()));
        }
        self.records.push(record.clone());
        Ok(record)
    }

    /// The response times of each kind of transaction that occurred often enough.
    fn judged<'r>(&self, record: &'r RunRecord) -> impl Iterator<Item = &'r Latency> {
        let least = self.bound.count_min();
        let kinds = record.end.transactions.iter();
        kinds.filter(move |kind| kind.count >= least).filter_map(|kind| kind.response_ns.as_ref())
    }

    /// None if no kind of transaction occurred often enough.
    fn holds(&self, record: &RunRecord) -> Option<bool> {
        let mut judged = self.judged(record).map(|times| self.bound.holds(times)).peekable();
        judged.peek()?;
        let keeps_up = kept_up(record).is_none_or(|share| share >= KEEPS_UP);
        Some(keeps_up && judged.all(|holds| holds))
    }

    fn trial(
        &self,
        record: &RunRecord,
        (rate_per_s, holds): (Option<f64>, Option<bool>),
    ) -> RateTrial {
        let kept_up = kept_up(record).filter(|share| *share < KEEPS_UP);
        RateTrial {
            rate_per_s,
            throughput_per_s: record.end.throughput_per_s,
            percentile_ns: self.judged(record).map(|times| self.bound.of(times)).max(),
            holds,
            kept_up,
            id: record.identity.id.clone(),
        }
    }
}

/// The share of an open loop's arrivals that committed or aborted by the workload's rule.
fn kept_up(record: &RunRecord) -> Option<f64> {
    let offered = record.end.arrivals.as_ref()?.offered;
    let outcomes = &record.end.outcomes;
    (offered > 0).then(|| (outcomes.committed + outcomes.aborted) as f64 / offered as f64)
}

impl Search {
    fn title(&self) -> String {
        self.records.first().map_or_else(|| self.url.clone(), RunRecord::title)
    }

    /// The result in a sentence.
    fn sentence(&self, bound: &ResponseBound) -> String {
        let saturated = self.trials.first().map_or(f64::NAN, |trial| trial.throughput_per_s);
        let share = |rate: f64| format!("{:.0} % of the closed loop", rate / saturated * 100.0);
        match (self.found, &self.why) {
            (Some(RateFound::Rate { per_s, fails_per_s: Some(fails) }), _) => format!(
                "{bound} holds up to {} arrivals, {}; at {} it does not",
                units::rate(per_s),
                share(per_s),
                units::rate(fails)
            ),
            (Some(RateFound::Rate { per_s, fails_per_s: None }), _) => {
                format!(
                    "{bound} holds at every rate tried, up to {}, {}",
                    units::rate(per_s),
                    share(per_s)
                )
            }
            (Some(RateFound::None { least_per_s }), _) => {
                format!(
                    "{bound} does not hold at any rate tried, down to {}",
                    units::rate(least_per_s)
                )
            }
            (Some(RateFound::Unclear), _) => {
                "no result: the trials contradict each other; try longer ones, or a quieter machine"
                    .to_owned()
            }
            (None, why) => {
                format!("no result: {}", why.as_deref().unwrap_or("the search was cut short"))
            }
        }
    }

    fn json(&self, bound: &ResponseBound) -> Value {
        let (found, fails) = match self.found {
            Some(RateFound::Rate { per_s, fails_per_s }) => (Some(per_s), fails_per_s),
            Some(RateFound::None { least_per_s }) => (None, Some(least_per_s)),
            Some(RateFound::Unclear) | None => (None, None),
        };
        let trials = self.trials.iter().map(|trial| {
            json!({
                "record": trial.id,
                "rate_per_s": trial.rate_per_s,
                "throughput_per_s": trial.throughput_per_s,
                "percentile_ns": trial.percentile_ns,
                "holds": trial.holds,
            })
        });
        json!({
            "target": self.url,
            "bound": bound.to_string(),
            "rate_per_s": found,
            "fails_per_s": fails,
            "saturated_per_s": self.trials.first().map(|trial| trial.throughput_per_s),
            "result": self.sentence(bound),
            "trials": trials.collect::<Vec<_>>(),
        })
    }
}
