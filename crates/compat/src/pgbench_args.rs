//! `syncline pgbench`: pgbench's own options, and where the store is.

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches};
use std::path::PathBuf;
use syncline_console::{MeterArgs, value};

/// The command; `-h` is the host, as in pgbench.
pub(crate) fn definition() -> Command {
    PgbenchArgs::augment_args(Command::new("pgbench").disable_help_flag(true))
}

/// Run pgbench's scripts, with its options, on any target that executes a user's statements
#[derive(Args, Clone, Debug, Default)]
#[command(
    version = env!("CARGO_PKG_VERSION"),
    args_override_self = true,
    before_help = "Examples:\n  syncline pgbench -c 8 -T 30 --on sqlite\n  syncline pgbench -i -s 10 --on sqlite:bench.db\n  syncline pgbench -f a.sql@3 -f b.sql -c 4 -t 1000 -r --on sqlite:bench.db",
    after_help = "Exit codes: 0 the command ran and every check holds; 1 the run failed before its end or a promise failed; 2 the command could not run (a script's syntax, an option, the store)."
)]
#[allow(clippy::struct_excessive_bools, reason = "each is an independent option, as in pgbench")]
pub(crate) struct PgbenchArgs {
    /// The store, as a URL or a name (see `syncline list targets`)
    #[arg(long, value_name = "TARGET")]
    pub(crate) on: Option<String>,

    /// Directory of the record
    #[arg(long, value_name = "DIR", default_value = "syncline-runs")]
    pub(crate) runs: PathBuf,

    /// Print the record as JSON instead of pgbench's summary
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) meter: MeterArgs,

    /// Create and fill pgbench's tables in the store, and keep them
    #[arg(short, long)]
    pub(crate) initialize: bool,

    /// Steps of -i: d, t, g, v and p are a single step here; f is refused
    #[arg(short = 'I', long, value_name = "STEPS")]
    pub(crate) init_steps: Option<String>,

    /// Scale of the tables that -i creates: 100,000 accounts each; default: the scale of the existing tables,
    /// or 1
    #[arg(short, long, value_name = "NUM")]
    pub(crate) scale: Option<u64>,

    /// Print less while tables are being filled
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Add a built-in script, weighted at W; `list` lists them
    #[arg(short, long, value_name = "NAME[@W]")]
    pub(crate) builtin: Vec<String>,

    /// Add a script, weighted at W; - reads standard input
    // As with getopt, the rest of the word is the name, whatever it begins with: "-@2" is standard input at
    // weight 2.
    #[arg(short, long, value_name = "FILENAME[@W]", allow_hyphen_values = true)]
    pub(crate) file: Vec<String>,

    /// Same as -b simple-update
    #[arg(short = 'N', long, action = ArgAction::Append, num_args = 0, default_missing_value = "simple-update")]
    pub(crate) skip_some_updates: Vec<String>,

    /// Same as -b select-only
    #[arg(short = 'S', long, action = ArgAction::Append, num_args = 0, default_missing_value = "select-only")]
    pub(crate) select_only: Vec<String>,

    /// The scripts in the order of the command line.
    #[arg(skip)]
    pub(crate) scripts: Vec<Chosen>,

    /// The names of the options on the command line.
    #[arg(skip)]
    pub(crate) option_names: Vec<String>,

    /// Print a built-in script
    #[arg(long, value_name = "NAME")]
    pub(crate) show_script: Option<String>,

    /// Number of clients
    #[arg(short, long, value_name = "NUM", value_parser = value::clients, default_value = "1")]
    pub(crate) client: usize,

    /// Number of threads; a blocking store has one thread per client
    #[arg(short, long, value_name = "NUM", value_parser = value::workers)]
    pub(crate) jobs: Option<usize>,

    /// Set a variable
    #[arg(short = 'D', long, value_name = "VARNAME=VALUE")]
    pub(crate) define: Vec<String>,

    /// How statements are sent [default: simple; prepared where a store has no protocols]
    #[arg(short = 'M', long, value_name = "MODE", value_parser = ["simple", "extended", "prepared"])]
    pub(crate) protocol: Option<String>,

    /// No vacuum (nothing is vacuumed anyway)
    #[arg(short, long)]
    pub(crate) no_vacuum: bool,

    /// Accepted, but nothing is vacuumed
    #[arg(short, long)]
    pub(crate) vacuum_all: bool,

    /// Print progress every N seconds
    #[arg(short = 'P', long, value_name = "SEC", value_parser = value::at_least_one)]
    pub(crate) progress: Option<usize>,

    /// Print progress with the Unix time instead of the time passed
    #[arg(long)]
    pub(crate) progress_timestamp: bool,

    /// Report the latency of each statement
    #[arg(short, long)]
    pub(crate) report_per_command: bool,

    /// Start transactions at this rate, with Poisson arrivals, for all clients together
    #[arg(short = 'R', long, value_name = "PER_SECOND", value_parser = value::rate)]
    pub(crate) rate: Option<f64>,

    /// Transactions of each client [default: 10]
    #[arg(short, long, value_name = "NUM", value_parser = value::at_least_one, conflicts_with = "time")]
    pub(crate) transactions: Option<usize>,

    /// Time to run, in seconds
    #[arg(short = 'T', long, value_name = "SEC", value_parser = value::at_least_one)]
    pub(crate) time: Option<usize>,

    /// Maximum tries of a transaction that conflicts; 0: until -T ends the run or -L is exceeded
    #[arg(long, value_name = "NUM", default_value_t = 1)]
    pub(crate) max_tries: u32,

    /// Open a new connection for each transaction
    #[arg(short = 'C', long)]
    pub(crate) connect: bool,

    /// Count a transaction whose statement is refused as failed, and continue
    #[arg(long)]
    pub(crate) continue_on_error: bool,

    /// Report conflicts by cause
    #[arg(long)]
    pub(crate) failures_detailed: bool,

    /// Print every error (always on)
    #[arg(long)]
    pub(crate) verbose_errors: bool,

    /// Accepted, but prints nothing more: the record holds everything
    #[arg(long)]
    pub(crate) debug: bool,

    /// End the run when a client fails (always on)
    #[arg(long)]
    pub(crate) exit_on_abort: bool,

    /// Count transactions slower than N milliseconds; with -R, skip those that would start later
    #[arg(short = 'L', long, value_name = "MS", value_parser = value::rate)]
    pub(crate) latency_limit: Option<f64>,

    /// Write the time of each transaction to log files, one per thread
    #[arg(short, long)]
    pub(crate) log: bool,

    /// Prefix of the log files' names
    #[arg(
        long,
        value_name = "PREFIX",
        default_value = "pgbench_log",
        allow_hyphen_values = true,
        requires = "log"
    )]
    pub(crate) log_prefix: String,

    /// Write sums over N seconds to the log, instead of each transaction
    #[arg(long, value_name = "SEC", value_parser = value::at_least_one, requires = "log")]
    pub(crate) aggregate_interval: Option<usize>,

    /// Write this share of the transactions to the log, above 0 and at most 1
    #[arg(long, value_name = "RATE", value_parser = value::share, requires = "log", conflicts_with = "aggregate_interval")]
    pub(crate) sampling_rate: Option<f64>,

    /// Seed of all random choices: an integer, time or rand [default: `PGBENCH_RANDOM_SEED` or 42]
    #[arg(long, value_name = "SEED")]
    pub(crate) random_seed: Option<String>,

    /// Print help
    #[arg(short = '?', long, action = ArgAction::Help)]
    pub(crate) help: Option<bool>,

    #[command(flatten)]
    pub(crate) server: ServerFlags,

    #[command(flatten)]
    pub(crate) refused: Refused,
}

