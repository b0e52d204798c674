//! What a comparison says, and the rules that hold for records of both kinds.

use super::probes::compare_probes;
use super::runs::compare_runs;
use super::verdict::{self, Basis, REPETITIONS_LEAST, Sample, WINDOWS_LEAST};
use crate::record::Record;
use crate::stats::Range;
use crate::{Error, Result};

/// What two records say of one another.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The two, as they are headed.
    pub titles: [String; 2],
    /// In what else than speed they differ; empty if in nothing.
    pub differences: Vec<String>,
    /// Each figure of both.
    pub rows: Vec<Row>,
    /// How ranges were made, and what they are worth.
    pub basis: String,
    /// True if the second is worse in what counts.
    pub regression: bool,
    /// What makes it one, if that is no figure of a row.
    pub worse: Option<String>,
    /// Why what counts has no verdict, and what to do; none if it has one.
    pub too_short: Option<String>,
}

/// One figure of both records.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is.
    pub name: &'static str,
    /// How it is shown.
    pub unit: Unit,
    /// The first record's.
    pub first: Option<Spread>,
    /// The second record's.
    pub second: Option<Spread>,
    /// What may be said of them.
    pub verdict: Verdict,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Per second; more is better.
    PerSecond,
    /// Nanoseconds; less is better.
    Nanoseconds,
    /// A count that is neither good nor bad.
    Plain,
}

/// A median and what it was found between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle.
    pub median: f64,
    /// The least and the most.
    pub range: Range,
}

/// What may be said of two figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The second is better.
    Faster,
    /// The second is worse.
    Slower,
    /// Chance or too small an effect would explain what lies between them.
    NoDifferenceShown,
    /// Too few repetitions and windows to say anything.
    TooShort,
    /// One of the two is unknown, or the figure is neither good nor bad.
    NotJudged,
}

impl Verdict {
    /// The words in tables.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoDifferenceShown => "no difference shown",
            Verdict::TooShort => "too short to judge",
            Verdict::NotJudged => "",
        }
    }
}

/// Compares two records of one kind; `unequal` compares them even if they are not alike.
pub fn compare(first: &Record, second: &Record, unequal: bool) -> Result<Comparison> {
    match (first, second) {
        (Record::Run(first), Record::Run(second)) => compare_runs(first, second, unequal),
        (Record::Probe(first), Record::Probe(second)) => compare_probes(first, second, unequal),
        _ => Err(Error::NotComparable),
    }
}

pub(super) fn refuse(differences: Vec<String>, unequal: bool) -> Result<Vec<String>> {
    if differences.is_empty() || unequal {
        Ok(differences)
    } else {
        Err(Error::NotAlike {
            differences: differences.join(", "),
        })
    }
}

/// A row of what is known of a figure on both sides.
pub(super) fn row(
    name: &'static str,
    unit: Unit,
    by: Basis,
    first: &Sample,
    second: &Sample,
) -> Row {
    Row {
        name,
        unit,
        first: first.spread(by),
        second: second.spread(by),
        verdict: verdict::verdict(unit, by, first, second),
    }
}

/// Why the deciding figure has no verdict and what to do, if it is too short to judge.
pub(super) fn too_short(deciding: Verdict, what_to_do: &str) -> Option<String> {
    (deciding == Verdict::TooShort).then(|| {
        format!(
            "too short to judge: a verdict needs {REPETITIONS_LEAST} repetitions a side or {WINDOWS_LEAST} \
             windows of a second a side; {what_to_do}"
        )
    })
}
