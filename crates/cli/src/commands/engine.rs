//! `syncline engine`: a database of the engine that no program has open for writing.
//!
//! `inspect`, `verify` and `dump` open the database for reading: they recover in memory what only the log
//! holds, and change nothing. `load`, `compact` and `backup` open it as its program would, and take a
//! checkpoint when they close it. `restore` makes a database from a backup and an archive. The cache has
//! [`CACHE_BYTES`].

use super::atomic_file;
use crate::args::{
    BackupArgs, CompactArgs, DatabaseArgs, DumpArgs, EngineArgs, EngineVerb, LoadArgs, RestoreArgs,
};
use jiff::Timestamp;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_dump::Contents;
use syncline_engine::{BackupOptions, BufferMode, Database, Error, Options, RestoreSource};

/// Memory for the pages of the database, which may be larger.
const CACHE_BYTES: u64 = 256 << 20;

/// Bytes of a dump that are written at once.
const WRITE_BYTES: usize = 256 << 10;

pub(crate) fn engine(args: &EngineArgs) -> Outcome {
    match &args.verb {
        EngineVerb::Inspect(args) => {
            terminal::print(&open(&args.database)?.inspect()?.to_string())?;
            Ok(Verdict::Holds)
        }
        EngineVerb::Verify(args) => verify(&args.database),
        EngineVerb::Dump(args) => dump(args),
        EngineVerb::Load(args) => load(args),
        EngineVerb::Compact(args) => compact(args),
        EngineVerb::Backup(args) => backup(args),
        EngineVerb::Restore(args) => restore(args),
    }
}

fn verify(args: &DatabaseArgs) -> Outcome {
    must_exist(&args.directory)?;
    let database = match Database::open_read_only(&args.directory, options(args)) {
        // So badly that it cannot be opened.
        Err(damaged @ (Error::Damaged { .. } | Error::Record { .. })) => {
            terminal::print(&format!("{damaged}\n"))?;
            return Ok(Verdict::Broken);
        }
        opened => opened?,
    };
    let problems = database.verify()?;
    if !problems.is_empty() {
        terminal::print(&(problems.join("\n") + "\n"))?;
        return Ok(Verdict::Broken);
    }
    let tables = database.tables();
    let indexes: usize = tables.iter().map(|schema| schema.indexes().len()).sum();
    terminal::print(&format!(
        "nothing is wrong with {}: {}, {}, durable up to {}\n",
        args.directory.display(),
        counted(tables.len() as u64, "table"),
        if indexes == 1 { "1 index".to_owned() } else { format!("{indexes} indexes") },
        database.durable_lsn()
    ))?;
    Ok(Verdict::Holds)
}

fn dump(args: &DumpArgs) -> Outcome {
    let database = open(&args.database)?;
    let write = |out: &mut dyn Write| {
        let mut out = BufWriter::with_capacity(WRITE_BYTES, out);
        syncline_dump::write(&database, &args.tables, &mut out)
    };
    let written = if let Some(path) = &args.output {
        atomic_file::write_by(path, |file| write(file).map_err(CannotRun::from))?
    } else {
        match write(&mut StandardOutput) {
            // The reader of the pipe has seen enough.
            Err(syncline_dump::Error::Io { error, .. })
                if error.kind() == io::ErrorKind::BrokenPipe =>
            {
                return Ok(Verdict::Holds);
            }
            written => written?,
        }
    };
    terminal::note(&format!("dumped {}", of(written)));
    Ok(Verdict::Holds)
}

fn load(args: &LoadArgs) -> Outcome {
    let unreadable = |error: io::Error| {
        CannotRun::because(format!("cannot read {}: {error}", args.dump.display()))
    };
    let open_dump = || File::open(&args.dump).map(BufReader::new).map_err(unreadable);
    // Before the database is made.
    syncline_dump::check(open_dump()?)?;
    let directory = &args.database.directory;
    let options = with_archive(&args.database, args.archive.as_deref());
    let database = Database::open_or_create(directory, options)?;
    let loaded = syncline_dump::load(&database, open_dump()?)?;
    database.close()?;
    terminal::note(&format!("loaded {} into {}", of(loaded), directory.display()));
    Ok(Verdict::Holds)
}

fn compact(args: &CompactArgs) -> Outcome {
    must_exist(&args.database.directory)?;
    let options = with_archive(&args.database, args.archive.as_deref());
    let database = Database::open(&args.database.directory, options)?;
    let compacted = database.compact();
    let closed = database.close();
    let (before, after) = compacted?;
    closed?;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    terminal::note(&format!(
        "compacted {}: the data file had {:.1} MiB and has {:.1} MiB",
        args.database.directory.display(),
        mib(before),
        mib(after)
    ));
    Ok(Verdict::Holds)
}

fn backup(args: &BackupArgs) -> Outcome {
    must_exist(&args.database.directory)?;
    let options = with_archive(&args.database, args.archive.as_deref());
    let database = Database::open(&args.database.directory, options)?;
    let bytes_per_second = args.rate_mib.map(|mib| mib << 20);
    let made = database.backup(&args.copy, BackupOptions { bytes_per_second });
    let closed = database.close();
    let made = made?;
    closed?;
    terminal::note(&format!(
        "copied {} into {}: everything up to {}",
        counted(made.pages, "page"),
        args.copy.display(),
        made.csn
    ));
    Ok(Verdict::Holds)
}

fn restore(args: &RestoreArgs) -> Outcome {
    must_exist(&args.backup)?;
    let source = RestoreSource {
        backup: args.backup.clone(),
        archive: args.archive.clone(),
        log: args.log.clone(),
    };
    let options = Options::with_cache(BufferMode::Disk, CACHE_BYTES);
    let made = Database::restore(&source, &args.target, args.until.unwrap_or_default(), options)?;
    let written = made.wall_ns.and_then(|ns| Timestamp::from_nanosecond(ns.into()).ok());
    terminal::note(&format!(
        "restored {}: everything up to {}{}; {} redone from the archive{}",
        args.target.display(),
        made.csn,
        written.map_or(String::new(), |time| format!(", written at {time}")),
        counted(made.commits, "commit"),
        if args.log.is_some() { " and the log" } else { "" }
    ));
    Ok(Verdict::Holds)
}

fn open(args: &DatabaseArgs) -> Result<Database, CannotRun> {
    must_exist(&args.directory)?;
    Ok(Database::open_read_only(&args.directory, options(args))?)
}

/// A missing directory is more likely a typing error than a database that lost its files.
fn must_exist(directory: &Path) -> Result<(), CannotRun> {
    let what = match std::fs::metadata(directory) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "it is not a directory".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(CannotRun::because(format!("cannot open the database {}: {what}", directory.display())))
}

fn options(args: &DatabaseArgs) -> Options {
    Options {
        log_directory: args.log.clone(),
        ..Options::with_cache(BufferMode::Disk, CACHE_BYTES)
    }
}

fn with_archive(args: &DatabaseArgs, archive: Option<&Path>) -> Options {
    let mut options = options(args);
    options.log.archive = archive.map(Path::to_owned);
    options
}

fn of(contents: Contents) -> String {
    format!("{} with {}", counted(contents.tables, "table"), counted(contents.rows, "row"))
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Standard output as a destination.
struct StandardOutput;

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        terminal::print_piece(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
