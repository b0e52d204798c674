//! `syncline manual`.

use clap::Args;
use std::path::PathBuf;

/// Write manual pages: one to standard output, or all to a directory.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline manual run insert | man -l -\n  syncline manual --to /usr/local/share/man/man1"
)]
pub(crate) struct ManualArgs {
    /// The command whose page is printed; without one, the page of syncline itself
    #[arg(value_name = "VERB", conflicts_with = "to")]
    pub(crate) verb: Vec<String>,

    /// Write every page to this directory: syncline.1, syncline-run.1, ...
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
}
