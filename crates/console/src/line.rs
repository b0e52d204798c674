//! `--line`: the sync line that the rates of a run are compared with.

use std::path::PathBuf;

/// Where a run's sync line comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineArg {
    /// A brief measurement before and after the run.
    Brief,
    /// No measurement.
    None,
    /// The record of a probe.
    Record(PathBuf),
}

impl From<&str> for LineArg {
    fn from(typed: &str) -> LineArg {
        match typed {
            "brief" => LineArg::Brief,
            "none" => LineArg::None,
            path => LineArg::Record(path.into()),
        }
    }
}
