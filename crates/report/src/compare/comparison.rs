//! What a comparison says, and the rules that hold for records of both kinds.

use super::probes::compare_probes;
use super::runs::compare_runs;
use super::verdict::{self, Basis, REPETITIONS_LEAST, Sample, WINDOWS_LEAST};
use crate::{Error, Result};
use syncline_record::{Range, Record};

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
    /// Ratios this near to 1 are called no difference; none where the figure is not judged.
    pub least_effect: Option<f64>,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Per second; more is better.
    PerSecond,
    /// Nanoseconds that somebody waited; less is better.
    Nanoseconds,
    /// Nanoseconds of processor time; less is better.
    CpuTime,
    /// A count per commit; less is better.
    Count,
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
    /// One of the two is unknown, or the record holds one value of it for the whole run.
    NotJudged,
}

impl Row {
    /// The verdict in words; of a cost per commit "less" and "more".
    pub fn verdict_words(&self) -> &'static str {
        let cost = matches!(self.unit, Unit::CpuTime | Unit::Count);
        match self.verdict {
            Verdict::Faster if cost => "less",
            Verdict::Slower if cost => "more",
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoDifferenceShown => "no difference shown",
            Verdict::TooShort => "too short to judge",
            Verdict::NotJudged => "",
        }
    }

    /// B/A: of the medians, between the least B to the most A and the most B to the least A. None if a side
    /// is unknown, or A is zero.
    pub fn ratio(&self) -> Option<Spread> {
        let (first, second) = self.first.zip(self.second)?;
        let ratio = Spread {
            median: second.median / first.median,
            range: Range {
                least: second.range.least / first.range.most,
                most: second.range.most / first.range.least,
            },
        };
        (first.median > 0.0).then_some(ratio)
    }
}

impl Comparison {
    /// What stands below the figures: differences, basis, and last the verdict on B.
    pub fn sentences(&self) -> Vec<String> {
        let differences = self.differences.iter();
        let mut sentences: Vec<String> =
            differences.map(|one| format!("difference: {one}")).collect();
        sentences.push(self.basis.clone());
        sentences.extend(self.worse.clone());
        if !self.regression {
            sentences.extend(self.too_short.clone());
        }
        sentences.push(self.conclusion().to_owned());
        sentences
    }

    /// The verdict on B in one sentence.
    pub fn conclusion(&self) -> &'static str {
        if self.regression {
            "B is a regression."
        } else if self.too_short.is_some() {
            "No verdict on B."
        } else {
            "No regression shown."
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
        Err(Error::NotAlike { differences: differences.join(", ") })
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
        least_effect: verdict::least_effect(by, first, second),
    }
}

/// A row of a figure of which each side has one value for the whole run; it is shown and not judged.
pub(super) fn whole_row(
    name: &'static str,
    unit: Unit,
    first: Option<f64>,
    second: Option<f64>,
) -> Row {
    let spread = |value: Option<f64>| {
        value.map(|median| Spread { median, range: Range { least: median, most: median } })
    };
    Row {
        name,
        unit,
        first: spread(first),
        second: spread(second),
        verdict: Verdict::NotJudged,
        least_effect: None,
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
