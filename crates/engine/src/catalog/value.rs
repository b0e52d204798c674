//! The catalogue in memory: lookups by name, and the rows of tree 1 that a change affects.

use super::codec;
use super::table::{ObjectId, State, TableEntry};
use crate::access::schema::Index;
use crate::error::{Error, Result};
use crate::ids::TreeId;
use crate::persistent_map::PersistentMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The tree that holds the catalogue.
pub(crate) const CATALOG_TREE: TreeId = TreeId(1);

/// An index that is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingIndex {
    pub(super) table: ObjectId,
    pub(super) tree: TreeId,
    pub(super) state: State,
    pub(super) index: Index,
}

/// An object whose creation or drop was interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub(crate) id: ObjectId,
    pub(crate) state: State,
    /// The trees to drop: for a table also those of its indexes.
    pub(crate) trees: Vec<TreeId>,
}

/// All tables and indexes.
#[derive(Clone, Debug)]
pub(crate) struct Catalog {
    pub(super) next_object: u32,
    pub(super) next_tree: u32,
    pub(super) tables: PersistentMap<ObjectId, Arc<TableEntry>>,
    pub(super) names: PersistentMap<Arc<str>, ObjectId>,
    pub(super) aside: BTreeMap<ObjectId, PendingIndex>,
    /// Tables that differ from those of the last committed catalogue.
    pub(super) changed: BTreeSet<ObjectId>,
}

impl PartialEq for Catalog {
    /// The same tables, indexes and next numbers.
    fn eq(&self, other: &Catalog) -> bool {
        (self.next_object, self.next_tree) == (other.next_object, other.next_tree)
            && self.tables == other.tables
            && self.names == other.names
            && self.aside == other.aside
    }
}

impl Catalog {
    /// The catalogue of a new database, without tables.
    pub(crate) fn new() -> Catalog {
        Catalog {
            next_object: 1,
            next_tree: CATALOG_TREE.0 + 1,
            tables: PersistentMap::new(),
            names: PersistentMap::new(),
            aside: BTreeMap::new(),
            changed: BTreeSet::new(),
        }
    }

    /// Decodes the rows of tree 1, in the order of their keys.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedRow`].
    pub(crate) fn read<'r>(
        rows: impl IntoIterator<Item = (&'r [u8], &'r [u8])>,
    ) -> Result<Catalog> {
        codec::read(rows)
            .map_err(|what| Error::DamagedRow { object: "the catalogue".to_owned(), what: what.0 })
    }

    /// A ready table, by its name.
    pub(crate) fn table(&self, name: &str) -> Option<&Arc<TableEntry>> {
        self.names.get(name).and_then(|id| self.tables.get(id))
    }

    /// All ready tables, in the order of their names.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableEntry>> {
        self.names.values().filter_map(|id| self.tables.get(id))
    }

    /// The objects that recovery must drop.
    pub(crate) fn unfinished(&self) -> Vec<Unfinished> {
        let unready = |table: &&Arc<TableEntry>| table.state != State::Ready;
        let tables = self.tables.values().filter(unready);
        let tables = tables.map(|table| Unfinished {
            id: table.id,
            state: table.state,
            trees: self.trees_of(table),
        });
        let indexes = self.aside.iter().filter(|(_, aside)| {
            let table = self.tables.get(&aside.table);
            table.is_none_or(|table| table.state == State::Ready)
        });
        let indexes = indexes.map(|(id, aside)| Unfinished {
            id: *id,
            state: aside.state,
            trees: vec![aside.tree],
        });
        tables.chain(indexes).collect()
    }

    /// Every tree that it names, ready or not.
    pub(crate) fn trees(&self) -> BTreeSet<TreeId> {
        let tables = self.tables.values();
        let of_tables = tables.flat_map(|table| self.trees_of(table));
        let aside = self.aside.values().map(|aside| aside.tree);
        of_tables.chain(aside).collect()
    }

    /// The tree of a table's rows and those of its indexes, ready or not.
    pub(crate) fn trees_of(&self, table: &TableEntry) -> Vec<TreeId> {
        let ready = table.indexes.iter().map(|index| index.tree);
        let aside = self.aside.values().filter(|aside| aside.table == table.id);
        let aside = aside.map(|aside| aside.tree);
        [table.tree].into_iter().chain(ready).chain(aside).collect()
    }

    /// The rows of tree 1 that differ in `next`, which was made from this catalogue: the new value, or none
    /// for a removed row. Always includes the head, whose numbers may have changed only in memory. The cost
    /// grows with the changed tables, not with all of them.
    pub(crate) fn changes_to(&self, next: &Catalog) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let (before, after) = (self.rows_of(&next.changed), next.rows_of(&next.changed));
        let mut changes = Vec::new();
        for key in before.keys().filter(|key| !after.contains_key(*key)) {
            changes.push((key.clone(), None));
        }
        for (key, value) in after {
            if before.get(&key) != Some(&value) || key == codec::HEAD_KEY {
                changes.push((key, Some(value)));
            }
        }
        changes.sort();
        changes
    }

    /// The same catalogue, committed: later changes are relative to it.
    pub(crate) fn committed(mut self) -> Catalog {
        self.changed.clear();
        self
    }

    /// The head, the rows of these tables and their indexes, and of all indexes that are not ready.
    fn rows_of(&self, tables: &BTreeSet<ObjectId>) -> BTreeMap<Vec<u8>, Vec<u8>> {
        codec::rows_of(self, tables.iter().filter_map(|id| self.tables.get(id)))
    }
}
