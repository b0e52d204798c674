//! The tasks and answers of a child process: one JSON object per line, over its standard input and output.

use super::transaction_load::ClientState;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use syncline_instrument::Nanos;

/// A task for a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "task")]
pub(super) enum Task {
    /// Makes the store with its tables and tallies, then closes it.
    Prepare {
        /// The target's URL.
        url: String,
        /// Number of tallies.
        clients: i64,
        /// Number of long events that no client touches.
        ballast: i64,
    },
    /// Performs transactions until the child is killed or every client has failed.
    Work {
        /// The target's URL.
        url: String,
        /// Number of concurrent clients.
        clients: i64,
        /// The file that receives each acknowledgement.
        acknowledgements: PathBuf,
    },
    /// Makes the store with the table of lists, then closes it.
    MakeLists {
        /// The target's URL.
        url: String,
    },
    /// Appends to lists and reads them until the child is killed or every client has failed.
    Append {
        /// The target's URL.
        url: String,
        /// Number of concurrent clients.
        clients: i64,
        /// Seed of the operations.
        seed: u64,
        /// The file that receives the history, in Elle's format.
        history: PathBuf,
    },
    /// Opens the store, which recovers, and reads the lists of all keys below `keys`.
    ReadLists {
        /// The target's URL.
        url: String,
        /// The upper bound of the keys.
        keys: i64,
    },
    /// Opens the store, which recovers, and reads everything back.
    Inspect {
        /// The target's URL.
        url: String,
        /// Number of tallies.
        clients: i64,
    },
}

/// The result of one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// The store was made.
    Prepared(Settings),
    /// Every client has failed; the text says why the first did.
    Stopped(String),
    /// The store could not be opened; the text says why.
    NotOpened(String),
    /// The store is open, but a read failed; the text says why.
    Unreadable(String),
    /// The rows that were read back.
    StoreState(StoreState),
    /// Every list, by key.
    Lists(Vec<Vec<i64>>),
}

impl Answer {
    /// The same answer with its texts mapped by `put`.
    pub(super) fn in_words(self, put: impl Fn(String) -> String) -> Answer {
        match self {
            Answer::Stopped(why) => Answer::Stopped(put(why)),
            Answer::NotOpened(why) => Answer::NotOpened(put(why)),
            Answer::Unreadable(why) => Answer::Unreadable(put(why)),
            Answer::StoreState(mut state) => {
                let damage = state.damage.map(|lines| lines.into_iter().map(put).collect());
                state.damage = damage;
                Answer::StoreState(state)
            }
            other @ (Answer::Prepared(_) | Answer::Lists(_)) => other,
        }
    }
}

/// The settings that a store reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The product: "SQLite".
    pub product: String,
    /// Its version.
    pub version: String,
    /// The durability level.
    pub durability: String,
    /// How the level is known.
    pub evidence: String,
    /// The isolation in force, in words; empty in old records.
    #[serde(default)]
    pub isolation: String,
}

/// The state that was read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoreState {
    /// The state of each client's rows.
    pub(super) clients: Vec<ClientState>,
    /// Damage found by the store's own check; none if it has no check.
    pub(super) damage: Option<Vec<String>>,
}

/// An acknowledgement: client, transaction, and the time at which the client received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChildReport {
    pub(super) client: i64,
    pub(super) number: i64,
    pub(super) at: Nanos,
}

/// Length of an encoded acknowledgement.
const BYTES: usize = 24;

impl ChildReport {
    /// Encodes the acknowledgement.
    pub(super) fn bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.client.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..].copy_from_slice(&self.at.to_le_bytes());
        bytes
    }
}

/// Decodes acknowledgements; ignores a truncated last one.
pub(super) fn acknowledgements(bytes: &[u8]) -> impl Iterator<Item = ChildReport> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, i64::from_le_bytes);
    bytes.chunks_exact(BYTES).map(move |bytes| ChildReport {
        client: number(&bytes[..8]),
        number: number(&bytes[8..16]),
        at: number(&bytes[16..]) as Nanos,
    })
}
