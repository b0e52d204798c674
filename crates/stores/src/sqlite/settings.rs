//! The options of a `sqlite:` URL, and the SQLite settings for them.

use crate::error::Error;
use crate::url::Listing;
use syncline_contract::{ClientModel, Durability, OptionArgs, options, words};

words! {
    /// Where SQLite keeps the data to undo or redo a transaction.
    pub enum Journal {
        /// A write-ahead log.
        Wal = "wal",
        /// A rollback journal, unlinked at commit.
        Delete = "delete",
        /// A rollback journal, truncated at commit.
        Truncate = "truncate",
        /// A rollback journal whose header is overwritten at commit.
        Persist = "persist",
        /// A rollback journal in the memory of the process: a kill during a transaction leaves a
        /// damaged database.
        Memory = "memory",
    }
}

words! {
    /// How long a connection keeps the locks of the database file.
    pub enum Locking {
        /// For a transaction.
        Normal = "normal",
        /// From its first transaction until it closes.
        Exclusive = "exclusive",
    }
}

words! {
    /// SQLite's synchronous levels, weakest first.
    pub enum Synchronous {
        /// 0: never syncs.
        Off = "off",
        /// 1: under WAL syncs at checkpoints only.
        Normal = "normal",
        /// 2: syncs at every commit.
        Full = "full",
        /// 3: as full, and the directory after a journal is unlinked.
        Extra = "extra",
    }
}

impl Synchronous {
    /// The number that `PRAGMA synchronous` returns.
    pub fn number(self) -> i64 {
        match self {
            Synchronous::Off => 0,
            Synchronous::Normal => 1,
            Synchronous::Full => 2,
            Synchronous::Extra => 3,
        }
    }

    /// The level with that number.
    pub fn from_number(number: i64) -> Option<Synchronous> {
        Synchronous::ALL.into_iter().find(|level| level.number() == number)
    }

    /// SQLite's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Synchronous::Off => "OFF",
            Synchronous::Normal => "NORMAL",
            Synchronous::Full => "FULL",
            Synchronous::Extra => "EXTRA",
        }
    }

    /// The durability of a commit at that level with that journal. NORMAL is offered under WAL only,
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

words! {
    /// How a connection waits for another connection's lock.
    pub enum Wait {
        /// With SQLite's own handler, which sleeps longer after each attempt, up to 100 ms.
        Sqlite = "sqlite",
        /// With an attempt each millisecond, however long it has waited.
        Even = "even",
    }
}

/// All settings of a URL except the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Threads or a queue.
    pub client: ClientModel,
    /// What a commit waits for.
    pub synchronous: Synchronous,
    /// The journal mode.
    pub journal: Journal,
    /// How long its locks are kept.
    pub locking: Locking,
    /// How a connection waits for a lock.
    pub wait: Wait,
    /// The maximum total wait.
    pub busy_timeout_ms: u32,
    /// The size of a page, in bytes.
    pub page_bytes: u32,
    /// The cache of a connection, in KiB; `None` leaves SQLite's default.
    pub cache_kib: Option<u32>,
    /// Pages in the write-ahead log at which a commit checkpoints.
    pub checkpoint_pages: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::parse(&OptionArgs::none(UrlOptions::LISTING)).expect("the defaults go together")
    }
}

options! {
    /// The options of a `sqlite:` URL.
    #[derive(Debug)]
    struct UrlOptions {
        durability: Durability as "os, data or full; none with journal=memory" = ["data, or what synchronous= and journal= give"],
            "synchronous OFF, FULL or EXTRA";
        synchronous: Synchronous as "off, normal (with journal=wal or memory), full or extra" = ["what durability= asks for"],
            "SQLite's own word; normal syncs at checkpoints, though not at commits";
        journal: Journal = "wal",
            "SQLite's journal mode; with memory a killed process may leave a damaged database";
        locking_mode: Locking as "normal or exclusive, with client=queue" = "normal",
            "keeps the locks of the file for a transaction, or for as long as the connection lasts";
        client: ClientModel as "threads or queue" = "threads",
            "a connection a client, or one for all whose transactions share a commit";
        wait: Wait = "sqlite",
            "waits for locks by SQLite's own growing sleeps, or tries each millisecond";
        busy_timeout_ms: u32 = 5_000 in 0..=60_000,
            "longest wait for a lock, after which a conflict is counted";
        page_bytes: u32 as "a power of two from 512 to 65536" = 4_096 in 512..=65_536,
            "bytes of a page";
        cache_kib: u32 = ["SQLite's own, 2000"] in 1..=1_073_741_824, "page cache of a connection";
        checkpoint_pages: u32 = 1_000 in 1..=1_000_000_000,
            "pages in the write-ahead log at which a commit checkpoints";
    }
}

/// The entry in `syncline list targets`.
pub(crate) const LISTING: &Listing = &Listing {
    name: "sqlite",
    what: "SQLite in this process, one file",
    form: "sqlite:PATH?options, or sqlite?options for a temporary database that is removed",
    options: UrlOptions::LISTING,
};

impl Settings {
    /// From the given options.
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Settings, Error> {
        let chosen = UrlOptions::read(given)?;
        if chosen.client == ClientModel::Futures {
            return Err(given.refuse("client").into());
        }
        if !chosen.page_bytes.is_power_of_two() {
            return Err(not_honoured(format!(
                "page_bytes={}, since the sizes of SQLite's pages are powers of two",
                chosen.page_bytes
            )));
        }
        if chosen.locking_mode == Locking::Exclusive && chosen.client != ClientModel::Queue {
            return Err(not_honoured(
                "locking_mode=exclusive without client=queue: the first connection would lock out all others"
                    .to_owned(),
            ));
        }
        Ok(Settings {
            client: chosen.client,
            locking: chosen.locking_mode,
            synchronous: synchronous(&chosen)?,
            journal: chosen.journal,
            wait: chosen.wait,
            busy_timeout_ms: chosen.busy_timeout_ms,
            page_bytes: chosen.page_bytes,
            cache_kib: chosen.cache_kib,
            checkpoint_pages: chosen.checkpoint_pages,
        })
    }
}

fn synchronous(given: &UrlOptions) -> Result<Synchronous, Error> {
    let UrlOptions { synchronous: asked, durability, journal, .. } = *given;
    if asked == Some(Synchronous::Normal) && !matches!(journal, Journal::Wal | Journal::Memory) {
        return Err(not_honoured(format!(
            "synchronous=normal with journal={}: that is neither os nor data; with journal=wal it does not sync \
             commits",
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
            "durability=none: SQLite always passes its writes to the operating system; use os, or none with \
             journal=memory"
                .to_owned(),
        )),
        Some(wanted) if wanted != gives => Err(not_honoured(format!(
            "durability={}: synchronous={} with journal={} gives {}",
            wanted.word(),
            level.word(),
            journal.word(),
            gives.word()
        ))),
        _ => Ok(level),
    }
}

fn not_honoured(what: String) -> Error {
    Error::NotHonoured { target: LISTING.name, what }
}
