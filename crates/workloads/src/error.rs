//! What can be wrong with a workload's name and options, each in one sentence.

use crate::script::ScriptError;
use syncline_contract::OptionError;

/// Why no workload could be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No workload has that name.
    #[error("there is no workload \"{name}\"; there are: {known}")]
    UnknownWorkload {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Its options are not what the workload takes.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// Its scripts are not what pgbench's are.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// Options that exclude each other.
    #[error("workload {workload} cannot combine {what}")]
    Excluded {
        /// The workload.
        workload: &'static str,
        /// Which, and why, in words.
        what: &'static str,
    },
}
