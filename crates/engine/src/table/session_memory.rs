//! What a typed session works with: buffers that are used again, and the names of what it touches.

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

/// So many tables are remembered; then it begins anew with the next transaction.
const TABLES_MAX: usize = 64;

/// See the module.
pub(super) struct Memory {
    /// What tables must belong to.
    origin: Arc<Origin>,
    /// The key of the row at hand, and what it unfolds to.
    pub(super) key: Vec<u8>,
    pub(super) plain: Vec<u8>,
    /// The row as it shall be, and what its key unfolds to.
    pub(super) row: Vec<u8>,
    pub(super) plain_new: Vec<u8>,
    /// The row as it was.
    pub(super) old: Vec<u8>,
    pub(super) patch: Vec<u8>,
    pub(super) entries: Entries,
    pub(super) range: ByteRange,
    /// Primary keys that index entries led to, one behind the other, and where each ends.
    pub(super) keys: Vec<u8>,
    pub(super) key_ends: Vec<usize>,
    /// Where those rows are, if that was found out beforehand.
    pub(super) ahead: Vec<PrefetchTarget>,
    /// The index entry that was read last, and the one before the entries at hand.
    pub(super) last_entry: Vec<u8>,
    pub(super) from_entry: Vec<u8>,
    /// The tables that were touched, from transaction to transaction: refusals name them. Each belongs to
    /// `origin`.
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
    pub(super) fn begin(&mut self) {
        if self.tables.len() > TABLES_MAX {
            self.tables.clear();
        }
    }

    /// Remembers a table; fails if its handle is no longer good, or of another database.
    #[inline]
    pub(super) fn touch(&mut self, table: &Table) -> Result<()> {
        check_not_in_row_view()?;
        // One that is remembered was looked at, and its memory is no other handle's while it is.
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

    /// Fails if the table is of another database.
    #[inline]
    pub(super) fn check_origin(&self, table: &Table) -> Result<()> {
        table.check_origin(&self.origin)
    }

    /// An error of the session, with the names of tables and indexes in place of numbers of trees.
    #[cold]
    pub(super) fn named(&self, error: Error) -> Error {
        let names = |tree| self.names(tree);
        let named = match &error {
            Error::Duplicate { tree, .. } => {
                names(*tree).map(|(table, index)| Error::DuplicateKey { table, index })
            }
            // An entry is deleted only after its row was read. If it is not there, the transaction
            // itself had let another row take its place, blindly, and had then deleted that.
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

    /// The name of a table that was touched and whose handle is no longer good.
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
