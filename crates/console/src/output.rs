//! `--runs` and `--json`, for every command that writes one record.

use clap::Args;
use std::path::PathBuf;

/// Where the record is written, and whether it is printed.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputArgs {
    /// Directory of the record
    #[arg(long, value_name = "DIR", default_value = "syncline-runs")]
    pub runs: PathBuf,

    /// Print the record as JSON
    #[arg(long)]
    pub json: bool,
}
