//! What a store can do, as data, so that a run is refused before it starts and not in its middle.

/// What "committed" promises, in one word for all stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing: it may live in memory only.
    None,
    /// Handed to the operating system: survives the process, not a power cut.
    Os,
    /// Data synced.
    Data,
    /// Data and all metadata synced.
    Full,
}

impl Durability {
    /// Every level, weakest first.
    pub const ALL: [Durability; 4] =
        [Durability::None, Durability::Os, Durability::Data, Durability::Full];

    /// The word in URLs, options, tables and records.
    pub fn word(self) -> &'static str {
        match self {
            Durability::None => "none",
            Durability::Os => "os",
            Durability::Data => "data",
            Durability::Full => "full",
        }
    }

    /// The level of that word.
    pub fn from_word(word: &str) -> Option<Durability> {
        Durability::ALL.into_iter().find(|level| level.word() == word)
    }

    /// True if a commit waits for a sync.
    pub fn syncs(self) -> bool {
        self >= Durability::Data
    }
}

/// How far transactions are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isolation {
    /// The store claims nothing.
    NoneClaimed,
    /// No dirty writes or reads.
    ReadCommitted,
    /// What was read stays as it was.
    RepeatableRead,
    /// Reads from one snapshot, first committer wins.
    Snapshot,
    /// As if one after another.
    Serializable,
}

impl Isolation {
    /// The words in tables and records.
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

/// How clients reach the store; ratios in headlines compare equal models only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientModel {
    /// A thread a client: the store blocks its caller.
    Threads,
    /// Many clients a thread: the store answers through futures.
    Futures,
    /// Many clients a thread, whose transactions share one connection and one commit.
    Queue,
}

impl ClientModel {
    /// The word in URLs, tables and records.
    pub fn word(self) -> &'static str {
        match self {
            ClientModel::Threads => "threads",
            ClientModel::Futures => "futures",
            ClientModel::Queue => "queue",
        }
    }
}

/// What a store, as opened, can do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each ability stands alone; none excludes another"
)]
pub struct Capabilities {
    /// How its clients run.
    pub client_model: ClientModel,
    /// The most workers it allows (a queue has one); none if it sets no limit.
    pub workers_max: Option<usize>,
    /// The most clients it allows; none if it sets no limit.
    pub clients_max: Option<usize>,
    /// True if it keeps rows; the null target does not, and its checks are not applicable.
    pub keeps_rows: bool,
    /// True if an abort undoes what a transaction wrote.
    pub aborts: bool,
    /// True if it can scan a range in key order.
    pub scans: bool,
    /// True if it has secondary indexes.
    pub indexes: bool,
    /// True if it can join two tables in one operation.
    pub joins: bool,
    /// True if it can aggregate in one operation.
    pub aggregates: bool,
    /// True if it can count up a table's key.
    pub keys_by_server: bool,
    /// True if [`Session::load`](crate::Session::load) works.
    pub loads: bool,
    /// True if rows can stay for a later run: [`Target::reopen`](crate::Target::reopen) and
    /// [`Target::keep`](crate::Target::keep) work.
    pub reopens: bool,
    /// True if what does not wait for one another's answer travels together where the plan says so
    /// ([`Plan::pipeline`](crate::Plan::pipeline)); a store of calls has no round trips to share.
    pub pipelines: bool,
    /// The dialect of the statements that a user may bring (`Action::Statement`): "sqlite"; none if it
    /// takes none.
    pub statements: Option<&'static str>,
    /// True if it sends them by every [`Protocol`](crate::Protocol); false if it prepares them always.
    pub protocols: bool,
}

impl Capabilities {
    /// A blocking store of points and inserts, the least a target may be: switch on what more it does.
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
