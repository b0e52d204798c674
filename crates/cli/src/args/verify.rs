//! `syncline verify`: does a store keep its promises?

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use syncline_console::{OutputArgs, value};

/// Test whether a database keeps its promises of durability and isolation.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline verify durability sqlite\n  syncline verify isolation 'engine?isolation=snapshot'\n  syncline verify disk --witness 10.0.0.7:7411 /mnt/new",
    disable_help_subcommand = true
)]
pub(crate) struct VerifyArgs {
    #[command(subcommand)]
    pub(crate) verb: VerifyVerb,
}

/// What to verify.
#[derive(Subcommand, Debug)]
pub(crate) enum VerifyVerb {
    /// Kill a temporary database, simulate power loss and I/O faults, check what survived
    Durability(DurabilityArgs),
    /// Run the Hermitage isolation tests and check random list-append histories for anomalies
    Isolation(IsolationArgs),
    /// Write blocks and report them to a witness on another machine; check them after the plug was pulled
    Disk(DiskArgs),
    /// Record which blocks a disk on another machine reported as synced, and when it went silent
    Witness(WitnessArgs),
}

/// Options of `verify durability`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline verify durability sqlite\n  syncline verify durability 'sqlite?durability=os' --images 100\n  syncline verify durability 'postgres?synchronous_commit=off'\n  syncline verify durability --again syncline-kept/image-1",
    after_help = "Power loss is simulated on a FUSE file system, which requires root and /dev/fuse; without them only processes are killed, and the result is unknown. Exit codes: 0 everything acknowledged survived, or the setting promises nothing; 1 something acknowledged was lost; 2 the result is unknown."
)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct DurabilityArgs {
    /// A store with its options, such as sqlite or 'engine?durability=full', or a server with its own
    /// settings, such as 'postgres?fsync=off'; a temporary one is created
    #[arg(value_name = "TARGET", required_unless_present_any = ["again", "like"])]
    pub(crate) target: Option<String>,

    /// Test a temporary copy of a live server, with the same version and settings; the server itself is only
    /// read
    #[arg(long, value_name = "URL", conflicts_with_all = ["target", "again"])]
    pub(crate) like: Option<String>,

    /// Crash images of the setting, built from one recording
    #[arg(long, value_name = "COUNT", value_parser = value::amount, default_value = "200")]
    pub(crate) images: usize,

    /// Crash images of each control: a setting that must lose data, and others whose behaviour is known
    #[arg(long, value_name = "COUNT", value_parser = value::amount, default_value = "40")]
    pub(crate) control_images: usize,

    /// Process kills under load
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    pub(crate) kills: u64,

    /// How long each workload runs before the simulated power loss
    #[arg(long, value_name = "TIME", value_parser = value::some_duration, default_value = "1s")]
    pub(crate) load: Duration,

    /// Expect the setting to hold whatever it promises, and keep failing images
    #[arg(long)]
    pub(crate) must_hold: bool,

    /// Simulate no torn pages, as on a disk that writes the store's pages atomically
    #[arg(long)]
    pub(crate) no_tears: bool,

    /// Skip the live faults: I/O errors, a full disk, failed and slow syncs, flipped bits
    #[arg(long)]
    pub(crate) no_faults: bool,

    /// Seed of all random choices
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Directory of databases and images during the test; default: the current directory, or /dev/shm for
    /// servers, since a directory in memory is fastest
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Directory that keeps failing images
    #[arg(long, value_name = "DIR", default_value = "syncline-kept")]
    pub(crate) keep: PathBuf,

    /// Check a kept image again, instead of running a new test
    #[arg(long, value_name = "IMAGE", conflicts_with = "target")]
    pub(crate) again: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Options of `verify isolation`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline verify isolation sqlite\n  syncline verify isolation sqlite --history run.jsonl\n  syncline verify isolation sqlite --crashes 50\n  syncline verify isolation --check run.jsonl --claimed serializable",
    after_help = "Exit codes: 0 no anomaly that the level forbids; 1 an anomaly was found; 2 the result is unknown."
)]
pub(crate) struct IsolationArgs {
    /// A target, as for run; a temporary database is best
    #[arg(value_name = "TARGET", required_unless_present = "check")]
    pub(crate) target: Option<String>,

    /// Number of transactions
    #[arg(long, value_name = "COUNT", value_parser = value::amount, default_value = "20000")]
    pub(crate) transactions: usize,

    /// Concurrent clients
    #[arg(long, visible_alias = "threads", value_name = "COUNT", value_parser = value::clients, default_value = "8")]
    pub(crate) clients: usize,

    /// Seed of all random choices
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Skip the Hermitage tests
    #[arg(long)]
    pub(crate) no_schedules: bool,

