//! What the commands here require of the program that runs them: stores by name, the program's own run, and
//! the facts that every record holds.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use syncline_benchmark::Benchmark;
use syncline_console::{CannotRun, LineArg, MeterArgs, Outcome, Verdict};
use syncline_contract::LogLocation;
use syncline_record::RunRecord;
use syncline_runner::record::RunInputs;
use syncline_runner::{RunPlan, TransactionListener};
use syncline_workloads::AnyWorkload;

/// The program that runs the commands.
pub trait Laboratory {
    /// The type of all targets.
    type Target: Benchmark;

    /// Opens a target by URL or name, without connecting to it.
    fn open(&self, url: &str) -> Result<Self::Target, CannotRun>;

    /// Opens a target to be measured and runs its preflight check.
    fn open_checked(&self, url: &str) -> Result<Self::Target, CannotRun>;

    /// The name of the user's own store, if the program has one.
    fn own(&self) -> Option<&str>;

    /// The flag that a signal sets to end a run.
    fn stop_flag(&self) -> &'static AtomicBool;

    /// The inputs for the record of one run on a target, without a map and a sync line.
    fn record_inputs(&self, url: &str, log_location: &LogLocation) -> RunInputs;

    /// Prints the errors of a run's record, and returns the verdict for the exit code.
    fn report_verdict(&self, record: &RunRecord) -> Verdict;

    /// Prints what a run of a workload on a target would do.
    fn dry_run(&self, workload: &AnyWorkload, clients: usize, url: &str) -> Outcome;

    /// Runs like `syncline run`, including sync lines and calibration. `show` prints the records.
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
    /// The workload.
    pub workload: AnyWorkload,
    /// The plan.
    pub plan: RunPlan,
    /// The target's URL.
    pub url: String,
    /// The profiling options.
    pub meter: MeterArgs,
    /// The sync line to compare with.
    pub line: LineArg,
    /// The directory of the record.
    pub runs: PathBuf,
    /// Print what the run would do, and change nothing.
    pub dry_run: bool,
}
