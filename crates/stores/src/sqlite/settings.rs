//! The options of a `sqlite:` URL, and what SQLite is told for them.

use crate::error::Error;
use crate::url::Listing;
use syncline_contract::{ClientModel, Durability, OptionArgs, OptionListing};

/// Where SQLite keeps what it needs to undo or redo a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// A write-ahead log.
    Wal,
    /// A rollback journal, unlinked at commit.
    Delete,
    /// A rollback journal, cut to nothing at commit.
    Truncate,
    /// A rollback journal whose header is overwritten at commit.
    Persist,
    /// A rollback journal in the memory of the process: one that is killed in a transaction leaves a damaged
    /// database.
    Memory,
}

impl Journal {
    /// Every mode offered here.
    pub const ALL: [Journal; 5] =
        [Journal::Wal, Journal::Delete, Journal::Truncate, Journal::Persist, Journal::Memory];

    /// SQLite's word, also that of the option.
    pub fn word(self) -> &'static str {
        match self {
            Journal::Wal => "wal",
            Journal::Delete => "delete",
            Journal::Truncate => "truncate",
            Journal::Persist => "persist",
            Journal::Memory => "memory",
        }
    }
}

/// How long a connection keeps the locks of the database file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locking {
    /// For a transaction.
    Normal,
    /// From its first transaction until it closes.
    Exclusive,
}

impl Locking {
    /// Both ways.
    pub const ALL: [Locking; 2] = [Locking::Normal, Locking::Exclusive];

    /// SQLite's word, also that of the option.
    pub fn word(self) -> &'static str {
        match self {
            Locking::Normal => "normal",
            Locking::Exclusive => "exclusive",
        }
    }
}

/// SQLite's synchronous levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// 0: never syncs.
    Off,
    /// 1: under WAL syncs at checkpoints only.
    Normal,
    /// 2: syncs at every commit.
    Full,
    /// 3: as full, and the directory after a journal is unlinked.
    Extra,
}

impl Synchronous {
    /// Every level, weakest first.
    pub const ALL: [Synchronous; 4] =
        [Synchronous::Off, Synchronous::Normal, Synchronous::Full, Synchronous::Extra];

    /// The number that `PRAGMA synchronous` answers.
    pub fn number(self) -> i64 {
        match self {
            Synchronous::Off => 0,
            Synchronous::Normal => 1,
            Synchronous::Full => 2,
            Synchronous::Extra => 3,
        }
    }

    /// The level of that number.
    pub fn from_number(number: i64) -> Option<Synchronous> {
        Synchronous::ALL.into_iter().find(|level| level.number() == number)
    }

    /// SQLite's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Synchronous::Off => "OFF",
            Synchronous::Normal => "NORMAL",
            Synchronous::Full => "FULL",
            Synchronous::Extra => "EXTRA",
        }
    }

    /// The word for what a commit at that level promises with that journal. NORMAL is offered under WAL only,
    /// where it does not sync a commit.
    pub fn durability(self, journal: &str) -> Durability {
        match self {
            _ if journal == Journal::Memory.word() => Durability::None,
            Synchronous::Off | Synchronous::Normal => Durability::Os,
            Synchronous::Full => Durability::Data,
            Synchronous::Extra => Durability::Full,
        }
    }
}

/// How a connection waits for another's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// By SQLite's own handler, which sleeps longer after each try, up to 100 ms.
    Sqlite,
    /// By trying each millisecond, however long it has waited.
    Even,
}

impl Wait {
    /// Both ways.
    pub const ALL: [Wait; 2] = [Wait::Sqlite, Wait::Even];

    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            Wait::Sqlite => "sqlite",
            Wait::Even => "even",
        }
    }
}

/// Everything that a URL chooses but the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// By threads or by a queue.
    pub client: ClientModel,
    /// What a commit waits for.
    pub synchronous: Synchronous,
    /// What is written before the database file.
    pub journal: Journal,
    /// How long its locks are kept.
    pub locking: Locking,
    /// How a connection waits for a lock.
    pub wait: Wait,
    /// How long it waits in all.
    pub busy_timeout_ms: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Cache of a connection; none leaves SQLite's default.
    pub cache_kib: Option<u32>,
    /// Pages in the write-ahead log at which a commit checkpoints.
    pub checkpoint_pages: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            client: ClientModel::Threads,
            synchronous: Synchronous::Full,
            journal: Journal::Wal,
            locking: Locking::Normal,
            wait: Wait::Sqlite,
            busy_timeout_ms: 5_000,
            page_bytes: 4_096,
            cache_kib: None,
            checkpoint_pages: 1_000,
        }
    }
}