    /// The level to judge by, instead of the one that the store reports
    #[arg(long, value_name = "LEVEL")]
    pub(crate) claimed: Option<ClaimedArg>,

    /// Crash a temporary database under load with N simulated power losses and N/10 process kills, and read
    /// every list again at the end of each history
    #[arg(long, value_name = "COUNT", value_parser = value::amount, conflicts_with_all = ["check", "history", "claimed"])]
    pub(crate) crashes: Option<usize>,

    /// Simulate no torn pages, as on a disk that writes the store's pages atomically
    #[arg(long, requires = "crashes")]
    pub(crate) no_tears: bool,

    /// Write the history to this file, in Elle's JSON form
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,

    /// Check a history of lists in Elle's JSON form, instead of a target
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "history"], requires = "claimed")]
    pub(crate) check: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Isolation levels to judge by.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ClaimedArg {
    /// No dirty writes or reads
    ReadCommitted,
    /// A row that was read does not change
    RepeatableRead,
    /// Reads from one snapshot, first committer wins
    Snapshot,
    /// As if transactions ran one after another
    Serializable,
}

/// Options of `verify disk`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline verify disk --witness 10.0.0.7:7411 /mnt/new\n  syncline verify disk --witness 10.0.0.7:7411 /mnt/new --check --cut plug-pull",
    after_help = "First start the witness on another machine: syncline verify witness --listen 10.0.0.7:7411. Then start this command, pull the plug, power the machine on, and check with --check. Repeat it: the witness counts the power losses. Exit codes: 0 writing was stopped in order, or every synced block survived; 1 a synced block was lost; 2 the result is unknown."
)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that is given or not")]
pub(crate) struct DiskArgs {
    /// A directory on the disk under test
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Address of the witness, which must not share this machine's power supply
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) witness: String,

    /// Check what the last run left, instead of writing
    #[arg(long)]
    pub(crate) check: bool,

    /// What was done to the machine; syncline cannot detect it
    #[arg(long, value_name = "CUT", requires = "check")]
    pub(crate) cut: Option<CutArg>,

    /// How each block is made durable
    #[arg(long, value_name = "METHOD", default_value = "fdatasync", conflicts_with = "check")]
    pub(crate) method: MethodArg,

    /// Bypass the page cache (`O_DIRECT`)
    #[arg(long, conflicts_with = "check")]
    pub(crate) direct: bool,

    /// Bytes of a block: a multiple of 512, and of the device's block size with --direct
    #[arg(long, value_name = "BYTES", default_value_t = 4096, conflicts_with = "check")]
    pub(crate) block: u32,

    /// Blocks of the file, a power of two; the first pass grows it, later passes overwrite
    #[arg(long, value_name = "COUNT", default_value_t = 16384, conflicts_with = "check")]
    pub(crate) slots: u64,

    /// Stop after this time; without it, write until the plug is pulled or Ctrl-C is pressed
    #[arg(long = "for", value_name = "TIME", value_parser = value::some_duration, conflicts_with = "check")]
    pub(crate) time: Option<Duration>,

    /// Stop after this many blocks
    #[arg(long, value_name = "COUNT", conflicts_with = "check")]
    pub(crate) blocks: Option<u64>,

    /// Begin even if the last run was interrupted and not checked; the result of that power loss is discarded
    #[arg(long, conflicts_with = "check")]
    pub(crate) abandon: bool,

    /// The name by which the witness knows this disk, instead of host and directory
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// How a block is made durable.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MethodArg {
    /// Written, then fsync
    Fsync,
    /// Written, then fdatasync
    Fdatasync,
    /// Written to a file opened with `O_SYNC`
    #[value(name = "o_sync")]
    OSync,
    /// Written to a file opened with `O_DSYNC`
    #[value(name = "o_dsync")]
    ODsync,
}

/// What was done to a machine.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CutArg {
    /// The device lost its power
    PlugPull,
    /// A reset, or a virtual machine that was killed: the device kept its power
    MachineKill,
}

/// Options of `verify witness`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline verify witness\n  syncline verify witness --listen 10.0.0.7:7411 --keep /var/lib/witness",
    after_help = "Anyone who can connect can make it write lines, so let it listen only in a network that you trust. Ctrl-C ends it."
)]
pub(crate) struct WitnessArgs {
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7411")]
    pub(crate) listen: String,

    /// Directory of the recorded promises
    #[arg(long, value_name = "DIR", default_value = "syncline-witness")]
    pub(crate) keep: PathBuf,

    /// A writer that sends nothing for this long is reported as silent
    #[arg(long, value_name = "TIME", value_parser = value::some_duration, default_value = "5s")]
    pub(crate) silence: Duration,
}
