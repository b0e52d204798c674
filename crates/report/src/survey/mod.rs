//! The survey: a directory's sync rates, and the throughput of stores relative to them.
//!
//! A survey is not a record of its own. It is composed from records that share a survey id or a log
//! directory: the probe first, then the runs; the probe's record lists the rows that were planned and not
//! run, with the reason.

mod grouping;
mod sentences;
mod warnings;

pub use grouping::{Group, StepOutcome, Survey, SurveyStep};
pub use warnings::{SurveyWarning, survey_warnings};
