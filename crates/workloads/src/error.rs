//! Errors in a workload's name or options, each as one sentence.

use crate::script::ScriptError;
use syncline_contract::OptionError;

/// Why a workload cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No workload has this name.
    #[error("there is no workload \"{name}\"; there are: {known}")]
    UnknownWorkload {
        /// The requested name.
        name: String,
        /// The existing names.
        known: String,
    },
    /// Invalid options.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// Invalid scripts.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// Options that exclude each other.
    #[error("workload {workload} cannot combine {what}")]
    Excluded {
        /// The workload.
        workload: &'static str,
        /// The options and the reason, in words.
        what: &'static str,
    },
}
