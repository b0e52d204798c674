//! `--runs` and `--json`, of every command that writes one record.

use clap::Args;
use std::path::PathBuf;

/// Where the record goes, and whether it is printed.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputArgs {
    /// Where the record goes
    #[arg(long, value_name = "DIR", default_value = "syncline-runs")]
    pub runs: PathBuf,

    /// Print the record as JSON
    #[arg(long)]
    pub json: bool,
}
