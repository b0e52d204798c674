//! `syncline compare`.

use clap::Args;
use std::path::PathBuf;

/// Compare two records: is the second slower?
///
/// A verdict requires four repetitions or five seconds on each side, and a difference of 3 % between
/// repetitions or 5 % between single runs. Exit code 1 if the second is slower, 2 if the runs are too short
/// to judge.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline compare k3f9a 7xq2d\n  syncline compare before.jsonl after.jsonl\n  syncline compare --unequal laptop.jsonl server.jsonl\n  syncline compare k3f9a 7xq2d --html comparison.html"
)]
pub(crate) struct CompareArgs {
    /// The record to compare with: its file, or its id as list runs shows it
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,

    /// The record to judge
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,

    /// Compare even if durability, workload, clients, workers, length, version or machine differ, and print
    /// the differences
    #[arg(long)]
    pub(crate) unequal: bool,

    /// Also write a self-contained HTML page with a chart of the ratios; if the records are not comparable,
    /// the page says why
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}
