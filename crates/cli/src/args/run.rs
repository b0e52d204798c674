//! `syncline run WORKLOAD`: the options that every workload shares.

use super::response_bound::{ResponseBound, response_bound};
use super::sweep::{Sweep, sweep};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use syncline_console::{LineArg, MeterArgs, MeterTyped, value};

/// The arrival process of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalArg {
    /// Exponential gaps
    Poisson,
    /// Equal gaps
    Fixed,
}

/// The options that every workload shares.
#[derive(Args, Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an independent option")]
pub(crate) struct RunArgs {
    /// The store, as a URL or a name (see `syncline list targets`); may be given several times
    #[arg(long, value_name = "TARGET", help_heading = "Targets")]
    pub(crate) on: Vec<String>,

    /// Reuse the data set of an earlier run at the target's path, if there is one, and keep it
    #[arg(long, help_heading = "Targets")]
    pub(crate) reuse: bool,

    /// Not an option: the run of a compatibility command may leave other rows than it found.
    #[arg(skip)]
    pub(crate) spends_rows: bool,

    /// Print what a run would do (statements, settings, connections, bytes), and change nothing
    #[arg(long, help_heading = "Targets")]
    pub(crate) dry_run: bool,

    /// Allow running while other sessions are active
    #[arg(long, help_heading = "Targets")]
    pub(crate) live: bool,

    /// Name of the store in records, instead of product and version
    #[arg(long, value_name = "NAME", help_heading = "Targets")]
    pub(crate) alias: Option<String>,

    /// Number of clients
    #[arg(short, long, visible_alias = "threads", value_name = "N", value_parser = value::clients, default_value = "1", help_heading = "Load")]
    pub(crate) clients: usize,

    /// Worker threads; default: one per client or one per core, as the target requires, or fewer if a trial
    /// before the warm-up commits more with fewer
    #[arg(long, value_name = "N", value_parser = value::workers, help_heading = "Load")]
    pub(crate) workers: Option<usize>,

    /// Measured time; default 10s, or none if --transactions is given
    #[arg(short, long, value_name = "TIME", value_parser = value::some_duration, help_heading = "Load")]
    pub(crate) duration: Option<Duration>,

    /// Measured transactions; the run stops at this count or at --duration, whichever is first
    #[arg(long, value_name = "N", value_parser = value::at_least_one, help_heading = "Load")]
    pub(crate) transactions: Option<usize>,

    /// Time before the measurement begins
    #[arg(long, value_name = "TIME", value_parser = value::duration, default_value = "5s", help_heading = "Load")]
    pub(crate) warm_up: Duration,

    /// Time for transactions in progress to end when the run stops
    #[arg(long, value_name = "TIME", value_parser = value::duration, default_value = "5s", help_heading = "Load")]
    pub(crate) drain: Duration,

    /// Open loop: how transactions arrive; without it each client starts its next when one ends
    #[arg(long, value_name = "PROCESS", requires = "rate", help_heading = "Load")]
    pub(crate) arrival: Option<ArrivalArg>,

    /// Open loop: arrivals per second, for all clients together (Poisson unless --arrival fixed is given)
    #[arg(long, value_name = "PER_SECOND", value_parser = value::rate, help_heading = "Load")]
    pub(crate) rate: Option<f64>,

    /// Retries of a conflicted transaction
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Load")]
    pub(crate) retries: u32,

    /// Seed of all random choices
    #[arg(long, value_name = "SEED", default_value_t = 42, help_heading = "Load")]
    pub(crate) seed: u64,

    /// Processors to pin the workers to, in turn
    #[arg(long, value_name = "CPU,...", value_delimiter = ',', help_heading = "Load")]
    pub(crate) pin: Vec<usize>,

    /// Pipeline independent statements; default: as the workload defines
    #[arg(long, value_name = "yes|no", value_parser = value::yes_or_no, help_heading = "Load")]
    pub(crate) pipeline: Option<bool>,

    /// A connection for each transaction. Not an option: `--like` takes it from the record of a pgbench run.
    #[arg(skip)]
    pub(crate) connects_each: bool,

    /// The maximum number of transactions of each client. Not an option, as above.
    #[arg(skip)]
    pub(crate) transactions_each: Option<u64>,

    /// A transaction later than this is skipped. Not an option, as above.
    #[arg(skip)]
    pub(crate) skip_after: Option<Duration>,

    /// A transaction later than this is not retried. Not an option, as above.
    #[arg(skip)]
    pub(crate) retry_within: Option<Duration>,

    /// A refused statement fails only its transaction. Not an option, as above.
    #[arg(skip)]
    pub(crate) goes_on_after_errors: bool,

    /// Run once per value: clients=1,8,64, rate=..., retries=..., pipeline=..., or an option of the workload;
    /// several sweeps multiply
    #[arg(long, value_name = "NAME=VALUE,...", value_parser = sweep, help_heading = "Repetition")]
    pub(crate) sweep: Vec<Sweep>,

    /// Search for the highest rate of arrivals at which a percentile of response times (p50, p90, p99, p99.9,
    /// max) stays below a time, such as "p99 < 10ms"; each trial takes --warm-up and --duration
    #[arg(long, value_name = "BOUND", value_parser = response_bound, conflicts_with_all = ["rate", "sweep", "transactions", "repeat", "interleave", "dry_run", "meter_overhead"], help_heading = "Repetition")]
    pub(crate) find_max: Option<ResponseBound>,

    /// Repetitions; the median and the range are reported
    #[arg(long, value_name = "N", value_parser = value::repetitions, default_value = "1", help_heading = "Repetition")]
    pub(crate) repeat: usize,

    /// Repeat in turn over targets and sweeps: A B C A B C instead of A A B B C C
    #[arg(long, help_heading = "Repetition")]
    pub(crate) interleave: bool,

    /// Also time each operation
    #[arg(long, help_heading = "Measurements")]
    pub(crate) operations: bool,

    #[command(flatten, next_help_heading = "Measurements")]
    pub(crate) meter: MeterArgs,

    /// Measure the profiling overhead before each repetition, alternating with and without profiling
    #[arg(long, requires = "meter", help_heading = "Measurements")]
    pub(crate) meter_overhead: bool,

    /// Disk sync rate to compare with: `brief` measures it before and after, `none`, or a probe record
    #[arg(long, value_name = "LINE", value_parser = clap::value_parser!(LineArg), default_value = "brief", help_heading = "Measurements")]
    pub(crate) line: LineArg,

    /// Directory of the records
    #[arg(long, value_name = "DIR", default_value = "syncline-runs", help_heading = "Output")]
    pub(crate) runs: PathBuf,

    /// Print the record as JSON: one object, or an array if there are several
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Options of a repeated run.
#[derive(Args, Debug)]
pub(crate) struct LikeArgs {
    /// Repeat the run of this record (a file or an id): same target, workload, plan and seed
    #[arg(long, value_name = "RECORD", required = true)]
    pub(crate) like: PathBuf,

    #[command(flatten)]
    pub(crate) meter: MeterTyped,

    /// Directory of the new record
    #[arg(long, value_name = "DIR", default_value = "syncline-runs")]
    pub(crate) runs: PathBuf,

    /// Print the new record as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
