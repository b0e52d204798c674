//! `syncline ycsb load|run`: YCSB's own command line, whose flags have one dash.

use clap::{Args, ValueEnum};

/// Which of YCSB's phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YcsbPhase {
    /// Load the records and keep the store
    Load,
    /// Run the operations
    Run,
}

/// Run YCSB's property files as they are, with YCSB's own flags and result lines.
///
/// -P FILE reads properties and may be given several times; -p KEY=VALUE sets one and outweighs files;
/// -threads N, -target OPS (a second, of all threads), -s, -t and -l LABEL are taken as in YCSB. --on
/// TARGET names the store instead of a database binding; --line, --runs DIR, --seed SEED, --dry-run,
/// --meter, --sampling-hz N and --map FILE are those of `syncline run`. `load` keeps what it loads at the
/// target's path; `run` starts from what is there, and loads it if nothing is. No run can start from the rows
/// that a mix with inserts has left.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline ycsb run -P workloada -threads 8 --on sqlite\n  syncline ycsb load -P workloadb -p recordcount=100000 --on engine:./store\n  syncline ycsb run -P workloadb -target 5000 --on engine:./store"
)]
pub(crate) struct YcsbArgs {
    /// Load the records, or run the operations
    #[arg(value_name = "load|run")]
    pub(crate) phase: YcsbPhase,

    /// YCSB's flags, and --on TARGET, --line LINE, --runs DIR, --seed SEED, --dry-run, --meter
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) flags: Vec<String>,
}
