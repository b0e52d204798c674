//! The row log: the changed rows of one table while an index of it is being built.
//!
//! The builder reads rows at snapshots and writes their index entries; concurrent commits do not know the
//! index. So each commit that changes a row of the table appends the row's key here, with the entry that the
//! row had before. An entry that the builder has written, from any snapshot, is the old entry of the first
//! change after that snapshot, so it is in the log once that change is.
//!
//! Invariants:
//! 1. The log is installed and removed with the gate closed: each section sees it from its beginning to
//!    its end, or not at all.
//! 2. The changes of a commit are in the log when its section ends. So with the gate closed the log
//!    holds every change that the builder has not drained.
//! 3. Entries are computed when the row is locked, and appended after the commit is published, within the
//!    section; a commit that fails appends nothing.
//! 4. The log is bounded: beyond a number of bytes, commits that change the table wait for the builder
//!    before they enter their section, holding nothing. Commits under way may exceed the bound.

use crate::ids::{Csn, TreeId};
use crate::sync::rank::{GATE, ROW_LOG};
use crate::sync::ranked::{Condvar, Mutex};
use std::fmt;

/// Appends to the last argument the index entry of a row, given its key and value. Returns false if the row
/// cannot be read.
pub(crate) type EntryOf = dyn Fn(&[u8], &[u8], &mut Vec<u8>) -> bool + Send + Sync;

/// The length of an absent entry.
const NO_ENTRY: u32 = u32::MAX;

/// Bytes before a record's key and entry: the length of each.
const HEAD_BYTES: usize = 8;

/// The log of one table.
pub(crate) struct RowLog {
    tree: TreeId,
    entry_of: Box<EntryOf>,
    state: Mutex<State, ROW_LOG>,
    taken: Condvar,
}

#[derive(Default)]
struct State {
    records: Vec<u8>,
    newest: Csn,
    bytes_max: usize,
    is_abandoned: bool,
}

impl RowLog {
    /// A log for the table whose rows are in that tree; writers wait when it is longer than `bytes_max`.
    pub(crate) fn new(tree: TreeId, bytes_max: usize, entry_of: Box<EntryOf>) -> RowLog {
        RowLog {
            tree,
            entry_of,
            state: Mutex::new(State { bytes_max, ..State::default() }),
            taken: Condvar::new(),
        }
    }

    pub(super) fn is_of(&self, tree: TreeId) -> bool {
        self.tree == tree
    }

    /// Adds the record of a change to those of its commit. `old` is the old row, if there was one.
    #[cold]
    pub(super) fn note(&self, records: &mut Vec<u8>, key: &[u8], old: Option<&[u8]>) {
        let start = records.len();
        records.extend_from_slice(&(key.len() as u32).to_le_bytes());
        records.extend_from_slice(&NO_ENTRY.to_le_bytes());
        records.extend_from_slice(key);
        let end = records.len();
        // The builder fails at an unreadable row, so it has written no entry of it.
        if old.is_some_and(|old| (self.entry_of)(key, old, records)) {
            let entry_bytes = (records.len() - end) as u32;
            records[start + 4..start + HEAD_BYTES].copy_from_slice(&entry_bytes.to_le_bytes());
        } else {
            records.truncate(end);
        }
    }

    /// Appends the records of a published commit, within its section.
    #[cold]
    pub(super) fn append(&self, csn: Csn, records: &[u8]) {
        let mut state = self.state.lock();
        if state.is_abandoned {
            return;
        }
        state.records.extend_from_slice(records);
        state.newest = state.newest.max(csn);
    }

    /// Waits while the log is full, outside a section.
    #[cold]
    pub(super) fn wait_for_space(&self) {
        let mut state = self.state.lock();
        while state.is_full() {
            self.taken.wait(&mut state, GATE);
        }
    }

    /// True if a commit that changes the table would wait; for tests on one thread.
    #[cfg(test)]
    pub(super) fn is_full(&self) -> bool {
        self.state.lock().is_full()
    }

    /// Bytes of records that wait for the builder.
    pub(crate) fn bytes(&self) -> usize {
        self.state.lock().records.len()
    }

