//! `syncline show`.

use clap::Args;
use std::path::PathBuf;

/// Show records again: as tables, as JSON, as an HTML report.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline show syncline-runs/RECORD.jsonl\n  syncline show --html report.html syncline-runs/*.jsonl"
)]
pub(crate) struct ShowArgs {
    /// Records
    #[arg(value_name = "RECORD", required = true)]
    pub(crate) records: Vec<PathBuf>,

    /// Print as JSON: one object, or an array if there are several
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a self-contained HTML report
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) html: Option<PathBuf>,

    /// Remove hosts, paths, serial numbers and user names
    #[arg(long)]
    pub(crate) share: bool,
}
