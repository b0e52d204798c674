//! `syncline ycsb load|run`: YCSB's own command line, whose options have a single dash.

use clap::{Args, ValueEnum};

/// A phase of YCSB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YcsbPhase {
    /// Load the records and keep the store
    Load,
    /// Run the operations
    Run,
}

/// Run YCSB's property files unchanged, with YCSB's own options and result lines.
///
/// -P FILE reads properties and may be given several times; -p KEY=VALUE sets one and takes precedence over
/// files; -threads N, -target OPS (per second, for all threads), -s, -t and -l LABEL work as in YCSB. --on
/// TARGET names the store instead of a database binding; --line, --runs DIR, --seed SEED, --dry-run, --meter,
/// --sampling-hz N and --map FILE work as in `syncline run`. `load` keeps the records at the target's path;
/// `run` uses the records there, and loads them if there are none. No run can use the rows that a mix with
/// inserts has left.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline ycsb run -P workloada -threads 8 --on sqlite\n  syncline ycsb load -P workloadb -p recordcount=100000 --on engine:./store\n  syncline ycsb run -P workloadb -target 5000 --on engine:./store"
)]
pub(crate) struct YcsbArgs {
    /// Load the records, or run the operations
    #[arg(value_name = "load|run")]
    pub(crate) phase: YcsbPhase,

    /// YCSB's options, and --on TARGET, --line LINE, --runs DIR, --seed SEED, --dry-run, --meter
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) flags: Vec<String>,
}
