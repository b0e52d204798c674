//! The options of an `engine:` URL.

use crate::error::Error;
use crate::url::Listing;
use syncline_contract::{ClientModel, Durability, Given, OptionListing};
use syncline_engine::log;

/// Everything that a URL chooses but the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// What a commit waits for.
    pub(super) durability: log::Durability,
    /// Futures on tickets, or a thread a client.
    pub(super) client: ClientModel,
    /// Bytes of a log segment.
    pub(super) segment_bytes: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            durability: log::Durability::Data,
            client: ClientModel::Futures,
            segment_bytes: log::Options::default().segment_bytes,
        }
    }
}

/// What `syncline list targets` shows.
pub(crate) const LISTING: &Listing = &Listing {
    name: "engine",
    what: "our engine's log in this process, under tables in memory",
    form: "engine:PATH?options, or engine?options for a private store that is removed",
    options: &[
        OptionListing {
            name: "durability",
            takes: "none, data or full",
            default: "data",
            meaning: "no sync, O_DSYNC, or O_SYNC for each group of commits",
        },
        OptionListing {
            name: "client",
            takes: "futures or threads",
            default: "futures",
            meaning: "many clients a thread on commit tickets, or a blocked thread a client",
        },
        OptionListing {
            name: "segment_kib",
            takes: "a whole number from 64 to 1048576, a multiple of 4",
            default: "65536",
            meaning: "size of a log file",
        },
    ],
};

impl Settings {
    /// Of the options given.
    pub(super) fn parse(given: &Given<'_>) -> Result<Settings, Error> {
        let defaults = Settings::default();
        let not_honoured = |what: &str| Error::NotHonoured {
            target: LISTING.name,
            what: what.to_owned(),
        };
        let durability = given.word("durability", &Durability::ALL, Durability::word)?;
        let durability = match durability.unwrap_or(Durability::Data) {
            Durability::None => log::Durability::None,
            Durability::Data => log::Durability::Data,
            Durability::Full => log::Durability::Full,
            Durability::Os => {
                return Err(not_honoured(
                    "durability=os: a commit waits for a sync or for nothing; choose none, data or full",
                ));
            }
        };
        let models = [ClientModel::Futures, ClientModel::Threads];
        let segment_kib = given.number("segment_kib", 64..=1 << 20)?;
        if segment_kib.is_some_and(|kib| !kib.is_multiple_of(4)) {
            return Err(not_honoured(
                "a segment_kib that is no multiple of 4, the unit of its frames in KiB",
            ));
        }
        Ok(Settings {
            durability,
            client: given
                .word("client", &models, ClientModel::word)?
                .unwrap_or(defaults.client),
            segment_bytes: segment_kib.map_or(defaults.segment_bytes, |kib| kib << 10),
        })
    }

    /// What the log is told.
    pub(super) fn log_options(&self) -> log::Options {
        let defaults = log::Options::default();
        let frame_unit = u64::from(defaults.frame_unit_bytes);
        let quarter = self.segment_bytes / 4 / frame_unit * frame_unit;
        log::Options {
            durability: self.durability,
            segment_bytes: self.segment_bytes,
            frame_bytes_max: quarter.min(defaults.frame_bytes_max.into()) as u32,
            ..defaults
        }
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
