//! The options of an `engine:` URL.

use crate::error::Error;
use crate::path;
use crate::url::Listing;
use std::path::{Path, PathBuf};
use syncline_contract::{ClientModel, Durability, Isolation, OptionArgs, options, words};
use syncline_engine::{BufferMode, Options, log};

/// All settings of a URL except the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// Futures on tickets, or a thread for each client.
    pub(super) client: ClientModel,
    /// The isolation of transactions that may write.
    pub(super) isolation: Isolation,
    /// True if nothing is stored on disk.
    pub(super) is_transient: bool,
    /// The options of the engine.
    pub(super) options: Options,
}

words! {
    /// The isolation of transactions that may write.
    enum Isolated {
        /// Reads are validated at the commit.
        Serializable = "serializable",
        /// Reads of one moment; the first committer wins.
        Snapshot = "snapshot",
    }
}

words! {
    /// Where pages are.
    enum Mode {
        /// All in memory, and on disk.
        Resident = "resident",
        /// In a cache above the system's page cache, and on disk.
        Mapped = "mapped",
        /// In a cache, and on disk.
        Disk = "disk",
        /// In memory only.
        Transient = "transient",
    }
}

options! {
    /// The options of an `engine:` URL.
    #[derive(Debug)]
    struct UrlOptions {
        durability: Durability as "none, data or full" = ["data, and none in transient mode"],
            "no sync, O_DSYNC, or O_SYNC for each group of commits";
        client: ClientModel as "futures or threads" = "futures",
            "many clients a thread on commit tickets, or a blocked thread a client";
        isolation: Isolated = "serializable",
            "reads validated at the commit, or reads of one moment and first committer wins";
        mode: Mode = "resident",
            "where pages are: all in memory and kept on disk; in a cache, and read through the system's page cache or past it; all in memory with nothing kept";
        segment_kib: u64 as "a whole number from 64 to 1048576, a multiple of 4" = ["65536"] in 64..=1_048_576,
            "size of a log file once the log is busy; its first files are smaller";
        log: String as "a directory, whose parent must exist" = ["log in the database's directory"],
            "where the log is, such as on a device of its own";
        archive: String as "a directory, whose parent must exist" = ["none"],
            "gets a copy of each log file before it is reused, for restores";
        log_limit_mib: u64 = ["none"] in 1..=16_777_216,
            "the most that all files of the log may take; writers wait for a checkpoint before they pass it";
        page_kib: u32 as "4, 8, 16 or 32" = 8,
            "size of a page; 4 also halves the longest key, which is 1 KiB";
        resident_mib: u64 = ["half of the memory that the process may use; 4096 if unknown"] in 1..=16_777_216,
            "the most memory that pages may take; what needs more is refused";
        cache_mib: u64 = ["half of the memory that the process may use; 4096 if unknown"] in 1..=16_777_216,
            "the memory of the modes mapped and disk for pages and old versions; the database may be larger";
        checkpoint_mib: u64 = ["1024"] in 1..=1_048_576,
            "log records after which a checkpoint begins; log files may take four times that";
        checkpoint_kib: u64 as "a whole number from 16 to 1048576, instead of checkpoint_mib" = ["1048576"] in 16..=1_048_576,
            "the same in KiB, so that short tests make many checkpoints";
    }
}

/// The entry in `syncline list targets`.
pub(crate) const LISTING: &Listing = &Listing {
    name: "engine",
    what: "our engine in this process: tables with group commit, on disk or in memory only",
    form: "engine:PATH?options, or engine?options for a temporary database that is removed",
    options: UrlOptions::LISTING,
};

impl Settings {
    /// From the given options.
    pub(super) fn parse(given: &OptionArgs<'_>) -> Result<Settings, Error> {
        let chosen = UrlOptions::read(given)?;
        let is_transient = chosen.mode == Mode::Transient;
        if chosen.client == ClientModel::Queue {
            return Err(given.refuse("client").into());
        }
        if ![4, 8, 16, 32].contains(&chosen.page_kib) {
            return Err(given.refuse("page_kib").into());
        }
        let has_log_files =
            chosen.log.is_some() || chosen.log_limit_mib.is_some() || chosen.archive.is_some();
        if is_transient && has_log_files {
            return Err(not_honoured(
                "log, log_limit_mib and archive in transient mode, which stores no log",
            ));
        }
        Ok(Settings {
            client: chosen.client,
            isolation: match chosen.isolation {
                Isolated::Serializable => Isolation::Serializable,
                Isolated::Snapshot => Isolation::Snapshot,
            },
            is_transient,
            options: options(&chosen, log_durability(chosen.durability, is_transient)?)?,
        })
    }
}

