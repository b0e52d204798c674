//! The options of an `engine:` URL.

use crate::error::Error;
use crate::url::Listing;
use syncline_contract::{ClientModel, Durability, Isolation, OptionArgs, OptionListing};
use syncline_engine::{Options, log};

/// Everything that a URL chooses but the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// Futures on tickets, or a thread a client.
    pub(super) client: ClientModel,
    /// What transactions that may write promise.
    pub(super) isolation: Isolation,
    /// True if nothing is kept.
    pub(super) is_transient: bool,
    /// What the engine is told.
    pub(super) options: Options,
}

/// What `syncline list targets` shows.
pub(crate) const LISTING: &Listing = &Listing {
    name: "engine",
    what: "our engine in this process: tables with group commit, on disk or in memory alone",
    form: "engine:PATH?options, or engine?options for a temporary database that is removed",
    options: &[
        OptionListing {
            name: "durability",
            takes: "none, data or full",
            default: "data, and none in transient mode",
            meaning: "no sync, O_DSYNC, or O_SYNC for each group of commits",
        },
        OptionListing {
            name: "client",
            takes: "futures or threads",
            default: "futures",
            meaning: "many clients a thread on commit tickets, or a blocked thread a client",
        },
        OptionListing {
            name: "isolation",
            takes: "serializable or snapshot",
            default: "serializable",
            meaning: "reads validated at the commit, or reads of one moment and first committer wins",
        },
        OptionListing {
            name: "mode",
            takes: "resident or transient",
            default: "resident",
            meaning: "all pages in memory and kept on disk, or the same with nothing kept",
        },
        OptionListing {
            name: "segment_kib",
            takes: "a whole number from 64 to 1048576, a multiple of 4",
            default: "65536",
            meaning: "size of a log file",
        },
        OptionListing {
            name: "page_kib",
            takes: "4, 8, 16 or 32",
            default: "8",
            meaning: "size of a page; 4 also halves the longest key, which is 1 KiB",
        },
        OptionListing {
            name: "resident_mib",
            takes: "a whole number from 1 to 16777216",
            default: "half of the memory that the process may use; 4096 if unknown",
            meaning: "the most memory that pages may take; what needs more is refused",
        },
        OptionListing {
            name: "checkpoint_mib",
            takes: "a whole number from 1 to 1048576",
            default: "1024",
            meaning: "log records after which a checkpoint begins; log files may take four times that",
        },
        OptionListing {
            name: "checkpoint_kib",
            takes: "a whole number from 16 to 1048576, instead of checkpoint_mib",
            default: "1048576",
            meaning: "the same in KiB, so that short tests make many checkpoints",
        },
    ],
};

impl Settings {
    /// Of the options given.
    pub(super) fn parse(given: &OptionArgs<'_>) -> Result<Settings, Error> {
        let mode = given.word("mode", &["resident", "transient"], |word| word)?;
        let is_transient = mode == Some("transient");
        let durability = given.word("durability", &Durability::ALL, Durability::word)?;
        let models = [ClientModel::Futures, ClientModel::Threads];
        let client = given.word("client", &models, ClientModel::word)?;
        let isolations = [Isolation::Serializable, Isolation::Snapshot];
        let isolation = given.word("isolation", &isolations, Isolation::words)?;
        Ok(Settings {
            client: client.unwrap_or(ClientModel::Futures),
            isolation: isolation.unwrap_or(Isolation::Serializable),
            is_transient,
            options: options(given, log_durability(durability, is_transient)?)?,
        })
    }
}

fn not_honoured(what: &str) -> Error {
    Error::NotHonoured { target: LISTING.name, what: what.to_owned() }
}

fn log_durability(asked: Option<Durability>, is_transient: bool) -> Result<log::Durability, Error> {
    match (asked, is_transient) {
        (Some(Durability::Os), _) => Err(not_honoured(
            "durability=os: a commit waits for a sync or for nothing; choose none, data or full",
        )),
        (Some(Durability::None) | None, true) | (Some(Durability::None), false) => {
            Ok(log::Durability::None)
        }
        (Some(_), true) => Err(not_honoured(
            "mode=transient at this durability, since it keeps nothing; leave durability out",
        )),
        (Some(Durability::Data) | None, false) => Ok(log::Durability::Data),
        (Some(Durability::Full), false) => Ok(log::Durability::Full),
    }
}

fn options(given: &OptionArgs<'_>, durability: log::Durability) -> Result<Options, Error> {
    let defaults = Options::default();
    let segment_kib = given.number("segment_kib", 64..=1 << 20)?;
    if segment_kib.is_some_and(|kib| !kib.is_multiple_of(4)) {
        return Err(not_honoured(
            "a segment_kib that is no multiple of 4, the unit of its frames in KiB",
        ));
    }
    let segment_bytes = segment_kib.map_or(defaults.log.segment_bytes, |kib| kib << 10);
    let pages = [(4, "4"), (8, "8"), (16, "16"), (32, "32")];
    let page = given.word("page_kib", &pages, |(_, word)| word)?;
    let page_bytes = page.map_or(defaults.page_bytes, |(kib, _)| kib << 10);
    let resident_mib = given.number("resident_mib", 1..=16 << 20)?;
    let checkpoint_mib = given.number("checkpoint_mib", 1..=1 << 20)?;
    let checkpoint_kib = given.number("checkpoint_kib", 16..=1 << 20)?;
    let records = match (checkpoint_mib, checkpoint_kib) {
        (None, None) => defaults.checkpoint_log_bytes,
        (Some(mib), None) => mib << 20,
        (None, Some(kib)) => kib << 10,
        (Some(_), Some(_)) => {
            return Err(not_honoured("checkpoint_mib and checkpoint_kib at once"));
        }
    };
    Ok(Options {
        page_bytes,
        key_bytes_max: defaults.key_bytes_max.min(page_bytes / 8),
        resident_bytes_max: resident_mib.map_or(defaults.resident_bytes_max, |mib| mib << 20),
        checkpoint_log_bytes: records,
        checkpoint_segment_bytes: (4 * records).max(4 * segment_bytes),
        log: log_options(durability, segment_bytes),
        ..defaults
    })
}

fn log_options(durability: log::Durability, segment_bytes: u64) -> log::Options {
    let defaults = log::Options::default();
    let frame_unit = u64::from(defaults.frame_unit_bytes);
    let quarter = segment_bytes / 4 / frame_unit * frame_unit;
    log::Options {
        durability,
        segment_bytes,
        frame_bytes_max: quarter.min(defaults.frame_bytes_max.into()) as u32,
        ..defaults
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
