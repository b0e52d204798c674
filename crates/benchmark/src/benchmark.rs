//! The entry points of the runner for one type of target.

use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_contract::{Target, TargetResult};
use syncline_runner::{
    Calibration, Case, CaseResult, Error, Observation, ObservePlan, ObservedInterval, Observer,
    RunPlan, RunResult, TransactionListener, Turns,
};
use syncline_workloads::AnyWorkload;

/// A target with the runner compiled for it. Each method is the runner's function of that name.
pub trait Benchmark: Target + Sized {
    /// Runs a workload once. See [`syncline_runner::run_with_listener`].
    fn run(
        &self,
        workload: &AnyWorkload,
        plan: &RunPlan,
        stop: &AtomicBool,
        observer: &dyn Observer,
        listener: Option<&dyn TransactionListener>,
    ) -> Result<RunResult, Error> {
        syncline_runner::run_with_listener(self, workload, plan, stop, observer, listener)
    }

    /// Runs several cases in turns. See [`syncline_runner::repeat_with_listener`].
    fn repeat(
        cases: &[Case<'_, Self, AnyWorkload>],
        repetitions: usize,
        turns: Turns,
        stop: &AtomicBool,
        observer: &dyn Observer,
        listener: Option<&dyn TransactionListener>,
    ) -> Vec<CaseResult> {
        syncline_runner::repeat_with_listener(cases, repetitions, turns, stop, observer, listener)
    }

    /// Measures what the laboratory costs; `self` is the null target. See [`syncline_runner::calibrate`].
    fn calibrate(
        &self,
        workload: &AnyWorkload,
        plan: &RunPlan,
        span: Duration,
        stop: &AtomicBool,
    ) -> Result<Calibration, Error> {
        syncline_runner::calibrate(self, workload, plan, span, stop)
    }

    /// Watches a store that others use. See [`syncline_runner::observe`].
    fn watch(
        &self,
        plan: &ObservePlan,
        stop: &AtomicBool,
        report: &dyn Fn(&ObservedInterval),
    ) -> TargetResult<Observation> {
        syncline_runner::observe(self, plan, stop, report)
    }

    /// How the rows that the target holds were loaded. See [`syncline_runner::loaded_as`].
    fn loaded_as(&self, workload: &AnyWorkload) -> Result<Option<String>, Error> {
        syncline_runner::loaded_as(self, workload)
    }
}
