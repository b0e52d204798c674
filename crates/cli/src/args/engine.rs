//! `syncline engine`: commands for a database of the engine that no program has open for writing.

use clap::{Args, Subcommand};
use jiff::Timestamp;
use std::path::PathBuf;
use syncline_engine::Csn;
use syncline_engine::log::Until;

/// Inspect, verify, dump, load, compact, back up and restore a database of the engine that no program has
/// open for writing.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline engine inspect bank\n  syncline engine verify bank\n  syncline engine dump bank --output bank.jsonl\n  syncline engine load copy bank.jsonl\n  syncline engine backup bank bank-copy\n  syncline engine restore bank-copy /mnt/archive/bank bank-again",
    after_help = "inspect, verify and dump change nothing and need no right to write: what only the log holds is recovered in memory.",
    disable_help_subcommand = true
)]
pub(crate) struct EngineArgs {
    #[command(subcommand)]
    pub(crate) verb: EngineVerb,
}

/// What to do with the database.
#[derive(Subcommand, Debug)]
pub(crate) enum EngineVerb {
    /// Print a database's files, settings, checkpoint and tables
    Inspect(InspectArgs),
    /// Read everything in a database and check it: pages, trees, and indexes against rows
    Verify(VerifyDatabaseArgs),
    /// Write tables with their rows in a portable text form
    Dump(DumpArgs),
    /// Load tables from a dump
    Load(LoadArgs),
    /// Make the data file of a database as small as it can be
    Compact(CompactArgs),
    /// Copy a database, pages and all, into a directory of its own
    Backup(BackupArgs),
    /// Bring a backup forward to a later commit by an archive of the log
    Restore(RestoreArgs),
}

/// Which database.
#[derive(Args, Debug)]
pub(crate) struct DatabaseArgs {
    /// The database's directory
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// The log's directory, if it is not in the database's own
    #[arg(long, value_name = "DIR")]
    pub(crate) log: Option<PathBuf>,
}

/// Options of `engine inspect`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline engine inspect bank\n  syncline engine inspect bank --log /mnt/log/bank"
)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

/// Options of `engine verify`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline engine verify bank\n  syncline engine verify bank --log /mnt/log/bank",
    after_help = "Exit codes: 0 nothing is wrong; 1 something is damaged, and every problem was printed; 2 the database could not be opened."
)]
pub(crate) struct VerifyDatabaseArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

/// Options of `engine dump`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline engine dump bank --output bank.jsonl\n  syncline engine dump bank --table account | gzip > account.jsonl.gz"
)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// Only this table; may be given several times
    #[arg(long = "table", value_name = "NAME")]
    pub(crate) tables: Vec<String>,

    /// Write to this file, completely or not at all, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Options of `engine load`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline engine load copy bank.jsonl\n  syncline engine load copy bank.jsonl --log /mnt/log/copy",
    after_help = "The database is opened for writing, so no other program may have it open. The dump is checked as a whole before anything is written; the tables in it must not exist. The database is made if the directory does not exist."
)]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// The archive of the database's log, if it has one; without it the archive gets a gap
    #[arg(long, value_name = "DIR")]
    pub(crate) archive: Option<PathBuf>,

    /// The dump
    #[arg(value_name = "FILE")]
    pub(crate) dump: PathBuf,
}

/// Options of `engine compact`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline engine compact bank\n  syncline engine compact bank --log /mnt/log/bank",
    after_help = "The database is opened for writing, so no other program may have it open: a program compacts its own database by Database::compact, without stopping its writers. Pages at the end of the file are moved to free places before them, and the file is cut. About an eighth of it stays free, and up to half of a file of less than 8 MiB."
)]
pub(crate) struct CompactArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// The archive of the database's log, if it has one; without it the archive gets a gap
    #[arg(long, value_name = "DIR")]
    pub(crate) archive: Option<PathBuf>,
}

/// Options of `engine backup`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline engine backup bank bank-copy\n  syncline engine backup bank /mnt/copies/bank --rate-mib 50",
    after_help = "The database is opened for writing, so no other program may have it open: a program backs up its own database by Database::backup, without stopping its writers. The copy is whole or cannot be opened, and keeps the database's id. Its log is in its own directory."
)]
pub(crate) struct BackupArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// The archive of the database's log, if it has one; without it the archive gets a gap
    #[arg(long, value_name = "DIR")]
    pub(crate) archive: Option<PathBuf>,

    /// The copy's directory, missing or empty
    #[arg(value_name = "COPY")]
    pub(crate) copy: PathBuf,

    /// The most to write, in MiB per second
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) rate_mib: Option<u64>,
}

/// Options of `engine restore`.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline engine restore bank-copy /mnt/archive/bank bank-again\n  syncline engine restore bank-copy /mnt/archive/bank bank-again --log bank/log --until 2026-11-29T12:30:00Z",
    after_help = "The backup is one that `engine backup` or Database::backup made and that no program has opened for writing since. Backup, archive and log are only read. The restored database is whole or cannot be opened; it has an id of its own, so it needs another archive."
)]
pub(crate) struct RestoreArgs {
    /// The backup's directory
    #[arg(value_name = "BACKUP")]
    pub(crate) backup: PathBuf,

    /// The archive of the original's log
    #[arg(value_name = "ARCHIVE")]
    pub(crate) archive: PathBuf,

    /// The directory of the restored database, missing or empty
    #[arg(value_name = "DIR")]
    pub(crate) target: PathBuf,

    /// The directory of the original's log, for the commits that are not archived yet; no program may have it
    /// open for writing
    #[arg(long, value_name = "DIR")]
    pub(crate) log: Option<PathBuf>,

    /// The last commit, by its number, or a time such as 2026-11-29T12:30:00Z: everything that was written to
    /// the log by then. Default: all that is there
    #[arg(long, value_name = "CSN|TIME", value_parser = until)]
    pub(crate) until: Option<Until>,
}

fn until(given: &str) -> Result<Until, String> {
    if given.bytes().all(|byte| byte.is_ascii_digit()) {
        let csn =
            given.parse().map_err(|_long| "it is larger than any commit's number".to_owned())?;
        return Ok(Until::Commit(Csn(csn)));
    }
    let time: Timestamp = given.parse().map_err(|_malformed| {
        "it is neither the number of a commit nor a time with its offset, such as 2026-11-29T12:30:00Z"
            .to_owned()
    })?;
    let wall_ns = u64::try_from(time.as_nanosecond());
    wall_ns.map(Until::Time).map_err(|_negative| "it is a time before 1970".to_owned())
}
