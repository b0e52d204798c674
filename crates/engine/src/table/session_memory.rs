//! The reusable buffers of a typed session, and the names of the tables that it uses.

use crate::access::btree::prefetch::PrefetchTarget;
use crate::access::key::ByteRange;
use crate::access::row::Entries;
use crate::conflict::Conflict;
use crate::error::{Error, Result};
use crate::ids::TreeId;
use crate::origin::Origin;
use crate::table::handle::{Part, Table};
use crate::txn::check_not_in_row_view;
use std::sync::Arc;

/// Maximum tables remembered; then the list is cleared at the next begin.
const TABLES_MAX: usize = 64;

/// Buffers and tables of one session.
pub(super) struct Memory {
    /// The database that tables must belong to.
    origin: Arc<Origin>,
    /// The key of the current row, and its decoded form.
    pub(super) key: Vec<u8>,
    pub(super) plain: Vec<u8>,
    /// The new row, and its key's decoded form.
    pub(super) row: Vec<u8>,
    pub(super) plain_new: Vec<u8>,
    /// The old row.
    pub(super) old: Vec<u8>,
    pub(super) patch: Vec<u8>,
    pub(super) entries: Entries,
    pub(super) range: ByteRange,
    /// Primary keys from index entries, one after another, and where each ends.
    pub(super) keys: Vec<u8>,
    pub(super) key_ends: Vec<usize>,
    /// The leaves of those rows, if they were prefetched.
    pub(super) ahead: Vec<PrefetchTarget>,
    /// The last index entry that was read, and the one before the current entries.
    pub(super) last_entry: Vec<u8>,
    pub(super) from_entry: Vec<u8>,
    /// The tables used by this session's transactions; refusals name them. Each belongs to `origin`.
    tables: Vec<Table>,
}

impl Memory {
    pub(super) fn new(origin: &Arc<Origin>) -> Memory {
        Memory {
            origin: Arc::clone(origin),
            key: Vec::new(),
            plain: Vec::new(),
            row: Vec::new(),
            plain_new: Vec::new(),
            old: Vec::new(),
            patch: Vec::new(),
            entries: Entries::default(),
            range: ByteRange::default(),
            keys: Vec::new(),
            key_ends: Vec::new(),
            ahead: Vec::new(),
            last_entry: Vec::new(),
            from_entry: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// Prepares for the next transaction.
    #[inline]
    pub(super) fn begin(&mut self) {
        if self.tables.len() > TABLES_MAX {
            self.tables.clear();
        }
    }

    /// Remembers a table. Fails if its handle is stale or of another database.
    #[inline]
    pub(super) fn touch(&mut self, table: &Table) -> Result<()> {
        check_not_in_row_view()?;
        // A remembered table was checked, and no other handle can have its address while it is remembered.
        if !self.tables.iter().any(|known| known.is_clone_of(table)) {
            self.remember(table)?;
        }
        table.check()
    }

    #[cold]
    fn remember(&mut self, table: &Table) -> Result<()> {
        self.check_origin(table)?;
        if !self.tables.iter().any(|known| known.is(table)) {
            self.tables.push(table.clone());
        }
        Ok(())
    }

    /// Fails if the table belongs to another database.
    #[inline]
    pub(super) fn check_origin(&self, table: &Table) -> Result<()> {
        table.check_origin(&self.origin)
    }

    /// Copies the key at a position of `keys` into `key`.
    pub(super) fn take_key(&mut self, position: usize) {
        let start = position.checked_sub(1).map_or(0, |before| self.key_ends[before]);
        self.key.clear();
        self.key.extend_from_slice(&self.keys[start..self.key_ends[position]]);
    }

    /// An error of the session, with names of tables and indexes instead of tree numbers.
    #[cold]
    pub(super) fn named(&self, error: Error) -> Error {
        let names = |tree| self.names(tree);
        let named = match &error {
            Error::Duplicate { tree, .. } => {
                names(*tree).map(|(table, index)| Error::DuplicateKey { table, index })
            }
            // An entry is deleted only after its row was read. If it is missing, the transaction itself
            // blindly let another row take its key, and then deleted that row.
            Error::Absent { tree, .. } => names(*tree).map(|(table, index)| match index {
                None => Error::NoRow { table },
                index => Error::DuplicateKey { table, index },
            }),
            Error::Patch { tree, failure, .. } => {
                names(*tree).map(|(table, _)| Error::Unfit { table, failure: *failure })
            }
            Error::Conflict(Conflict::Dropped) => {
                self.stale().map(|table| Error::TableChanged { table })
            }
            _ => None,
        };
        named.unwrap_or(error)
    }

    /// The name of a used table whose handle is stale.
    fn stale(&self) -> Option<String> {
        let stale = self.tables.iter().find(|table| table.is_stale());
        stale.map(|table| table.name().to_owned())
    }

    fn names(&self, tree: TreeId) -> Option<(String, Option<String>)> {
        self.tables.iter().find_map(|table| {
            let index = match table.part(tree)? {
                Part::Rows => None,
                Part::Index(name) => Some(name.to_owned()),
            };
            Some((table.name().to_owned(), index))
        })
    }
}
