//! A history of transactions over lists: requests, their order, the answers and the endings.
//!
//! A value is appended to a key at most once in a history, so a list that is read shows the order of its
//! values, and thereby which transaction's write preceded which.

use std::collections::BTreeMap;

/// One operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Appends a value to a key's list.
    Append {
        /// The key.
        key: i64,
        /// The value, unique for the key.
        value: i64,
    },
    /// Reads a key's list.
    Read {
        /// The key.
        key: i64,
        /// Its values, oldest first; none if there was no answer.
        values: Option<Vec<i64>>,
    },
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// It committed.
    Committed,
    /// It certainly did not commit.
    Failed,
    /// Unknown.
    Unknown,
}

/// A transaction. Times are positions in the history's order of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The client; a client that does not know how a transaction ended makes no further requests.
    pub process: i64,
    /// When it was requested.
    pub invoked: usize,
    /// When its ending was known; none if it never was.
    pub completed: Option<usize>,
    /// How it ended.
    pub ending: TransactionStatus,
    /// Its operations, in order.
    pub operations: Vec<Operation>,
}

/// All transactions, in the order of their requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The transactions.
    pub transactions: Vec<Transaction>,
}

impl History {
    /// Number of transactions with this ending.
    pub fn count(&self, ending: TransactionStatus) -> usize {
        let ended = |one: &&Transaction| one.ending == ending;
        self.transactions.iter().filter(ended).count()
    }

    /// The committed transactions of each client, in order.
    pub(crate) fn sessions(&self) -> BTreeMap<i64, Vec<usize>> {
        let mut sessions: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (number, transaction) in self.transactions.iter().enumerate() {
            if transaction.ending == TransactionStatus::Committed {
                sessions.entry(transaction.process).or_default().push(number);
            }
        }
        sessions
    }
}
