//! What a conformance run found.

use crate::outcome::{Failure, Stop};
use std::fmt;

/// Something that a target does otherwise than the contract says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The case that found it.
    pub case: &'static str,
    /// What was found, in one sentence.
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
    /// The cases that did not, each with what the target does not claim.
    pub skipped: Vec<(&'static str, &'static str)>,
    /// What was found; empty if the target conforms.
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

/// What a case finds wrong; every failure that it did not expect is a finding too.
#[derive(Debug)]
pub(super) struct CaseFailure(pub(super) String);

/// The result of a case.
pub(super) type Verdict = Result<(), CaseFailure>;

impl From<Stop> for CaseFailure {
    fn from(stop: Stop) -> CaseFailure {
        CaseFailure(match stop {
            Stop::Abort => "it stopped as if the workload had asked for it".to_owned(),
            Stop::Conflict(cause) => format!("it conflicted ({}) with nobody", cause.name()),
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

/// Holds a case to a claim.
pub(super) fn holds(claim: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if claim { Ok(()) } else { Err(CaseFailure(otherwise())) }
}

/// Holds a case to an equality.
#[allow(
    clippy::needless_pass_by_value,
    reason = "cases pass what they just read, and a reference would stand at each of them"
)]
pub(super) fn same<A: PartialEq<B> + fmt::Debug, B: fmt::Debug>(
    got: A,
    wanted: B,
    of: &str,
) -> Verdict {
    holds(got == wanted, || format!("{of} is {got:?} where {wanted:?} was due"))
}
