//! The catalogue in memory: look up by name, and how it stands in tree 1.

use super::codec;
use super::table::{ObjectId, State, TableEntry};
use crate::access::schema::Index;
use crate::error::{Error, Result};
use crate::ids::TreeId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The tree that holds the catalogue.
pub(crate) const CATALOG_TREE: TreeId = TreeId(1);

/// An index that is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Aside {
    pub(super) table: ObjectId,
    pub(super) tree: TreeId,
    pub(super) state: State,
    pub(super) index: Index,
}

/// An object whose making or dropping was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub(crate) id: ObjectId,
    pub(crate) state: State,
    /// The trees to drop: of a table also those of its indexes.
    pub(crate) trees: Vec<TreeId>,
}

/// All tables and indexes; see the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Catalog {
    pub(super) next_object: u32,
    pub(super) next_tree: u32,
    pub(super) tables: BTreeMap<ObjectId, Arc<TableEntry>>,
    pub(super) names: BTreeMap<String, ObjectId>,
    pub(super) aside: BTreeMap<ObjectId, Aside>,
}

impl Catalog {
    /// Without a table: the catalogue of a new database.
    pub(crate) fn new() -> Catalog {
        Catalog {
            next_object: 1,
            next_tree: CATALOG_TREE.0 + 1,
            tables: BTreeMap::new(),
            names: BTreeMap::new(),
            aside: BTreeMap::new(),
        }
    }

    /// From the rows of tree 1, in the order of their keys.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedRow`].
    pub(crate) fn read<'r>(
        rows: impl IntoIterator<Item = (&'r [u8], &'r [u8])>,
    ) -> Result<Catalog> {
        codec::read(rows).map_err(|what| Error::DamagedRow {
            object: "the catalogue".to_owned(),
            what: what.0,
        })
    }

    /// A table that is ready, by its name.
    pub(crate) fn table(&self, name: &str) -> Option<&Arc<TableEntry>> {
        self.names.get(name).and_then(|id| self.tables.get(id))
    }

    /// All tables that are ready, in the order of their names.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableEntry>> {
        self.names.values().filter_map(|id| self.tables.get(id))
    }

    /// What recovery has to drop.
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

    /// The rows of tree 1 that stand otherwise in `next`: the new value, or none where the row goes.
    pub(crate) fn changes_to(&self, next: &Catalog) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let (before, mut after) = (codec::rows(self), codec::rows(next));
        let mut changes = Vec::new();
        for (key, value) in before {
            match after.remove(&key) {
                None => changes.push((key, None)),
                Some(new) if new != value => changes.push((key, Some(new))),
                Some(_) => {}
            }
        }
        changes.extend(after.into_iter().map(|(key, value)| (key, Some(value))));
        changes.sort();
        changes
    }
}
