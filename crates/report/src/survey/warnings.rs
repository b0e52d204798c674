//! The warnings of a survey: broken promises first, then conditions that may distort a result, one entry per
//! kind of warning for any number of runs.

use super::grouping::Survey;
use syncline_record::findings;
use syncline_record::{RunRecord, Warning};

/// Warnings that every survey would have, since its slices are short by design; the sentence about gaps
/// covers them once.
pub(super) const OF_SHORT_SLICES: [&str; 2] = ["short_warm_up", "few_samples"];

/// One warning about figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurveyWarning {
    /// The runs it is about, by title; at least one.
    pub runs: Vec<String>,
    /// The warning of the first of them, with advice; without a final period.
    pub sentence: String,
    /// True if a promise failed: a check is violated, or a commit was acknowledged without a sync.
    pub fails: bool,
}

impl SurveyWarning {
    /// "insert on sqlite, 8 clients (and 2 more like it)".
    pub fn about(&self) -> String {
        match self.runs.len() - 1 {
            0 => self.runs[0].clone(),
            others => format!("{} (and {others} more like it)", self.runs[0]),
        }
    }
}

/// All warnings of a survey, the worst first.
pub fn survey_warnings(survey: &Survey<'_>) -> Vec<SurveyWarning> {
    let mut all: Vec<SurveyWarning> = survey.runs.iter().flat_map(|run| failures(run)).collect();
    let mut kinds: Vec<(&Warning, Vec<String>)> = Vec::new();
    for run in &survey.runs {
        let named = |warning: &&Warning| {
            warning.name != "durability" && !OF_SHORT_SLICES.contains(&warning.name.as_str())
        };
        for warning in run.end.warnings.iter().filter(named) {
            match kinds.iter_mut().find(|(known, _)| known.name == warning.name) {
                Some((_, runs)) if runs.contains(&run.title()) => {}
                Some((_, runs)) => runs.push(run.title()),
                None => kinds.push((warning, vec![run.title()])),
            }
        }
    }
    let warned = kinds.into_iter().map(|(warning, runs)| SurveyWarning {
        runs,
        sentence: format!("{}; {}", warning.what, warning.advice),
        fails: false,
    });
    all.extend(warned);
    all
}

fn failures(run: &RunRecord) -> Vec<SurveyWarning> {
    let failure = |sentence| SurveyWarning { runs: vec![run.title()], sentence, fails: true };
    let violated = run.end.checks.iter().filter(|check| check.outcome == "violated").map(|check| {
        let found = check.detail.as_deref().unwrap_or("no detail");
        failure(format!("violated: {} ({found})", check.name))
    });
    let found = findings(run).into_iter();
    violated
        .chain(found.map(|finding| failure(format!("{}; {}", finding.sentence, finding.advice))))
        .collect()
}
