//! `syncline compare`.

use clap::Args;
use std::path::PathBuf;

/// Compare two records: is the second slower?
///
/// "Faster" and "slower" are said only where the ranges do not meet. Exit code 1 if the second is
/// slower.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline compare k3f9a 7xq2d\n  syncline compare before.jsonl after.jsonl\n  syncline compare --unequal laptop.jsonl server.jsonl"
)]
pub(crate) struct CompareArgs {
    /// The record to compare with: its file, or its id as list runs shows it
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,

    /// The record that is judged
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,

    /// Compare although durability, workload, client model or machine differ; the differences are said
    #[arg(long)]
    pub(crate) unequal: bool,
}
