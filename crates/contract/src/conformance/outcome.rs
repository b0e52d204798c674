//! The outcome of a conformance run.

use crate::outcome::{Failure, Stop};
use std::fmt;

/// A difference between a target's behaviour and the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The case that found it.
    pub case: &'static str,
    /// The difference, in one sentence.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.case, self.what)
    }
}

/// The outcome of a conformance run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conformance {
    /// The cases that ran.
    pub tested: Vec<&'static str>,
    /// The skipped cases, each with the ability that the target does not claim.
    pub skipped: Vec<(&'static str, &'static str)>,
    /// The findings; empty if the target conforms.
    pub findings: Vec<Finding>,
}

impl fmt::Display for Conformance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tested, skipped) = (self.tested.len(), self.skipped.len());
        writeln!(
            f,
            "{tested} cases tested, {skipped} not claimed, {} findings",
            self.findings.len()
        )?;
        for finding in &self.findings {
            writeln!(f, "- {finding}")?;
        }
        Ok(())
    }
}

/// A failure of a case; an unexpected failure of the store becomes a finding too.
#[derive(Debug)]
pub(super) struct CaseFailure(pub(super) String);

/// The result of a case.
pub(super) type Verdict = Result<(), CaseFailure>;

impl From<Stop> for CaseFailure {
    fn from(stop: Stop) -> CaseFailure {
        CaseFailure(match stop {
            Stop::Abort => "it stopped as if by the workload's own rule".to_owned(),
            Stop::Conflict(cause) => {
                format!("it reported a conflict ({}) without another transaction", cause.name())
            }
            Stop::Failed(failure) => format!("it failed: {failure}"),
            Stop::Unknown(failure) => format!("its outcome became unknown: {failure}"),
        })
    }
}

impl From<Failure> for CaseFailure {
    fn from(failure: Failure) -> CaseFailure {
        CaseFailure(format!("it failed: {failure}"))
    }
}

/// Fails the case unless the claim is true.
pub(super) fn holds(claim: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if claim { Ok(()) } else { Err(CaseFailure(otherwise())) }
}

/// Fails the case unless the values are equal.
#[allow(
    clippy::needless_pass_by_value,
    reason = "cases pass values they just read; references would clutter every call"
)]
pub(super) fn same<A: PartialEq<B> + fmt::Debug, B: fmt::Debug>(
    got: A,
    expected: B,
    of: &str,
) -> Verdict {
    holds(got == expected, || format!("{of} is {got:?} instead of {expected:?}"))
}
