//! What a command here needs of the program that runs it: stores by name, the program's own run, and what it
//! writes into every record.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use syncline_benchmark::Benchmark;
use syncline_console::{CannotRun, LineArg, MeterArgs, Outcome, Verdict};
use syncline_contract::LogLocation;
use syncline_record::RunRecord;
use syncline_runner::record::RunInputs;
use syncline_runner::{RunPlan, TransactionListener};
use syncline_workloads::AnyWorkload;

/// The program, as its commands of other tools see it.
pub trait Laboratory {
    /// The type of all targets.
    type Target: Benchmark;

    /// Opens a target by URL or name; touches nothing.
    fn open(&self, url: &str) -> Result<Self::Target, CannotRun>;

    /// Opens a target that is to be measured and checks that it can be.
    fn open_checked(&self, url: &str) -> Result<Self::Target, CannotRun>;

    /// The name of the user's own store, if the program has one.
    fn own(&self) -> Option<&str>;

    /// The flag that a signal sets to end a run.
    fn stop_flag(&self) -> &'static AtomicBool;

    /// What the record of one run on a target is made with; without a map and a sync line.
    fn record_inputs(&self, url: &str, log_place: &LogLocation) -> RunInputs;

    /// Prints what a record complains about, and returns what that means for the exit code.
    fn report_verdict(&self, record: &RunRecord) -> Verdict;

    /// Prints what a run of a workload on a target would do.
    fn dry_run(&self, workload: &AnyWorkload, clients: usize, url: &str) -> Outcome;

    /// Runs as `syncline run` does, sync lines and calibration included. `show` prints the records.
    fn run(
        &self,
        request: RunRequest,
        listener: &dyn TransactionListener,
        show: impl Fn(&[RunRecord]) -> Result<(), CannotRun>,
    ) -> Outcome;
}

/// A run of one workload on one target.
#[derive(Debug)]
pub struct RunRequest {
    /// What runs.
    pub workload: AnyWorkload,
    /// How it runs.
    pub plan: RunPlan,
    /// The target's URL.
    pub url: String,
    /// The map of a profiled run.
    pub meter: MeterArgs,
    /// The sync line to compare with.
    pub line: LineArg,
    /// The folder for the record.
    pub runs: PathBuf,
    /// Print what it would do, and change nothing.
    pub dry_run: bool,
}
