//! The result of a comparison, and the rules for records of both kinds.

use super::probes::compare_probes;
use super::runs::{Side, compare_runs};
use super::verdict::{self, Basis, CHANCE_MOST, REPETITIONS_LEAST, Sample, WINDOWS_LEAST};
use crate::{Error, Result};
use syncline_record::{Range, Record};

/// The result of comparing two records.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The titles of the two records.
    pub titles: [String; 2],
    /// Differences other than speed; empty if there are none.
    pub differences: Vec<String>,
    /// Each figure of both.
    pub rows: Vec<Row>,
    /// How the figures were judged.
    pub basis: String,
    /// True if the second is worse in the deciding figure.
    pub regression: bool,
    /// The reason for a regression that is not a figure of a row.
    pub worse: Option<String>,
    /// Why the deciding figure has no verdict, and what to do; `None` if it has one.
    pub too_short: Option<String>,
}

/// One figure of both records.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Its name in rules, as records have it.
    pub key: &'static str,
    /// How it is shown.
    pub unit: Unit,
    /// The first record's.
    pub first: Option<Spread>,
    /// The second record's.
    pub second: Option<Spread>,
    /// The verdict on the second.
    pub verdict: Verdict,
    /// Ratios this near to 1 count as no difference; `None` if the figure is not judged.
    pub least_effect: Option<f64>,
    /// The interval of the ratio B/A at [`CONFIDENCE`]; `None` if it was not judged by repetitions.
    pub interval: Option<Range>,
}

/// The confidence of [`Row::interval`]: the chance that the interval does not contain the ratio is at most
/// twice that of calling equal runs slower.
pub const CONFIDENCE: f64 = 1.0 - 2.0 * CHANCE_MOST;

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Per second; more is better.
    PerSecond,
    /// Nanoseconds of waiting; less is better.
    Nanoseconds,
    /// Nanoseconds of processor time; less is better.
    CpuTime,
    /// A count per commit; less is better.
    Count,
    /// Bytes per commit; less is better.
    Bytes,
}

/// A median and its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle.
    pub median: f64,
    /// The least and the most.
    pub range: Range,
}

/// The verdict on two figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The second is better.
    Faster,
    /// The second is worse.
    Slower,
    /// The difference may be chance, or is too small to count.
    NoDifferenceShown,
    /// There are too few repetitions and windows to judge.
    TooShort,
    /// One of the two is unknown, or the record holds one value of it for the whole run.
    NotJudged,
}

impl Row {
    /// The verdict in words; for a cost per commit "less" and "more".
    pub fn verdict_words(&self) -> &'static str {
        let cost = matches!(self.unit, Unit::CpuTime | Unit::Count | Unit::Bytes);
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

    /// B/A of the medians; its range is the interval or, if there is none, from the least B over the most A
    /// to the most B over the least A. `None` if a side is unknown, or A is zero.
    pub fn ratio(&self) -> Option<Spread> {
        let (first, second) = self.first.zip(self.second)?;
        let median = second.median / first.median;
        let range = self.interval.unwrap_or(Range {
            least: second.range.least / first.range.most,
            most: second.range.most / first.range.least,
        });
        let range = Range { least: range.least.min(median), most: range.most.max(median) };
        (first.median > 0.0).then_some(Spread { median, range })
    }

    /// True if the two differ by more than chance, however little.
    pub fn is_shown(&self) -> bool {
        match self.interval {
            Some(interval) => interval.least > 1.0 || interval.most < 1.0,
            None => matches!(self.verdict, Verdict::Faster | Verdict::Slower),
        }
    }
}

impl Comparison {
    /// The sentences below the figures: differences, basis, and last the verdict on B.
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

/// Compares two records of one kind, or the records of many runs on each side, which then count as its
/// repetitions.
///
/// # Errors
///
/// [`Error::NotComparable`], [`Error::NothingToCompare`]; [`Error::NotAlike`] for a difference that is not
/// allowed.
pub fn compare(first: &[Record], second: &[Record], allowed: Allowed) -> Result<Comparison> {
    if let ([Record::Probe(first)], [Record::Probe(second)]) = (first, second) {
        return compare_probes(first, second, allowed);
    }
    let side = |records| Side::of(records).ok_or(Error::NotComparable);
    compare_runs(&side(first)?, &side(second)?, allowed)
}

/// The differences between two sides, apart from speed, with which they are compared nevertheless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// None.
    Nothing,
    /// That of the program's version, which is what is compared.
    Versions,
    /// All; the comparison lists them.
    Everything,
}

pub(super) fn refuse(differences: Vec<String>, allowed: Allowed) -> Result<Vec<String>> {
    if differences.is_empty() || allowed == Allowed::Everything {
        Ok(differences)
    } else {
        Err(Error::NotAlike { differences: differences.join(", ") })
    }
}

/// A row of a figure of both sides.
pub(super) fn row(
    (name, key): (&'static str, &'static str),
    unit: Unit,
    by: Basis,
    first: &Sample,
    second: &Sample,
) -> Row {
    Row {
        name,
        key,
        unit,
        first: first.spread(by),
        second: second.spread(by),
        verdict: verdict::verdict(unit, by, first, second),
        least_effect: verdict::least_effect(unit, by, first, second),
        interval: verdict::ratio_interval(by, first, second),
    }
}

/// A row of a figure that has one value for a whole run; it is shown and not judged.
pub(super) fn whole_row(
    (name, key): (&'static str, &'static str),
    unit: Unit,
    first: Option<f64>,
    second: Option<f64>,
) -> Row {
    let spread = |value: Option<f64>| {
        value.map(|median| Spread { median, range: Range { least: median, most: median } })
    };
    Row {
        name,
        key,
        unit,
        first: spread(first),
        second: spread(second),
        verdict: Verdict::NotJudged,
        least_effect: None,
        interval: None,
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
