//! A run for a front door: one target, one workload, its record written as it goes; what is printed is
//! the door's affair.

use crate::laboratory::Laboratory;
use std::cell::RefCell;
use std::path::Path;
use syncline_benchmark::Benchmark;
use syncline_console::{CannotRun, Verdict, terminal};
use syncline_contract::conformance::block_on;
use syncline_contract::{Kind, LogLocation, Plan, Table, Target};
use syncline_profile::Map;
use syncline_record::{Record, RunRecord, SyncLine, Writer};
use syncline_report::{CostChoice, table};
use syncline_runner::record::{RunInputs, from_run, head_from_run, interval_from_run, stacks_of};
use syncline_runner::{Event, Observer, RunPlan, RunResult, TransactionListener};
use syncline_workloads::AnyWorkload;

/// What came of a run.
#[derive(Debug)]
pub(crate) struct CompatRun {
    pub(crate) result: RunResult,
    pub(crate) record: RunRecord,
    /// Whether the record's file is whole.
    pub(crate) kept: Verdict,
}

/// What the record of a run is made with.
#[derive(Debug)]
pub(crate) struct Recording<'a> {
    /// The target's URL.
    pub(crate) url: &'a str,
    /// The folder that the record goes to.
    pub(crate) runs: &'a Path,
    /// A map to fold a metered store's stacks by, in place of the one of its product.
    pub(crate) map: Option<Map>,
}

/// Runs and writes the record; `also` is told everything too, and the listener of every transaction.
pub(crate) fn run<L: Laboratory>(
    recording: Recording<'_>,
    laboratory: &L,
    target: &L::Target,
    workload: &AnyWorkload,
    plan: &RunPlan,
    also: &dyn Observer,
    listener: Option<&dyn TransactionListener>,
) -> Result<CompatRun, CannotRun> {
    syncline_record::prepare_folder(recording.runs)?;
    let directory = match target.log_place() {
        LogLocation::Directory(directory) => Some(directory.display().to_string()),
        LogLocation::Nowhere(_) => None,
    };
    let Recording { url, runs, map } = recording;
    let given = RunInputs {
        map,
        sync_line: SyncLine::unknown(directory, "not measured: a front door measures no line"),
        ..laboratory.record_inputs(url, &target.log_place())
    };
    let scribe = RecordListener { given, runs, also, written: RefCell::default() };
    let stop = laboratory.stop_flag();
    let result = target.run(workload, plan, stop, &scribe, listener);
    let result = result.map_err(CannotRun::from);
    let Written { writer, broken } = scribe.written.into_inner();
    let result = match result {
        Ok(result) => result,
        Err(why) => {
            // A head without a run is no record.
            writer.map_or(Ok(()), Writer::discard)?;
            return Err(why);
        }
    };
    let runs = std::slice::from_ref(&result);
    let mut record = from_run(runs, &scribe.given);
    let stacks = stacks_of(runs, &scribe.given);
    let finished = match (broken, writer) {
        (None, Some(writer)) => {
            let finished = writer.finish_run(&mut record, stacks);
            finished.map_err(|error| error.to_string())
        }
        (why, _) => Err(why.unwrap_or_else(|| "it was never begun".to_owned())),
    };
    let kept = match finished {
        Ok(file) => {
            terminal::note(&format!("record: {}", file.display()));
            Verdict::Holds
        }
        Err(why) => {
            terminal::error(&format!("there is no whole record of this run: {why}"));
            Verdict::Partial
        }
    };
    Ok(CompatRun { result, record, kept })
}

/// Refuses a place where something stands, which a run would make anew; leaves it as it is. `what` says
/// why the run cannot start from it.
pub(crate) fn refuse_what_stands<T: Target>(target: &T, what: &str) -> Result<(), CannotRun> {
    // Any plan with a table asks for what stands there; only tables that stores number cannot be asked for.
    let mut plan = Plan::new();
    plan.table(Table::new("syncline_any").column("id", Kind::Int).key(&["id"]));
    let there = block_on(&(), async {
        let there = target.reopen(&plan).await;
        if matches!(there, Ok(false)) {
            return there;
        }
        let kept = target.keep().await;
        // Why it cannot be opened says more than what came of it.
        there.and_then(|there| kept.map(|()| there))
    });
    match there {
        Ok(false) => Ok(()),
        Ok(true) => Err(CannotRun(format!(
            "{what}, and {} exists already: name another place, or remove it first",
            target.name()
        ))),
        Err(failure) => Err(CannotRun(format!("{what}, and {}", failure.what))),
    }
}

/// Removes what an earlier run of ours left at a target's place; refuses what is not ours.
pub(crate) fn make_empty<T: Target>(target: &T) -> Result<(), CannotRun> {
    let nothing = Plan::new();
    let emptied = block_on(&(), async {
        if let Err(there) = target.create(&nothing).await {
            // A server that makes nothing anew: what is ours is opened, and goes.
            if !target.capabilities().reopens || !target.reopen(&nothing).await? {
                return Err(there);
            }
            target.remove().await?;
            target.create(&nothing).await?;
        }
        target.remove().await
    });
    emptied.map_err(CannotRun::from)
}

/// Prints a metered run's cost, as `syncline run` does; nothing of a run that was not metered.
pub(crate) fn print_cost(record: &RunRecord) -> Result<(), CannotRun> {
    if record.head.plan.looks_per_s.is_some() {
        terminal::print(&table::cost(record, &CostChoice::default()))?;
    }
    Ok(())
}

/// The record for machines.
pub(crate) fn json(record: &RunRecord) -> String {
    syncline_record::json(&[Record::from(record.clone())]) + "\n"
}

#[derive(Default)]
struct Written {
    writer: Option<Writer>,
    broken: Option<String>,
}

/// Writes the record while the run goes on.
struct RecordListener<'a> {
    given: RunInputs,
    runs: &'a Path,
    also: &'a dyn Observer,
    written: RefCell<Written>,
}

impl RecordListener<'_> {
    fn write(&self, event: Event<'_>) -> syncline_record::Result<()> {
        let mut written = self.written.borrow_mut();
        match (event, &mut written.writer) {
            (Event::Started(head), None) => {
                let head = head_from_run(head, &self.given);
                written.writer = Some(Writer::create_run(self.runs, &self.given.identity, &head)?);
                Ok(())
            }
            (Event::Interval(interval), Some(writer)) => {
                writer.interval(&interval_from_run(interval, 1))
            }
            _ => Ok(()),
        }
    }
}

impl Observer for RecordListener<'_> {
    fn event(&self, event: Event<'_>) {
        self.also.event(event);
        if self.written.borrow().broken.is_none()
            && let Err(error) = self.write(event)
        {
            self.written.borrow_mut().broken = Some(error.to_string());
        }
    }
}
