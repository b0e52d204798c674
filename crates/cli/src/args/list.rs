//! `syncline list`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The kinds of things to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Stores that workloads can run on
    Targets,
    /// Workloads and their options
    Workloads,
    /// What can be measured here, and what the other measurements require
    Meters,
    /// Run records
    Runs,
}

/// List targets, workloads, meters or runs.
#[derive(Args, Debug)]
#[command(before_help = "Examples:\n  syncline list targets\n  syncline list runs")]
pub(crate) struct ListArgs {
    /// What to list
    #[arg(value_name = "WHAT")]
    pub(crate) what: Listed,

    /// Directory of the records
    #[arg(long, value_name = "DIR", default_value = "syncline-runs")]
    pub(crate) runs: PathBuf,
}
