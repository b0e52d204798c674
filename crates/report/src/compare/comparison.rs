//! What a comparison says, and the rules that hold for records of both kinds.

use super::probes::compare_probes;
use super::runs::compare_runs;
use crate::record::Record;
use crate::stats::{self, Range};
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
    /// The second is better, and the ranges do not meet.
    Faster,
    /// The second is worse, and the ranges do not meet.
    Slower,
    /// The ranges meet.
    NoDifferenceShown,
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

/// The middle of the repetitions, between the repetitions or, of one run, between its intervals.
pub(super) fn spread_of(repetitions: &[f64], intervals: &[f64], repeated: bool) -> Option<Spread> {
    let ranged = if repeated || intervals.is_empty() {
        repetitions
    } else {
        intervals
    };
    let range = stats::range(ranged)?;
    let median = stats::median(repetitions).or_else(|| stats::median(intervals))?;
    // The whole run's figure may lie a little outside what its intervals show of it.
    let range = Range {
        least: range.least.min(median),
        most: range.most.max(median),
    };
    Some(Spread { median, range })
}

pub(super) fn row(
    name: &'static str,
    unit: Unit,
    first: Option<Spread>,
    second: Option<Spread>,
) -> Row {
    let verdict = match (first, second) {
        (Some(first), Some(second)) => judged(unit, first, second),
        _ => Verdict::NotJudged,
    };
    Row {
        name,
        unit,
        first,
        second,
        verdict,
    }
}

fn judged(unit: Unit, first: Spread, second: Spread) -> Verdict {
    if unit == Unit::Plain {
        Verdict::NotJudged
    } else if first.range.meets(second.range) {
        Verdict::NoDifferenceShown
    } else if (second.median > first.median) == (unit == Unit::PerSecond) {
        Verdict::Faster
    } else {
        Verdict::Slower
    }
}
