//! Runs a compatibility command with this program's stores, runs and records.

use super::dry_run::compat_dry_run;
use super::run::{self, RunRequest};
use super::{environment, run_matrix, series, sync_lines};
use crate::interrupt;
use crate::registry::TargetRegistry;
use std::sync::atomic::AtomicBool;
use syncline_compat::{CompatCommand, Laboratory};
use syncline_console::{CannotRun, Outcome, Verdict};
use syncline_contract::LogLocation;
use syncline_record::{RunRecord, SyncLine};
use syncline_runner::TransactionListener;
use syncline_runner::record::RunInputs;
use syncline_stores::server::redacted_url;
use syncline_workloads::AnyWorkload;

/// Runs the command line of another tool.
pub(crate) fn compat<S: TargetRegistry>(command: &CompatCommand, registry: &S) -> Outcome {
    command.run(&Program { registry })
}

/// Implements for the command what it requires of this program.
struct Program<'s, S> {
    registry: &'s S,
}

impl<S: TargetRegistry> Laboratory for Program<'_, S> {
    type Target = S::Target;

    fn open(&self, url: &str) -> Result<S::Target, CannotRun> {
        self.registry.open(url)
    }

    fn open_checked(&self, url: &str) -> Result<S::Target, CannotRun> {
        self.registry.open_checked(url)
    }

    fn own(&self) -> Option<&str> {
        self.registry.own()
    }

    fn stop_flag(&self) -> &'static AtomicBool {
        interrupt::stop_flag()
    }

    fn record_inputs(&self, url: &str, log_location: &LogLocation) -> RunInputs {
        RunInputs {
            identity: environment::identity("run", 1),
            url: Some(redacted_url(url)),
            alias: None,
            host: environment::host(),
            repeat: 1,
            interleave: false,
            map: None,
            dropped_syncs: sync_lines::dropped_syncs(log_location),
            sync_line: SyncLine::unknown(None, "not measured yet"),
        }
    }

    fn report_verdict(&self, record: &RunRecord) -> Verdict {
        series::report_verdict(record)
    }

    fn dry_run(&self, workload: &AnyWorkload, clients: usize, url: &str) -> Outcome {
        compat_dry_run(workload, clients, url, self.registry)
    }

    fn run(
        &self,
        request: syncline_compat::RunRequest,
        listener: &dyn TransactionListener,
        show: impl Fn(&[RunRecord]) -> Result<(), CannotRun>,
    ) -> Outcome {
        let request = RunRequest {
            choices: vec![run_matrix::only(request.workload, request.plan)],
            // Read before anything else, so that a bad map costs nothing.
            map: request.meter.read_map()?,
            urls: vec![request.url],
            dry_run: request.dry_run,
            alias: None,
            repeat: 1,
            interleave: false,
            line: &request.line,
            runs: &request.runs,
        };
        run::run_with(request, self.registry, Some(listener), show)
    }
}
