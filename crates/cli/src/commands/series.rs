//! A series of runs: the cases take turns, and each case's record is written as it runs.

use super::{environment, metrics_file, sync_lines};
use crate::interrupt;
use crate::registry::TargetRegistry;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use syncline_benchmark::Benchmark;
use syncline_console::{CannotRun, Verdict, terminal};
use syncline_contract::LogLocation;
use syncline_instrument::clock;
use syncline_profile::Map;
use syncline_record::{
    Identity, Interval, Record, RunHead, RunRecord, SyncLine, Warning, Writer,
    units::{self, plural},
};
use syncline_report::{export, table};
use syncline_runner::record::{RunInputs, from_run, head_from_run, interval_from_run, stacks_of};
use syncline_runner::{
    self as runner, Case, Event, Observer, RunPlan, RunResult, TransactionListener, Turns,
};
use syncline_stores::server::redacted_url;
use syncline_workloads::AnyWorkload;

/// One case: a target and a plan.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// Its name in messages, unique in the series.
    pub(super) name: String,
    /// The target's URL.
    pub(super) url: String,
    /// The store's name in records, instead of its product and version.
    pub(super) alias: Option<String>,
    /// The workload.
    pub(super) workload: Arc<AnyWorkload>,
    /// Where its log is written.
    pub(super) log_location: LogLocation,
    /// The plan.
    pub(super) plan: RunPlan,
}

/// What all cases of a series share.
#[derive(Debug)]
pub(super) struct Series<'s> {
    pub(super) repetitions: usize,
    pub(super) turns: Turns,
    /// A map for the stacks of a profiled store, instead of its product's.
    pub(super) map: Option<Map>,
    /// The directory of the records.
    pub(super) runs: &'s Path,
    /// The id of the survey that the records belong to.
    pub(super) survey: Option<String>,
    /// The number of the first record of this series, so that identities are unique within one command.
    pub(super) first_number: u64,
}

/// A case that ran: its results, and its record, which is still open.
#[derive(Debug)]
pub(super) struct Ran {
    results: Vec<RunResult>,
    inputs: RunInputs,
    writer: Option<Writer>,
    log_location: LogLocation,
}

/// The outcome of a series: cases that ran, errors of those that did not, and records that could not be
/// written.
#[derive(Debug, Default)]
pub(super) struct SeriesResult {
    pub(super) ran: Vec<Ran>,
    pub(super) failed: Vec<(usize, String)>,
    pub(super) broken_records: Vec<String>,
}

impl Series<'_> {
    /// The identity of a record. It omits the command line if any store has an alias, since the command line
    /// names the product.
    fn identity(&self, number: u64, withheld: bool) -> Identity {
        let fresh = environment::identity("run", number);
        Identity {
            survey: self.survey.clone(),
            command: fresh.command.clone().filter(|_| !withheld),
            ..fresh
        }
    }

    /// Runs the cases in turn.
    pub(super) fn run<S: TargetRegistry>(
        &self,
        registry: &S,
        cases: &[Planned],
        bar: &terminal::Part<'_>,
        listener: Option<&dyn TransactionListener>,
    ) -> SeriesResult {
        let made = cases.iter().map(|case| Case {
            name: case.name.clone(),
            make: Box::new(|| open(registry, &case.url)),
            workload: &*case.workload,
            plan: case.plan.clone(),
        });
        let made: Vec<Case<'_, S::Target, AnyWorkload>> = made.collect();
        let scribe = RecordListener::new(self, cases, bar);
        let stop = interrupt::stop_flag();
        let results =
            Benchmark::repeat(&made, self.repetitions, self.turns, stop, &scribe, listener);
        let mut notes = scribe.notes.into_inner();
        let mut result = SeriesResult::default();
        for (number, (case, note)) in results.into_iter().zip(notes.drain(..)).enumerate() {
            result.broken_records.extend(note.broken);
            if let Some(error) = case.error {
                result.failed.push((number, error.to_string()));
            }
            if case.runs.is_empty() {
                // A record without a run is discarded.
                let discarded = note.writer.map_or(Ok(()), Writer::discard);
                result.broken_records.extend(discarded.err().map(|error| error.to_string()));
            } else {
                let (inputs, writer) = (note.inputs, note.writer);
                let log_location = cases[number].log_location.clone();
                result.ran.push(Ran { results: case.runs, inputs, writer, log_location });
            }
        }
        result
    }
}

