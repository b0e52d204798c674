//! Repetition: several cases, several times, in blocks or interleaved, and their comparison.
//!
//! Interleaving (A B C A B C) spreads changes of the machine over all cases alike. A case is "faster" than
//! another only if their ranges of throughput do not overlap.

use crate::account::range::Range;
use crate::account::result::RunResult;
use crate::coordinate::observer::{Event, Observer};
use crate::coordinate::run::run_with_listener;
use crate::drive::transaction_listener::TransactionListener;
use crate::error::Error;
use crate::plan::RunPlan;
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_contract::{Target, TargetResult, Workload};

/// One case: a store that is created anew for each run, a workload and a plan.
pub struct Case<'c, T, W> {
    /// Its name in tables.
    pub name: String,
    /// Creates the target of one run.
    pub make: Box<dyn Fn() -> TargetResult<T> + 'c>,
    /// The workload.
    pub workload: &'c W,
    /// The plan.
    pub plan: RunPlan,
}

/// The order of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// A B C A B C.
    Interleaved,
    /// A A B B C C.
    InBlocks,
}

/// The runs of one case.
#[derive(Debug)]
pub struct CaseResult {
    /// The case's name.
    pub name: String,
    /// The results of its runs, in order.
    pub runs: Vec<RunResult>,
    /// The error of the first run without a result; the case was not run again after it.
    pub error: Option<Error>,
}

impl CaseResult {
    /// The throughput of its runs; `None` without any.
    pub fn throughput_per_s(&self) -> Option<Range> {
        Range::of(self.runs.iter().map(|run| run.throughput_per_s))
    }
}

/// True only if both cases ran more than once and every run of `a` beat every run of `b`.
pub fn faster(a: &CaseResult, b: &CaseResult) -> bool {
    let repeated = a.runs.len() > 1 && b.runs.len() > 1;
    let ranges = a.throughput_per_s().zip(b.throughput_per_s());
    repeated && ranges.is_some_and(|(a, b)| a.above(&b))
}

/// Runs every case `repetitions` times. After a run without a result its case is not run again; the others
/// continue. Setting `stop` ends the current run and the series.
pub fn repeat<T: Target, W: Workload>(
    cases: &[Case<'_, T, W>],
    repetitions: usize,
    turns: Turns,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Vec<CaseResult> {
    repeat_with_listener(cases, repetitions, turns, stop, observer, None)
}

/// Like [`repeat`], with a listener for every transaction of every run.
pub fn repeat_with_listener<T: Target, W: Workload>(
    cases: &[Case<'_, T, W>],
    repetitions: usize,
    turns: Turns,
    stop: &AtomicBool,
    observer: &dyn Observer,
    listener: Option<&dyn TransactionListener>,
) -> Vec<CaseResult> {
    let mut results: Vec<CaseResult> = cases
        .iter()
        .map(|case| CaseResult {
            name: case.name.clone(),
            runs: Vec::with_capacity(repetitions),
            error: None,
        })
        .collect();
    for (index, repetition) in order(cases.len(), repetitions, turns) {
        let (case, result) = (&cases[index], &mut results[index]);
        if result.error.is_some() || stop.load(Ordering::Relaxed) {
            continue;
        }
        observer.event(Event::Case { name: &case.name, repetition, repetitions });
        match case.run(stop, observer, listener) {
            Ok(run) => result.runs.push(run),
            Err(error) => result.error = Some(error),
        }
    }
    results
}

impl<T: Target, W: Workload> Case<'_, T, W> {
    fn run(
        &self,
        stop: &AtomicBool,
        observer: &dyn Observer,
        listener: Option<&dyn TransactionListener>,
    ) -> Result<RunResult, Error> {
        let target = (self.make)().map_err(|source| Error::Target {
            target: self.name.clone(),
            doing: "it was opened",
            source,
        })?;
        run_with_listener(&target, self.workload, &self.plan, stop, observer, listener)
    }
}

/// Pairs of case index and repetition number, in the order of running.
fn order(cases: usize, repetitions: usize, turns: Turns) -> Vec<(usize, usize)> {
    let numbers = 1..=repetitions;
    match turns {
        Turns::Interleaved => {
            numbers.flat_map(|number| (0..cases).map(move |case| (case, number))).collect()
        }
        Turns::InBlocks => {
            (0..cases).flat_map(|case| numbers.clone().map(move |number| (case, number))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Turns, order};

    #[test]
    fn cases_run_interleaved_or_in_blocks() {
        let cases = |turns| -> Vec<usize> {
            let order = order(3, 2, turns);
            order.into_iter().map(|(case, _)| case).collect()
        };
        assert_eq!(cases(Turns::Interleaved), [0, 1, 2, 0, 1, 2]);
        assert_eq!(cases(Turns::InBlocks), [0, 0, 1, 1, 2, 2]);
    }
}
