//! What can be wrong with a workload's name and options, each in one sentence.

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
    /// The workload has no such option.
    #[error("workload {workload} has no option \"{option}\"; it has: {known}")]
    UnknownOption {
        /// The workload.
        workload: &'static str,
        /// What was given.
        option: String,
        /// The options there are.
        known: String,
    },
    /// An option has a value that it does not take.
    #[error("option {option} of workload {workload} is \"{value}\"; it takes {takes}")]
    BadValue {
        /// The workload.
        workload: &'static str,
        /// The option.
        option: &'static str,
        /// What was given.
        value: String,
        /// What it takes, in words.
        takes: String,
    },
    /// An option was given twice.
    #[error("option {option} of workload {workload} is given twice")]
    Twice {
        /// The workload.
        workload: &'static str,
        /// The option.
        option: String,
    },
    /// Options that exclude each other.
    #[error("workload {workload} cannot combine {what}")]
    Excluded {
        /// The workload.
        workload: &'static str,
        /// Which, and why, in words.
        what: &'static str,
    },
}
