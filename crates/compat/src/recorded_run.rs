//! A run of a compatibility command: one target, one workload, and a record written as it proceeds. The
//! command prints the results.

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

/// The result of a run.
#[derive(Debug)]
pub(crate) struct CompatRun {
    pub(crate) result: RunResult,
    pub(crate) record: RunRecord,
    /// Whether the record's file is complete.
    pub(crate) kept: Verdict,
}

/// Inputs of a run's record.
#[derive(Debug)]
pub(crate) struct Recording<'a> {
    /// The target's URL.
    pub(crate) url: &'a str,
    /// The directory of the record.
    pub(crate) runs: &'a Path,
    /// A map for the stacks of a profiled store, instead of its product's.
    pub(crate) map: Option<Map>,
}

/// Runs and writes the record; `also` receives every event, and the listener every transaction.
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
    let directory = match target.log_location() {
        LogLocation::Directory(directory) => Some(directory.display().to_string()),
        LogLocation::Nowhere(_) => None,
    };
    let Recording { url, runs, map } = recording;
    let inputs = RunInputs {
        map,
        sync_line: SyncLine::unknown(
            directory,
            "not measured: this command does not measure the sync line",
        ),
        ..laboratory.record_inputs(url, &target.log_location())
    };
    let record_listener = RecordListener { inputs, runs, also, written: RefCell::default() };
    let stop = laboratory.stop_flag();
    let result = target.run(workload, plan, stop, &record_listener, listener);
    let result = result.map_err(CannotRun::from);
    let WrittenRecord { writer, broken } = record_listener.written.into_inner();
    let result = match result {
        Ok(result) => result,
        Err(why) => {
            // A record without a run is discarded.
            writer.map_or(Ok(()), Writer::discard)?;
            return Err(why);
        }
    };
    let runs = std::slice::from_ref(&result);
    let mut record = from_run(runs, &record_listener.inputs);
    let stacks = stacks_of(runs, &record_listener.inputs);
    let finished = match (broken, writer) {
        (None, Some(writer)) => {
            let finished = writer.finish_run(&mut record, stacks);
            finished.map_err(|error| error.to_string())
        }
        (why, _) => Err(why.unwrap_or_else(|| "the run did not start".to_owned())),
    };
    let kept = match finished {
        Ok(file) => {
            terminal::note(&format!("record: {}", file.display()));
            Verdict::Holds
        }
        Err(why) => {
            terminal::error(&format!("the record of this run is incomplete: {why}"));
            Verdict::Partial
        }
    };
    Ok(CompatRun { result, record, kept })
}

/// Refuses a place that already holds a store, which a run would replace; leaves it unchanged. `what` says
/// why the run cannot use it.
pub(crate) fn refuse_existing<T: Target>(target: &T, what: &str) -> Result<(), CannotRun> {
    // Any plan with a table finds existing data, except tables that stores number.
    let mut plan = Plan::new();
    plan.table(Table::new("syncline_any").column("id", Kind::Int).key(&["id"]));
    let there = block_on(&(), async {
        let there = target.reopen(&plan).await;
        if matches!(there, Ok(false)) {
            return there;
        }
        let kept = target.keep().await;
        // An open error is more informative than the result of keeping.
        there.and_then(|there| kept.map(|()| there))
    });
    match there {
        Ok(false) => Ok(()),
        Ok(true) => Err(CannotRun(format!(
            "{what}, but {} exists already: name another place, or remove it first",
            target.name()
        ))),
        Err(failure) => Err(CannotRun(format!("{what}: {}", failure.what))),
    }
}

/// Removes what an earlier run of Syncline left at a target's place; refuses anything else.
pub(crate) fn make_empty<T: Target>(target: &T) -> Result<(), CannotRun> {
    let nothing = Plan::new();
    let emptied = block_on(&(), async {
        if let Err(there) = target.create(&nothing).await {
            // A server that does not replace data: Syncline's own data is opened and removed.
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

/// Prints the costs of a profiled run, as `syncline run` does; prints nothing for a run without profile.
pub(crate) fn print_cost(record: &RunRecord) -> Result<(), CannotRun> {
    if record.head.plan.looks_per_s.is_some() {
        terminal::print(&table::cost(record, &CostChoice::default()))?;
    }
    Ok(())
}

/// The record as JSON.
pub(crate) fn json(record: &RunRecord) -> String {
    syncline_record::json(&[Record::from(record.clone())]) + "\n"
}

#[derive(Default)]
struct WrittenRecord {
    writer: Option<Writer>,
    broken: Option<String>,
}

/// Writes the record during the run.
struct RecordListener<'a> {
    inputs: RunInputs,
    runs: &'a Path,
    also: &'a dyn Observer,
    written: RefCell<WrittenRecord>,
}

impl RecordListener<'_> {
    fn write(&self, event: Event<'_>) -> syncline_record::Result<()> {
        let mut written = self.written.borrow_mut();
        match (event, &mut written.writer) {
            (Event::Started(head), None) => {
                let head = head_from_run(head, &self.inputs);
                written.writer = Some(Writer::create_run(self.runs, &self.inputs.identity, &head)?);
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
