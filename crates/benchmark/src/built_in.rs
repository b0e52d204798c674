//! The built-in targets: each method is written out, because a provided method is compiled by its caller.

use crate::benchmark::Benchmark;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_contract::TargetResult;
use syncline_runner::{
    Calibration, Case, CaseResult, Error, Observation, ObservePlan, ObservedInterval, Observer,
    RunPlan, RunResult, TransactionListener, Turns,
};
use syncline_stores::AnyTarget;
use syncline_workloads::AnyWorkload;

impl Benchmark for AnyTarget {
    #[inline(never)]
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

    #[inline(never)]
    fn repeat(
        cases: &[Case<'_, AnyTarget, AnyWorkload>],
        repetitions: usize,
        turns: Turns,
        stop: &AtomicBool,
        observer: &dyn Observer,
        listener: Option<&dyn TransactionListener>,
    ) -> Vec<CaseResult> {
        syncline_runner::repeat_with_listener(cases, repetitions, turns, stop, observer, listener)
    }

    #[inline(never)]
    fn calibrate(
        &self,
        workload: &AnyWorkload,
        plan: &RunPlan,
        span: Duration,
        stop: &AtomicBool,
    ) -> Result<Calibration, Error> {
        syncline_runner::calibrate(self, workload, plan, span, stop)
    }

    #[inline(never)]
    fn watch(
        &self,
        plan: &ObservePlan,
        stop: &AtomicBool,
        report: &dyn Fn(&ObservedInterval),
    ) -> TargetResult<Observation> {
        syncline_runner::observe(self, plan, stop, report)
    }

    #[inline(never)]
    fn loaded_as(&self, workload: &AnyWorkload) -> Result<Option<String>, Error> {
        syncline_runner::loaded_as(self, workload)
    }
}
