//! The abilities of a store as data, so that an unsuitable run is refused before it starts.

crate::words! {
    /// The guarantee of a commit, on one scale for all stores.
    #[derive(Hash, PartialOrd, Ord)]
    pub enum Durability {
        /// None: the data may be in memory only.
        None = "none",
        /// Handed to the operating system: survives a process kill, not a power loss.
        Os = "os",
        /// Data synced.
        Data = "data",
        /// Data and all metadata synced.
        Full = "full",
    }
}

impl Durability {
    /// The level with this name.
    pub fn from_word(word: &str) -> Option<Durability> {
        Durability::ALL.into_iter().find(|level| level.word() == word)
    }

    /// True if a commit waits for a sync.
    pub fn syncs(self) -> bool {
        self >= Durability::Data
    }
}

/// How strictly transactions are isolated from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isolation {
    /// The store claims no level.
    NoneClaimed,
    /// No dirty writes or reads.
    ReadCommitted,
    /// A value that was read does not change within the transaction.
    RepeatableRead,
    /// Reads from one snapshot, first committer wins.
    Snapshot,
    /// The result equals that of some serial order.
    Serializable,
}

impl Isolation {
    /// The name in tables and records.
    pub fn words(self) -> &'static str {
        match self {
            Isolation::NoneClaimed => "none claimed",
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Snapshot => "snapshot",
            Isolation::Serializable => "serializable",
        }
    }
}

crate::words! {
    /// How clients reach the store. Headline ratios only compare targets with the same model.
    #[derive(Hash)]
    pub enum ClientModel {
        /// One thread per client: the store blocks its caller.
        Threads = "threads",
        /// Many clients per thread: the store answers through futures.
        Futures = "futures",
        /// Many clients per thread; their transactions share one connection and one commit.
        Queue = "queue",
    }
}

/// The abilities of a store, as opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "the abilities are independent of each other")]
pub struct Capabilities {
    /// How its clients run.
    pub client_model: ClientModel,
    /// The most workers that it allows (a queue has one); none if there is no limit.
    pub workers_max: Option<usize>,
    /// The most clients that it allows; none if there is no limit.
    pub clients_max: Option<usize>,
    /// True if it keeps rows. The null target does not, so checks do not apply to it.
    pub keeps_rows: bool,
    /// True if an abort rolls back the transaction's writes.
    pub aborts: bool,
    /// True if it can scan a range in key order.
    pub scans: bool,
    /// True if it has secondary indexes.
    pub indexes: bool,
    /// True if it can join two tables in one operation.
    pub joins: bool,
    /// True if it can aggregate in one operation.
    pub aggregates: bool,
    /// True if it can generate the keys of a table by counting up.
    pub keys_by_server: bool,
    /// True if it supports [`Session::load`](crate::Session::load).
    pub loads: bool,
    /// True if rows can be kept for a later run: it supports [`Target::reopen`](crate::Target::reopen) and
    /// [`Target::keep`](crate::Target::keep).
    pub reopens: bool,
    /// True if independent operations share a round trip where the plan permits it
    /// ([`Plan::pipeline`](crate::Plan::pipeline)); an embedded store has no round trips to share.
    pub pipelines: bool,
    /// The SQL dialect of user statements (`Action::Statement`), "sqlite"; none if it takes no such
    /// statements.
    pub statements: Option<&'static str>,
    /// True if it sends them by every [`Protocol`](crate::Protocol); false if it always prepares them.
    pub protocols: bool,
}

impl Capabilities {
    /// The minimum: a blocking store with point operations and inserts. Enable further abilities as needed.
    pub fn least() -> Capabilities {
        Capabilities {
            client_model: ClientModel::Threads,
            workers_max: None,
            clients_max: None,
            keeps_rows: true,
            aborts: true,
            scans: false,
            indexes: false,
            joins: false,
            aggregates: false,
            keys_by_server: false,
            loads: false,
            reopens: false,
            pipelines: false,
            statements: None,
            protocols: false,
        }
    }
}
