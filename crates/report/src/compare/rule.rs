//! Rules of a gate: `per_commit.syncs > +2%`.
//!
//! A rule fails if the difference is larger than its limit and is more than chance. A figure that is unknown,
//! or of which there are too few repetitions, makes the rule unknown: it neither holds nor fails.

use super::comparison::{Comparison, Verdict};
use super::runs;
use std::fmt;
use std::str::FromStr;

/// A condition on the ratio B/A of a figure under which a gate fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    key: &'static str,
    /// True if more fails, false if less does.
    is_above: bool,
    /// The limit as a part of A, above zero.
    limit: f64,
}

/// What became of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleOutcome {
    /// The difference is within the limit, or may be chance.
    Holds,
    /// The difference is beyond the limit; what it is.
    Fails(String),
    /// The figure was not judged, for this reason.
    Unknown(String),
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(typed: &str) -> Result<Rule, String> {
        let form = || format!("\"{typed}\" is not of the form \"per_commit.syncs > +2%\"");
        let (at, sign) =
            typed.char_indices().find(|(_, c)| matches!(c, '<' | '>')).ok_or_else(form)?;
        let (name, limit) = (typed[..at].trim(), typed[at + 1..].trim());
        let percent = limit.strip_suffix('%').ok_or_else(form)?.trim_end();
        let is_above = sign == '>';
        let number = percent.strip_prefix(if is_above { '+' } else { '-' }).unwrap_or(percent);
        let percent: f64 = number.trim().parse().map_err(|_error| form())?;
        if !percent.is_finite() || percent <= 0.0 {
            return Err(format!("the limit of \"{typed}\" must be above 0 %"));
        }
        let key = runs::keys().find(|key| *key == name).ok_or_else(|| {
            let known: Vec<&str> = runs::keys().collect();
            format!("\"{name}\" is not a figure of a comparison; these are: {}", known.join(", "))
        })?;
        Ok(Rule { key, is_above, limit: percent / 100.0 })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (relation, sign) = if self.is_above { ('>', '+') } else { ('<', '-') };
        write!(f, "{} {relation} {sign}{}%", self.key, self.limit * 100.0)
    }
}

impl Rule {
    /// Applies the rule to a comparison.
    pub fn apply(&self, comparison: &Comparison) -> RuleOutcome {
        let row = comparison.rows.iter().find(|row| row.key == self.key);
        let Some((row, (first, second))) =
            row.and_then(|row| Some((row, row.first.zip(row.second)?)))
        else {
            return RuleOutcome::Unknown("A or B has no such figure".to_owned());
        };
        // Any is more than none, by whatever limit.
        if first.range.most <= 0.0 && row.least_effect.is_some() {
            return if self.is_above && second.range.least > 0.0 {
                RuleOutcome::Fails(format!("A has none, B {:.3}", second.median))
            } else {
                RuleOutcome::Holds
            };
        }
        let Some(ratio) = row.ratio() else {
            return RuleOutcome::Unknown("it is zero in A".to_owned());
        };
        if matches!(row.verdict, Verdict::TooShort | Verdict::NotJudged) {
            let why = "it needs five repetitions a side, or five runs if a run has it only once";
            return RuleOutcome::Unknown(why.to_owned());
        }
        let change = ratio.median - 1.0;
        let beyond = if self.is_above { change } else { -change };
        if beyond <= self.limit || !row.is_shown() {
            return RuleOutcome::Holds;
        }
        let [change, least, most] =
            [ratio.median, ratio.range.least, ratio.range.most].map(|ratio| (ratio - 1.0) * 100.0);
        RuleOutcome::Fails(format!("{change:+.1} %, between {least:+.1} and {most:+.1} %"))
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn a_rule_names_a_figure_a_direction_and_a_limit() {
        for (typed, shown) in [
            ("per_commit.syncs > +2%", "per_commit.syncs > +2%"),
            ("throughput_per_s<-5 %", "throughput_per_s < -5%"),
            ("service_ns.p99 > 10%", "service_ns.p99 > +10%"),
        ] {
            assert_eq!(typed.parse::<Rule>().unwrap().to_string(), shown);
        }
        for typed in
            ["", "per_commit.syncs", "syncs > 2%", "per_commit.syncs > 2", "per_commit.syncs > -2%"]
        {
            assert!(typed.parse::<Rule>().is_err(), "{typed} is refused");
        }
        let unknown = "speed < -1%".parse::<Rule>().unwrap_err();
        assert!(unknown.contains("throughput_per_s") && unknown.contains("per_commit.syncs"));
    }
}