/// A script on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// A file and its weight, as given.
    File(String),
    /// A built-in script and its weight, as given.
    BuiltIn(String),
}

impl PgbenchArgs {
    /// Builds the arguments from the matches, keeping the order of the scripts.
    pub(crate) fn of(matches: &ArgMatches) -> Result<PgbenchArgs, clap::Error> {
        let mut args = PgbenchArgs::from_arg_matches(matches)?;
        let mut placed = Vec::new();
        for id in ["file", "builtin", "skip_some_updates", "select_only"] {
            let places = matches.indices_of(id).into_iter().flatten();
            let values = matches.get_many::<String>(id).into_iter().flatten();
            let scripts = values.map(|value| match id {
                "file" => Chosen::File(value.clone()),
                _ => Chosen::BuiltIn(value.clone()),
            });
            placed.extend(places.zip(scripts));
        }
        placed.sort_by_key(|(place, _)| *place);
        args.scripts = placed.into_iter().map(|(_, script)| script).collect();
        let typed =
            |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        args.option_names =
            matches.ids().filter(typed).map(|id| id.as_str().replace('_', "-")).collect();
        Ok(args)
    }
}

/// Known options of pgbench that are refused by name.
#[derive(Args, Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is an independent option, as in pgbench")]
#[command(next_help_heading = "Flags of pgbench that do not apply")]
pub(crate) struct Refused {
    /// Not supported: the target creates the tables
    #[arg(short = 'F', long, value_name = "NUM")]
    pub(crate) fillfactor: Option<String>,

    /// Not supported: the target creates the tables
    #[arg(long)]
    pub(crate) foreign_keys: bool,

    /// Not supported: the target creates the tables
    #[arg(long, value_name = "TABLESPACE")]
    pub(crate) index_tablespace: Option<String>,

    /// Not supported: the target creates the tables
    #[arg(long, value_name = "TABLESPACE")]
    pub(crate) tablespace: Option<String>,

    /// Not supported: the target creates the tables
    #[arg(long, value_name = "METHOD")]
    pub(crate) partition_method: Option<String>,

    /// Not supported: the target creates the tables
    #[arg(long, value_name = "NUM")]
    pub(crate) partitions: Option<String>,

    /// Not supported: the target creates the tables
    #[arg(long)]
    pub(crate) unlogged_tables: bool,
}

/// A PostgreSQL server, in pgbench's own options; `--on` names any store.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "PostgreSQL server, by pgbench's own flags instead of --on")]
pub(crate) struct ServerFlags {
    /// Host, or directory of the socket [default: `PGHOST`, or this machine]
    #[arg(short = 'h', long, value_name = "HOSTNAME")]
    pub(crate) host: Option<String>,

    /// Port [default: `PGPORT`, or 5432]
    #[arg(short = 'p', long, value_name = "PORT")]
    pub(crate) port: Option<String>,

    /// User [default: `PGUSER`, or the server's rule]
    #[arg(short = 'U', long, value_name = "USERNAME")]
    pub(crate) username: Option<String>,

    /// Database name, connection string, or postgresql:// URI
    #[arg(short, long, value_name = "DBNAME")]
    pub(crate) dbname: Option<String>,

    /// Database name [default: `PGDATABASE`, or the user's]
    #[arg(value_name = "DBNAME", conflicts_with = "dbname")]
    pub(crate) database: Option<String>,
}
