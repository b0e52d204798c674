//! The survey: what a directory can durably complete, and where stores stand on that line.
//!
//! A survey is no record of its own. It is composed from records that share a survey id or a log
//! directory: the probe first, then the runs; rows that were planned and not run stand in the probe's
//! record with their reason.

mod grouping;
mod sentences;
mod warnings;

pub use grouping::{Group, StepOutcome, Survey, SurveyStep};
pub use warnings::{SurveyWarning, survey_warnings};