fn not_honoured(what: &str) -> Error {
    Error::NotHonoured { target: LISTING.name, what: what.to_owned() }
}

fn log_durability(asked: Option<Durability>, is_transient: bool) -> Result<log::Durability, Error> {
    match (asked, is_transient) {
        (Some(Durability::Os), _) => Err(not_honoured(
            "durability=os: a commit waits for a sync or for nothing; use none, data or full",
        )),
        (Some(Durability::None) | None, true) | (Some(Durability::None), false) => {
            Ok(log::Durability::None)
        }
        (Some(_), true) => Err(not_honoured(
            "mode=transient at this durability, since it stores nothing; omit durability",
        )),
        (Some(Durability::Data) | None, false) => Ok(log::Durability::Data),
        (Some(Durability::Full), false) => Ok(log::Durability::Full),
    }
}

fn options(chosen: &UrlOptions, durability: log::Durability) -> Result<Options, Error> {
    let defaults = Options::default();
    if chosen.segment_kib.is_some_and(|kib| !kib.is_multiple_of(4)) {
        return Err(not_honoured(
            "a segment_kib that is not a multiple of 4, the unit of its frames in KiB",
        ));
    }
    let segment_bytes = chosen.segment_kib.map_or(defaults.log.segment_bytes, |kib| kib << 10);
    let page_bytes = chosen.page_kib << 10;
    let records = match (chosen.checkpoint_mib, chosen.checkpoint_kib) {
        (None, None) => defaults.checkpoint_log_bytes,
        (Some(mib), None) => mib << 20,
        (None, Some(kib)) => kib << 10,
        (Some(_), Some(_)) => {
            return Err(not_honoured("checkpoint_mib and checkpoint_kib at once"));
        }
    };
    let has_cache = matches!(chosen.mode, Mode::Mapped | Mode::Disk);
    if chosen.cache_mib.is_some() && !has_cache {
        return Err(not_honoured(
            "cache_mib in a mode that keeps all pages in memory; use mode=disk",
        ));
    }
    if chosen.resident_mib.is_some() && has_cache {
        return Err(not_honoured("resident_mib in a mode with a cache; use cache_mib"));
    }
    let cache_bytes = chosen.cache_mib.map_or(defaults.resident_bytes_max, |mib| mib << 20);
    let defaults = match chosen.mode {
        Mode::Resident | Mode::Transient => defaults,
        Mode::Mapped => Options::with_cache(BufferMode::Mapped, cache_bytes),
        Mode::Disk => Options::with_cache(BufferMode::Disk, cache_bytes),
    };
    Ok(Options {
        page_bytes,
        key_bytes_max: defaults.key_bytes_max.min(page_bytes / 8),
        resident_bytes_max: chosen
            .resident_mib
            .map_or(defaults.resident_bytes_max, |mib| mib << 20),
        checkpoint_log_bytes: records,
        checkpoint_segment_bytes: (4 * records).max(4 * segment_bytes),
        log_directory: directory("log", chosen.log.as_deref())?,
        log: log::Options {
            archive: directory("archive", chosen.archive.as_deref())?,
            ..log_options(durability, segment_bytes, chosen.log_limit_mib)?
        },
        ..defaults
    })
}

/// The directory of an option. It does not depend on where this process is.
fn directory(option: &str, given: Option<&str>) -> Result<Option<PathBuf>, Error> {
    match given {
        None => Ok(None),
        Some(given) if given.is_empty() || given.contains('\0') => {
            Err(not_honoured(&format!("an option {option} that names no directory")))
        }
        Some(given) => path::absolute(Path::new(given)).map(Some),
    }
}

fn log_options(
    durability: log::Durability,
    segment_bytes: u64,
    limit_mib: Option<u64>,
) -> Result<log::Options, Error> {
    let defaults = log::Options::default();
    let frame_unit = u64::from(defaults.frame_unit_bytes);
    let quarter = segment_bytes / 4 / frame_unit * frame_unit;
    let options = log::Options {
        durability,
        segment_bytes,
        frame_bytes_max: quarter.min(defaults.frame_bytes_max.into()) as u32,
        log_bytes_max: limit_mib.map(|mib| mib << 20),
        ..defaults
    };
    match options.check() {
        Err(_) if limit_mib.is_some() => Err(not_honoured(
            "a log_limit_mib that does not hold four files of segment_kib and 1 MiB; raise it, or lower \
             segment_kib",
        )),
        _ => Ok(options),
    }
}

/// The contract's word for the log's durability.
pub(super) fn word_of(durability: log::Durability) -> Durability {
    match durability {
        log::Durability::None => Durability::None,
        log::Durability::Data => Durability::Data,
        log::Durability::Full => Durability::Full,
    }
}
