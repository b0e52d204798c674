//! `syncline verify`: does a store keep its promises?

use super::value;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Test whether a store keeps its promises.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline verify durability sqlite\n  syncline verify isolation 'engine?isolation=snapshot'",
    disable_help_subcommand = true
)]
pub(crate) struct VerifyArgs {
    #[command(subcommand)]
    pub(crate) verb: VerifyVerb,
}

/// What is verified.
#[derive(Subcommand, Debug)]
pub(crate) enum VerifyVerb {
    /// Kill a private store, take its power away, let faults strike; then look what is left
    Durability(DurabilityArgs),
    /// Play Hermitage's schedules on every level, load lists, and look for anomalies in what was seen
    Isolation(IsolationArgs),
}

/// Options of `verify durability`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline verify durability sqlite\n  syncline verify durability 'sqlite?durability=os&synchronous=normal' --images 100\n  syncline verify durability 'postgres?synchronous_commit=off'\n  syncline verify durability --again syncline-kept/image-1",
    after_help = "Power loss is simulated on a file system of our own, which needs root and /dev/fuse; without them only processes are killed, and the result is unknown. Exit codes: 0 it survived, or the setting promises nothing; 1 something acknowledged was gone; 2 nothing can be said."
)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub(crate) struct DurabilityArgs {
    /// A store with its options, as sqlite or 'engine?durability=full'; of a server its own settings, as
    /// 'postgres?fsync=off'. A private one is made
    #[arg(value_name = "TARGET", required_unless_present = "again")]
    pub(crate) target: Option<String>,

    /// Crash images of the setting, built from one recording
    #[arg(long, value_name = "COUNT", value_parser = value::at_least_one, default_value = "200")]
    pub(crate) images: usize,

    /// Crash images of each control: a setting that must lose, and others whose behaviour is known
    #[arg(long, value_name = "COUNT", value_parser = value::at_least_one, default_value = "40")]
    pub(crate) control_images: usize,

    /// Processes killed in mid-load
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    pub(crate) kills: u64,

    /// How long each load runs before the power goes
    #[arg(long, value_name = "TIME", value_parser = value::duration, default_value = "1s")]
    pub(crate) load: Duration,

    /// Judge the setting as one that must hold, whatever it promises: failing images are kept
    #[arg(long)]
    pub(crate) must_hold: bool,

    /// Tear no page: for a disk that writes pages whole, however large the store's are
    #[arg(long)]
    pub(crate) no_tears: bool,

    /// Leave the live faults out: I/O errors, a full disk, failed and slow syncs, flipped bits
    #[arg(long)]
    pub(crate) no_faults: bool,

    /// Where cuts and losses are drawn from
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Where stores and images stand meanwhile; a directory in memory is quickest, and is taken for
    /// servers unless one is named: /dev/shm; else the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Where failing images are kept
    #[arg(long, value_name = "DIR", default_value = "syncline-kept")]
    pub(crate) keep: PathBuf,

    /// Look at a kept image again, in place of anything else
    #[arg(long, value_name = "IMAGE", conflicts_with = "target")]
    pub(crate) again: Option<PathBuf>,

    /// Where the record goes
    #[arg(long, value_name = "DIR", default_value = "syncline-runs")]
    pub(crate) runs: PathBuf,

    /// Print the record as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `verify isolation`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline verify isolation sqlite\n  syncline verify isolation 'engine?isolation=snapshot' --transactions 1000000 --history run.jsonl\n  syncline verify isolation --check run.jsonl --claimed serializable",
    after_help = "Exit codes: 0 no anomaly that the level forbids; 1 one was found; 2 nothing can be said."
)]
pub(crate) struct IsolationArgs {
    /// A target, as for run; a private store is best
    #[arg(value_name = "TARGET", required_unless_present = "check")]
    pub(crate) target: Option<String>,

    /// Transactions asked for
    #[arg(long, value_name = "COUNT", value_parser = value::at_least_one, default_value = "20000")]
    pub(crate) transactions: usize,

    /// Clients at once
    #[arg(long, value_name = "COUNT", value_parser = value::at_least_one, default_value = "8")]
    pub(crate) clients: usize,

    /// Where what is asked for is drawn from
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Leave Hermitage's schedules out
    #[arg(long)]
    pub(crate) no_schedules: bool,

    /// The level to judge by, in place of what the store says of itself
    #[arg(long, value_name = "LEVEL")]
    pub(crate) claimed: Option<ClaimedArg>,

    /// Write the history here, in Elle's JSON form
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,

    /// Check a history of lists in Elle's JSON form, in place of a target
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "history"], requires = "claimed")]
    pub(crate) check: Option<PathBuf>,

    /// Where the record goes
    #[arg(long, value_name = "DIR", default_value = "syncline-runs")]
    pub(crate) runs: PathBuf,

    /// Print the record as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Levels of isolation that may be claimed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ClaimedArg {
    /// No dirty writes or reads
    ReadCommitted,
    /// What was read stays as it was
    RepeatableRead,
    /// Reads from one snapshot, first committer wins
    Snapshot,
    /// As if one after another
    Serializable,
}