impl Ran {
    /// Closes the record with the sync line measured around the run and its warnings. Returns the record and
    /// its file.
    pub(super) fn finish(
        mut self,
        line: impl Fn(&LogLocation) -> (SyncLine, Option<Warning>),
    ) -> (RunRecord, Result<Option<PathBuf>, CannotRun>) {
        let (line, warning) = line(&self.log_location);
        self.inputs.sync_line = line;
        let mut record = from_run(&self.results, &self.inputs);
        record.end.warnings.extend(warning);
        let stacks = stacks_of(&self.results, &self.inputs);
        let file = self.writer.map(|writer| writer.finish_run(&mut record, stacks)).transpose();
        (record, file.map_err(CannotRun::from))
    }
}

fn open<S: TargetRegistry>(
    registry: &S,
    url: &str,
) -> Result<S::Target, syncline_contract::Failure> {
    use syncline_contract::{Failure, FailureKind};
    registry.open(url).map_err(|why| Failure::new(FailureKind::Statement, why.0))
}

/// The state of a case's record while it runs.
#[derive(Debug)]
struct Note {
    inputs: RunInputs,
    writer: Option<Writer>,
    broken: Option<String>,
    head: Option<RunHead>,
}

/// Writes each case's record as its runs progress, and moves the bar.
struct RecordListener<'s> {
    names: Vec<String>,
    runs: &'s Path,
    notes: RefCell<Vec<Note>>,
    current: RefCell<(usize, u64)>,
    /// The best sync rate of the disk below each case's log, if it is known.
    lines: Vec<Option<f64>>,
    /// The rates of the current measured time, an interval each.
    rates: RefCell<Vec<f64>>,
    /// When the current load began.
    loading: RefCell<Option<u64>>,
    bar: &'s terminal::Part<'s>,
    began: u64,
}

impl<'s> RecordListener<'s> {
    fn new(
        series: &'s Series<'s>,
        cases: &[Planned],
        bar: &'s terminal::Part<'s>,
    ) -> RecordListener<'s> {
        let withheld = cases.iter().any(|case| case.alias.is_some());
        let notes = (series.first_number..).zip(cases).map(|(number, case)| Note {
            inputs: RunInputs {
                identity: series.identity(number, withheld),
                url: Some(redacted_url(&case.url)),
                alias: case.alias.clone(),
                host: environment::host(),
                repeat: series.repetitions as u64,
                interleave: series.turns == Turns::Interleaved && cases.len() > 1,
                map: series.map.clone(),
                dropped_syncs: sync_lines::dropped_syncs(&case.log_location),
                sync_line: SyncLine::unknown(None, "not measured yet"),
            },
            writer: None,
            broken: None,
            head: None,
        });
        RecordListener {
            names: cases.iter().map(|case| case.name.clone()).collect(),
            runs: series.runs,
            notes: RefCell::new(notes.collect()),
            current: RefCell::new((0, 1)),
            lines: cases.iter().map(|case| case.plan.line_max_per_s).collect(),
            rates: RefCell::default(),
            loading: RefCell::new(None),
            bar,
            began: clock::now(),
        }
    }

    fn write(&self, write: impl FnOnce(&mut Note, u64) -> syncline_record::Result<()>) {
        let (case, repetition) = *self.current.borrow();
        let note = &mut self.notes.borrow_mut()[case];
        if note.broken.is_none()
            && let Err(error) = write(note, repetition)
        {
            note.broken = Some(error.to_string());
        }
    }

    fn begin(&self, head: &runner::RunHead) {
        let runs = self.runs;
        self.write(|note, _| {
            if note.head.is_none() {
                let head = note.head.insert(head_from_run(head, &note.inputs));
                note.writer = Some(Writer::create_run(runs, &note.inputs.identity, head)?);
            }
            Ok(())
        });
    }

    fn interval(&self, interval: &Interval) {
        self.write(|note, repetition| {
            let interval = interval_from_run(interval, repetition);
            if let Some(head) = &note.head {
                let identity = &note.inputs.identity;
                metrics_file::write(|| export::openmetrics_of_interval(identity, head, &interval));
            }
            note.writer.as_mut().map_or(Ok(()), |writer| writer.interval(&interval))
        });
    }

    /// How much is loaded, and the remaining time at the current pace.
    fn loading(&self, units: u64, of: u64) -> String {
        let now = clock::now();
        let mut loading = self.loading.borrow_mut();
        let began = match *loading {
            Some(began) if units > 0 => began,
            _ => *loading.insert(now),
        };
        let spent_ns = (now - began) as f64;
        if units == 0 || units >= of {
            return format!("loaded {units} of {of}");
        }
        let left_ns = spent_ns / units as f64 * (of - units) as f64;
        format!("loaded {units} of {of}, {} left", units::span(left_ns))
    }

    /// The line below the bar: the figures of the last interval and the rates before it.
    fn live_status(&self, interval: &Interval) {
        let (case, _) = *self.current.borrow();
        let mut rates = self.rates.borrow_mut();
        rates.push(interval.throughput_per_s());
        self.bar.status(&table::live_status(interval, &rates, self.lines[case]));
    }

    fn show_progress(&self, what: &str) {
        let (case, _) = *self.current.borrow();
        let done = (clock::now() - self.began) / 100_000_000;
        self.bar.at(done, &format!("{}: {what}", self.names[case]));
    }
}