    /// Changes the length beyond which writers wait.
    pub(crate) fn set_bytes_max(&self, bytes_max: usize) {
        self.state.lock().bytes_max = bytes_max;
        self.taken.notify_all();
    }

    /// Takes all records, in exchange for an emptied buffer. Returns the newest commit among them.
    pub(crate) fn take(&self, records: &mut Vec<u8>) -> Csn {
        records.clear();
        let mut state = self.state.lock();
        std::mem::swap(&mut state.records, records);
        let newest = state.newest;
        drop(state);
        self.taken.notify_all();
        newest
    }

    /// True if the build has ended without taking the rest.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.state.lock().is_abandoned
    }

    /// The build has ended: no records are collected any more, and no writer waits.
    pub(crate) fn abandon(&self) {
        self.state.lock().is_abandoned = true;
        self.taken.notify_all();
    }
}

impl State {
    fn is_full(&self) -> bool {
        !self.is_abandoned && self.records.len() > self.bytes_max
    }
}

impl fmt::Debug for RowLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowLog({})", self.tree)
    }
}

/// A row that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowChange<'r> {
    pub(crate) key: &'r [u8],
    /// The row's index entry before the change, if there was a row.
    pub(crate) old: Option<&'r [u8]>,
}

/// The changes in drained records.
pub(crate) fn row_changes(mut records: &[u8]) -> impl Iterator<Item = RowChange<'_>> {
    std::iter::from_fn(move || {
        let (key_bytes, rest) = records.split_first_chunk()?;
        let (entry_bytes, rest) = rest.split_first_chunk()?;
        let (key_bytes, entry_bytes) =
            (u32::from_le_bytes(*key_bytes), u32::from_le_bytes(*entry_bytes));
        let (key, rest) = rest.split_at(key_bytes as usize);
        let has_entry = entry_bytes != NO_ENTRY;
        let (entry, rest) = rest.split_at(if has_entry { entry_bytes as usize } else { 0 });
        records = rest;
        let old = has_entry.then_some(entry);
        Some(RowChange { key, old })
    })
}

#[cfg(test)]
mod tests {
    use super::{RowChange, RowLog, row_changes};
    use crate::ids::{Csn, TreeId};
    use std::sync::Arc;

    fn log(bytes_max: usize) -> RowLog {
        let first_byte = |_key: &[u8], row: &[u8], entry: &mut Vec<u8>| {
            entry.extend(row.first());
            !row.is_empty()
        };
        RowLog::new(TreeId(7), bytes_max, Box::new(first_byte))
    }

    #[test]
    fn changes_come_back_with_the_entries_of_the_rows_before() {
        let log = log(100);
        let mut records = Vec::new();
        log.note(&mut records, b"new", None);
        log.note(&mut records, b"changed", Some(b"xyz"));
        log.note(&mut records, b"unreadable", Some(b""));
        log.append(Csn(9), &records);
        log.append(Csn(8), &[]);
        assert_eq!(log.bytes(), records.len());
        let mut taken = vec![1];
        assert_eq!(log.take(&mut taken), Csn(9));
        let change = |key, old| RowChange { key, old };
        let changes: Vec<_> = row_changes(&taken).collect();
        assert_eq!(
            changes,
            [
                change(b"new".as_slice(), None),
                change(b"changed".as_slice(), Some(b"x".as_slice())),
                change(b"unreadable".as_slice(), None),
            ]
        );
        assert_eq!(log.bytes(), 0);
    }

    #[test]
    fn writers_wait_while_the_log_is_full_until_it_is_taken_or_abandoned() {
        for is_abandoned in [false, true] {
            let log = Arc::new(log(10));
            let mut records = Vec::new();
            log.note(&mut records, b"a key", None);
            log.append(Csn(1), &records);
            let waiter = Arc::clone(&log);
            let waits = std::thread::spawn(move || waiter.wait_for_space());
            if is_abandoned {
                log.abandon();
            } else {
                log.take(&mut records);
            }
            waits.join().unwrap();
        }
    }
}
