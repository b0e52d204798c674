//! What a child process is told, and what it answers. One JSON object a line, over its standard input
//! and output.

use super::transaction_load::ClientState;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use syncline_instrument::Nanos;

/// What a child does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "task")]
pub(super) enum Task {
    /// Makes the store with its tables and tallies, closes it and ends.
    Prepare {
        /// The target's URL.
        url: String,
        /// How many tallies.
        clients: i64,
        /// Long events that nobody touches.
        ballast: i64,
    },
    /// Performs transactions until it is killed or each client has failed.
    Work {
        /// The target's URL.
        url: String,
        /// How many at once.
        clients: i64,
        /// Where each acknowledgement is written.
        acknowledgements: PathBuf,
    },
    /// Makes the store with the table of lists, closes it and ends.
    MakeLists {
        /// The target's URL.
        url: String,
    },
    /// Appends to lists and reads them until it is killed or each client has failed.
    Append {
        /// The target's URL.
        url: String,
        /// How many at once.
        clients: i64,
        /// The seed of what is asked for.
        seed: u64,
        /// Where what is asked for and answered is written, in Elle's form.
        history: PathBuf,
    },
    /// Opens the store, lets it recover, and reads every list below a key.
    ReadLists {
        /// The target's URL.
        url: String,
        /// That key.
        keys: i64,
    },
    /// Opens the store, lets it recover, and says what is there.
    Look {
        /// The target's URL.
        url: String,
        /// How many tallies there are.
        clients: i64,
    },
}

/// What a child says of one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// The store was made.
    Prepared(Settings),
    /// Every client has failed; why the first did.
    Stopped(String),
    /// The store could not be opened.
    NotOpened(String),
    /// The store is open and a read failed.
    Unreadable(String),
    /// What is there.
    Seen(Seen),
    /// Every list, by key.
    Lists(Vec<Vec<i64>>),
}

impl Answer {
    /// The same, with what it says in words put otherwise.
    pub(super) fn in_words(self, put: impl Fn(String) -> String) -> Answer {
        match self {
            Answer::Stopped(why) => Answer::Stopped(put(why)),
            Answer::NotOpened(why) => Answer::NotOpened(put(why)),
            Answer::Unreadable(why) => Answer::Unreadable(put(why)),
            Answer::Seen(mut seen) => {
                let damage = seen.damage.map(|found| found.into_iter().map(put).collect());
                seen.damage = damage;
                Answer::Seen(seen)
            }
            other @ (Answer::Prepared(_) | Answer::Lists(_)) => other,
        }
    }
}

/// What a store says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The product: "SQLite".
    pub product: String,
    /// Its version.
    pub version: String,
    /// The word for its durability.
    pub durability: String,
    /// Why that word is true.
    pub evidence: String,
    /// The isolation in force, in words; empty in records of before it was asked for.
    #[serde(default)]
    pub isolation: String,
}

/// What was read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Of each client.
    pub(super) clients: Vec<ClientState>,
    /// What the store's own check found; none if it offers none.
    pub(super) damage: Option<Vec<String>>,
}

/// An acknowledgement: client, transaction, and when it was heard by the clock of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChildReport {
    pub(super) client: i64,
    pub(super) number: i64,
    pub(super) at: Nanos,
}

/// Bytes of an acknowledgement.
const BYTES: usize = 24;

impl ChildReport {
    /// As it is written.
    pub(super) fn bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.client.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..].copy_from_slice(&self.at.to_le_bytes());
        bytes
    }
}

/// Takes acknowledgements apart; a last one that is cut off is none.
pub(super) fn acknowledgements(bytes: &[u8]) -> impl Iterator<Item = ChildReport> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, i64::from_le_bytes);
    bytes.chunks_exact(BYTES).map(move |bytes| ChildReport {
        client: number(&bytes[..8]),
        number: number(&bytes[8..16]),
        at: number(&bytes[16..]) as Nanos,
    })
}
