//! A history of transactions over lists: who asked for what and when, what was answered, how it ended.
//!
//! Every value is appended to a key at most once in a history, so that a list read back tells in which
//! order its values came, hence which transaction wrote what before whom.

use std::collections::BTreeMap;

/// One operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A value at the end of a key's list.
    Append {
        /// The key.
        key: i64,
        /// The value, unique for the key.
        value: i64,
    },
    /// A key's list; none where it was never answered.
    Read {
        /// The key.
        key: i64,
        /// Its values, oldest first.
        values: Option<Vec<i64>>,
    },
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It committed.
    Committed,
    /// It certainly did not.
    Failed,
    /// Not known.
    Unknown,
}

/// A transaction. Moments are positions in the history's order of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Which client; one that does not know how a transaction ended asks for nothing more.
    pub process: i64,
    /// When it was asked for.
    pub invoked: usize,
    /// When its ending was known; none if it never was.
    pub completed: Option<usize>,
    /// How it ended.
    pub ending: Ending,
    /// What it did, in order.
    pub operations: Vec<Operation>,
}

/// All transactions, in the order in which they were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// See the type.
    pub transactions: Vec<Transaction>,
}

impl History {
    /// How many ended so.
    pub fn count(&self, ending: Ending) -> usize {
        let ended = |one: &&Transaction| one.ending == ending;
        self.transactions.iter().filter(ended).count()
    }

    /// The committed transactions of each client, in order.
    pub(super) fn sessions(&self) -> BTreeMap<i64, Vec<usize>> {
        let mut sessions: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (number, transaction) in self.transactions.iter().enumerate() {
            if transaction.ending == Ending::Committed {
                sessions.entry(transaction.process).or_default().push(number);
            }
        }
        sessions
    }
}