/// What `syncline list targets` shows.
pub(crate) const LISTING: &Listing = &Listing {
    name: "sqlite",
    what: "SQLite in this process, one file",
    form: "sqlite:PATH?options, or sqlite?options for a temporary database that is removed",
    options: &[
        OptionListing {
            name: "durability",
            takes: "os, data or full; none with journal=memory",
            default: "data, or what synchronous= and journal= give",
            meaning: "synchronous OFF, FULL or EXTRA",
        },
        OptionListing {
            name: "synchronous",
            takes: "off, normal (with journal=wal or memory), full or extra",
            default: "what durability= asks for",
            meaning: "SQLite's own word; normal syncs at checkpoints, though not at commits",
        },
        OptionListing {
            name: "journal",
            takes: "wal, delete, truncate, persist or memory",
            default: "wal",
            meaning: "SQLite's journal mode; with memory a killed process may leave a damaged database",
        },
        OptionListing {
            name: "locking_mode",
            takes: "normal or exclusive, with client=queue",
            default: "normal",
            meaning: "keeps the locks of the file for a transaction, or for as long as the connection lasts",
        },
        OptionListing {
            name: "client",
            takes: "threads or queue",
            default: "threads",
            meaning: "a connection a client, or one for all whose transactions share a commit",
        },
        OptionListing {
            name: "wait",
            takes: "sqlite or even",
            default: "sqlite",
            meaning: "waits for locks by SQLite's own growing sleeps, or tries each millisecond",
        },
        OptionListing {
            name: "busy_timeout_ms",
            takes: "a whole number from 0 to 60000",
            default: "5000",
            meaning: "longest wait for a lock, after which a conflict is counted",
        },
        OptionListing {
            name: "page_bytes",
            takes: "a power of two from 512 to 65536",
            default: "4096",
            meaning: "bytes of a page",
        },
        OptionListing {
            name: "cache_kib",
            takes: "a whole number from 1 to 1073741824",
            default: "SQLite's own, 2000",
            meaning: "page cache of a connection",
        },
        OptionListing {
            name: "checkpoint_pages",
            takes: "a whole number from 1 to 1000000000",
            default: "1000",
            meaning: "pages in the write-ahead log at which a commit checkpoints",
        },
    ],
};

impl Settings {
    /// Of the options given.
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Settings, Error> {
        let defaults = Settings::default();
        let journal =
            given.word("journal", &Journal::ALL, Journal::word)?.unwrap_or(defaults.journal);
        let models = [ClientModel::Threads, ClientModel::Queue];
        let pages = given.number("page_bytes", 512..=65_536)?;
        if let Some(bytes) = pages.filter(|bytes| !bytes.is_power_of_two()) {
            return Err(not_honoured(format!(
                "page_bytes={bytes}, since SQLite's pages are powers of two"
            )));
        }
        let small = |number: Option<u64>, default| number.map_or(default, |number| number as u32);
        let timeout = given.number("busy_timeout_ms", 0..=60_000)?;
        let cache = given.number("cache_kib", 1..=1 << 30)?;
        let checkpoint = given.number("checkpoint_pages", 1..=1_000_000_000)?;
        let client = given.word("client", &models, ClientModel::word)?.unwrap_or(defaults.client);
        let locking =
            given.word("locking_mode", &Locking::ALL, Locking::word)?.unwrap_or(defaults.locking);
        if locking == Locking::Exclusive && client != ClientModel::Queue {
            return Err(not_honoured(
                "locking_mode=exclusive without client=queue: the first connection would lock out all others"
                    .to_owned(),
            ));
        }
        Ok(Settings {
            client,
            locking,
            synchronous: synchronous(given, journal)?,
            journal,
            wait: given.word("wait", &Wait::ALL, Wait::word)?.unwrap_or(defaults.wait),
            busy_timeout_ms: small(timeout, defaults.busy_timeout_ms),
            page_bytes: small(pages, defaults.page_bytes),
            cache_kib: cache.map(|kib| kib as u32),
            checkpoint_pages: small(checkpoint, defaults.checkpoint_pages),
        })
    }
}

fn synchronous(given: &OptionArgs<'_>, journal: Journal) -> Result<Synchronous, Error> {
    let word = |level: Synchronous| -> &'static str {
        match level {
            Synchronous::Off => "off",
            Synchronous::Normal => "normal",
            Synchronous::Full => "full",
            Synchronous::Extra => "extra",
        }
    };
    let durability = given.word("durability", &Durability::ALL, Durability::word)?;
    let asked = given.word("synchronous", &Synchronous::ALL, word)?;
    if asked == Some(Synchronous::Normal) && !matches!(journal, Journal::Wal | Journal::Memory) {
        return Err(not_honoured(format!(
            "synchronous=normal with journal={}: there it is neither os nor data; with journal=wal it syncs no \
             commit",
            journal.word()
        )));
    }
    let level = match (asked, durability) {
        (Some(level), _) => level,
        (None, Some(Durability::Os)) => Synchronous::Off,
        (None, Some(Durability::Full)) => Synchronous::Extra,
        (None, _) => Synchronous::Full,
    };
    let gives = level.durability(journal.word());
    match durability {
        Some(Durability::None) if gives != Durability::None => Err(not_honoured(
            "durability=none: it always hands its writes to the operating system; the least is os, or none with \
             journal=memory"
                .to_owned(),
        )),
        Some(wanted) if wanted != gives => Err(not_honoured(format!(
            "durability={}: synchronous={} with journal={} gives {}",
            wanted.word(),
            word(level),
            journal.word(),
            gives.word()
        ))),
        _ => Ok(level),
    }
}

fn not_honoured(what: String) -> Error {
    Error::NotHonoured { target: LISTING.name, what }
}