impl Observer for RecordListener<'_> {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Case { name, repetition, repetitions } => {
                let case = self.names.iter().position(|known| known == name);
                let case = case.expect("only the cases of this series are run");
                *self.current.borrow_mut() = (case, repetition as u64);
                match repetitions {
                    1 => self.show_progress("starting"),
                    _ => self.show_progress(&format!("repetition {repetition} of {repetitions}")),
                }
            }
            Event::Loading { units, of } => self.show_progress(&self.loading(units, of)),
            Event::Connecting { clients } => {
                self.show_progress(&format!("connecting {}", plural(clients as u64, "client")));
            }
            Event::Started(head) => self.begin(head),
            Event::WarmingUp => self.show_progress("warming up"),
            Event::MeasuringOverhead => self.show_progress("measuring the profiling overhead"),
            Event::Measuring => {
                self.rates.borrow_mut().clear();
                self.show_progress("measuring");
            }
            Event::Interval(interval) => {
                self.interval(interval);
                self.live_status(interval);
                self.show_progress(&format!("measuring, {}", table::live_figures(interval)));
            }
            Event::Draining => {
                self.bar.status("");
                self.show_progress("draining");
            }
            Event::Checking => self.show_progress("checking"),
            Event::Creating | Event::Removing | Event::Ended(_) => {}
        }
    }
}

/// The estimated time of the runs, in tenths of a second, for the bar.
pub(super) fn tenths(cases: &[Planned], repetitions: usize) -> u64 {
    let of = |case: &Planned| {
        let spans = 1 + u32::from(case.plan.overhead_test);
        case.plan.duration.unwrap_or_default() * spans + case.plan.warm_up
    };
    let sum: Duration = cases.iter().map(of).sum();
    u64::try_from(sum.as_millis() / 100).unwrap_or(u64::MAX).saturating_mul(repetitions as u64)
}

/// Prints the errors of a run's record on standard error, and returns the verdict for the exit code.
pub(super) fn report_verdict(record: &RunRecord) -> Verdict {
    let name = record.title();
    let mut verdict = Verdict::Holds;
    // A server that can no longer be asked whether the rows are there, because it was killed, has broken its
    // promise, whatever else ended the run.
    let mut warnings = record.end.warnings.iter();
    let gone = warnings.find(|warning| warning.name == "checks_not_made");
    if let Some(warning) = gone {
        terminal::error(&format!("{name}: {}", warning.what));
        verdict = verdict.and(Verdict::Broken);
    }
    if let Some(why) = &record.end.cut_short {
        terminal::error(&format!("{name}: {why}"));
        verdict = verdict.and(match gone {
            Some(_) => Verdict::Broken,
            None => Verdict::Partial,
        });
    }
    for check in record.end.checks.iter().filter(|check| check.outcome == "violated") {
        let what = check.detail.as_deref().unwrap_or("the check failed");
        terminal::error(&format!("{name}: violated: {}: {what}", check.name));
        verdict = verdict.and(Verdict::Broken);
    }
    for finding in syncline_record::findings(record) {
        if finding.fails {
            terminal::error(&format!("{name}: {}", finding.sentence));
            verdict = verdict.and(Verdict::Broken);
        }
    }
    verdict
}

/// Wraps run records for the views.
pub(super) fn wrapped(records: &[RunRecord]) -> Vec<Record> {
    records.iter().cloned().map(Record::from).collect()
}
