//! Why a transaction must be run again.

use std::fmt;

/// Why a transaction must be run again. The transaction itself is correct: another one was in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Conflict {
    /// A row to be written was locked by the commit of another transaction for longer than this one waits.
    Locked,
    /// A row that was read has been changed by another transaction.
    ReadChanged,
    /// Under snapshot isolation: a row to be written was changed after the transaction began.
    WriteChanged,
    /// A row appeared in or disappeared from a range that was read, or appeared under a key that was absent.
    Phantom,
    /// A row was read whose commit waits to be published until earlier ones are.
    ReadPoint,
    /// A table that was used has been dropped or replaced.
    Dropped,
    /// The memory for old versions was full, and this was the oldest transaction that needed them.
    SnapshotTooOld,
    /// A table or an index that was used was made after the transaction's read point, so it did not exist
    /// there; reading it as empty would be wrong.
    MadeLater,
}

impl Conflict {
    /// Every cause, in the order in which statistics name them.
    pub const ALL: [Conflict; 8] = [
        Conflict::Locked,
        Conflict::ReadChanged,
        Conflict::WriteChanged,
        Conflict::Phantom,
        Conflict::ReadPoint,
        Conflict::Dropped,
        Conflict::SnapshotTooOld,
        Conflict::MadeLater,
    ];

    /// The word in records and tables.
    pub fn word(self) -> &'static str {
        match self {
            Conflict::Locked => "locked",
            Conflict::ReadChanged => "read-changed",
            Conflict::WriteChanged => "write-changed",
            Conflict::Phantom => "phantom",
            Conflict::ReadPoint => "read-point",
            Conflict::Dropped => "dropped",
            Conflict::SnapshotTooOld => "snapshot-too-old",
            Conflict::MadeLater => "made-later",
        }
    }

    /// Its position in [`Conflict::ALL`].
    #[inline]
    pub(crate) fn index(self) -> usize {
        Conflict::ALL.iter().position(|&cause| cause == self).expect("the list holds every cause")
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Conflict::Locked => "a row to be written was locked by another commit",
            Conflict::ReadChanged => "a row that was read has changed",
            Conflict::WriteChanged => "a row to be written has changed since the begin",
            Conflict::Phantom => "rows have appeared in or disappeared from a range that was read",
            Conflict::ReadPoint => "a row was read whose commit waits for an earlier one",
            Conflict::Dropped => "a table that was used has been dropped or replaced",
            Conflict::SnapshotTooOld => {
                "the memory for old versions was full; shorten the transaction or raise the cap"
            }
            Conflict::MadeLater => {
                "a table or an index that was used was made after the transaction's read point"
            }
        })
    }
}
