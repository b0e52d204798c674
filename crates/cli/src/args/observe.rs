//! `syncline observe` and `syncline clean`: commands for a server that others use.

use clap::Args;
use std::time::Duration;
use syncline_console::{LineArg, OutputArgs, value};

/// Watch a live server without adding load: commits, syncs, log bytes, settings, commits per sync.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline observe postgres://postgres@db.example/app --for 60s\n  syncline observe mysql://root@localhost --for 10m --line PROBE.jsonl"
)]
pub(crate) struct ObserveArgs {
    /// The server, as a URL (see `syncline list targets`)
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    /// How long to watch
    #[arg(long = "for", value_name = "TIME", value_parser = value::some_duration, default_value = "60s")]
    pub(crate) span: Duration,

    /// Time between two samples
    #[arg(long, value_name = "TIME", value_parser = value::some_duration, default_value = "5s")]
    pub(crate) every: Duration,

    /// Disk sync rate to compare with: none, a probe record, or `brief`, which measures (and writes) in the
    /// server's log directory afterwards
    #[arg(long, value_name = "LINE", value_parser = clap::value_parser!(LineArg), default_value = "none")]
    pub(crate) line: LineArg,

    /// Name of the store in the record, instead of product and version
    #[arg(long, value_name = "NAME")]
    pub(crate) alias: Option<String>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Remove what runs of syncline left in a server, and nothing else; print what was removed.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline clean postgres://postgres@db.example/app\n  syncline clean mysql://root@localhost"
)]
pub(crate) struct CleanArgs {
    /// The server, as a URL
    #[arg(value_name = "URL")]
    pub(crate) url: String,
}
