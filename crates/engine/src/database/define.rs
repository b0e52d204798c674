//! Tables and indexes added and dropped while the database is in use.
//!
//! Each change runs alone behind the closed commit gate: readers go on, writers wait. It is one commit:
//! the rows of the catalogue and the trees that are made or dropped stand in one record.
//!
//! An index of a table with rows, and a table that is loaded, are built aside without a log:
//! 1. a commit puts it into the catalogue as being built;
//! 2. its tree is filled from sorted entries, bottom up;
//! 3. a checkpoint makes the tree stable;
//! 4. a commit calls it ready.
//!
//! A crash before 4 leaves it unfinished, and opening drops it. The gate stays closed from 2 to 4, as a
//! writer in between would not keep the index up.

use crate::access::btree::Tree;
use crate::access::key::check_length;
use crate::access::row::{self, RowView, entry_key};
use crate::access::schema::{Schema, Value};
use crate::catalog::{CATALOG_TREE, Catalog, TableEntry};
use crate::database::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::TreeId;
use crate::plant::{Plant, planted};
use crate::txn::{Operation, Session};
use std::sync::Arc;
use syncline_disk::Disk;

/// Rows of bytes: key and value.
pub(crate) type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// How full pages are made by a bulk build, in percent: the next rows find room beside them.
const FILL_PERCENT: u32 = 90;

impl<D: Disk> Engine<D> {
    /// Makes an empty table with its indexes.
    pub(crate) fn create_table(&self, schema: Schema) -> Result<Arc<TableEntry>> {
        let _defining = self.defining.lock();
        let (next, entry) = self.catalog().with_table(schema)?;
        let mut session = self.alone()?;
        let trees = next.trees_of(&entry);
        for (made, id) in trees.iter().enumerate() {
            match Tree::create(*id, &self.core.buffer) {
                Ok(tree) => self.forest.add(Arc::new(tree)),
                Err(error) => {
                    self.drop_trees(&trees[..made]);
                    return Err(error);
                }
            }
            session.note(Operation::CreateTree(*id))?;
        }
        if planted(Plant::CatalogApart) {
            let (ticket, closed) = session.commit_closed();
            drop(closed);
            session.wait(ticket?)?;
            session = self.alone()?;
        }
        self.commit_then(session, next, || (), || self.drop_trees(&trees))?;
        Ok(entry)
    }

    /// Drops a table, its rows and its indexes. Transactions that have touched it conflict.
    pub(crate) fn drop_table(&self, name: &str) -> Result<()> {
        let _defining = self.defining.lock();
        let (dropping, entry) = self.catalog().with_table_dropping(name)?;
        let trees = dropping.trees_of(&entry);
        self.drop_in_one(dropping.without(entry.id), &trees, None)
    }

    /// Drops an index. Transactions that have written the table conflict.
    pub(crate) fn drop_index(&self, table: &str, name: &str) -> Result<()> {
        let _defining = self.defining.lock();
        let (dropping, index) = self.catalog().with_index_dropping(table, name)?;
        let rows = dropping.table(table).map(|entry| entry.tree);
        self.drop_in_one(dropping.without(index.id), &[index.tree], rows)
    }

    /// Changes a table to a schema that is one step from its own.
    pub(crate) fn change_table(&self, schema: &Schema) -> Result<Arc<TableEntry>> {
        let name = schema.name();
        let catalog = self.catalog();
        let entry = catalog.table(name).ok_or_else(|| Error::NoSuch {
            kind: "table",
            name: name.to_owned(),
        })?;
        let (old, new) = (entry.schema.indexes(), schema.indexes());
        let columns_stay = entry.schema.columns() == schema.columns();
        if columns_stay && new.len() == old.len() + 1 && new.starts_with(old) {
            return self.create_index(schema);
        }
        let gone = old.iter().find(|index| !new.contains(index));
        if let Some(gone) = gone
            && columns_stay
            && new.len() + 1 == old.len()
        {
            self.drop_index(name, gone.name())?;
            let catalog = self.catalog();
            return Ok(Arc::clone(
                catalog.table(name).expect("a table outlives its index"),
            ));
        }
        let grows = schema.columns().starts_with(entry.schema.columns());
        if grows && old == new && entry.schema.key() == schema.key() {
            return self.add_columns(schema.clone());
        }
        Err(Error::Schema {
            table: name.to_owned(),
            what: "it is not one step from the table's own; change one index, or add columns"
                .to_owned(),
        })
    }

    /// Adds columns at the end, by a schema made with `with_column` or `with_nullable`. Rows stay as
    /// they are and are read with the columns' defaults.
    pub(crate) fn add_columns(&self, schema: Schema) -> Result<Arc<TableEntry>> {
        let _defining = self.defining.lock();
        let (next, entry) = self.catalog().with_columns_of(schema)?;
        self.commit_renewing(self.alone()?, next, entry.tree)?;
        Ok(entry)
    }

    /// Builds an index; `schema` is the table's with the index as its last one.
    pub(crate) fn create_index(&self, schema: &Schema) -> Result<Arc<TableEntry>> {
        let _defining = self.defining.lock();
        let (building, index) = self.catalog().with_index_building(schema)?;
        self.commit(self.alone()?, building)?;
        let session = self.alone()?;
        let ready = self
            .build_index(schema, index.tree, &session)
            .and_then(|()| {
                let (ready, entry) = self.catalog().with_index_ready(index.id)?;
                self.commit_renewing(session, ready, entry.tree)?;
                Ok(entry)
            });
        if ready.is_err() {
            self.drop_in_one(self.catalog().without(index.id), &[index.tree], None)?;
        }
        ready
    }

    /// Makes a table out of rows by their encoded keys, in any order; built aside.
    pub(crate) fn load_table(&self, schema: Schema, mut rows: Rows) -> Result<Arc<TableEntry>> {
        let _defining = self.defining.lock();
        let (building, entry) = self.catalog().with_table_building(schema)?;
        self.commit(self.alone()?, building)?;
        let trees = self.catalog().trees_of(&entry);
        let session = self.alone()?;
        let ready = self
            .build_table(&entry, &mut rows, &session)
            .and_then(|()| {
                let (ready, entry) = self.catalog().with_table_ready(entry.id)?;
                self.commit(session, ready)?;
                Ok(entry)
            });
        if ready.is_err() {
            self.drop_in_one(self.catalog().without(entry.id), &trees, None)?;
        }
        ready
    }

    /// Drops what a crash has left unfinished.
    pub(crate) fn drop_unfinished(&self) -> Result<()> {
        let _defining = self.defining.lock();
        for unfinished in self.catalog().unfinished() {
            self.drop_in_one(
                self.catalog().without(unfinished.id),
                &unfinished.trees,
                None,
            )?;
        }
        Ok(())
    }

    fn build_index(&self, schema: &Schema, id: TreeId, alone: &Session<D>) -> Result<()> {
        let catalog = self.catalog();
        let table = catalog.table(schema.name());
        let table = table.expect("the table of an index that is being built is there");
        let rows = self.tree(table.tree);
        let position = schema.indexes().len() - 1;
        let mut entries = Vec::new();
        rows.walk(&self.core.buffer, &mut |key, value| {
            entries.push(entry_of(schema, position, key, value)?);
            Ok(())
        })?;
        self.build(schema, Some(position), id, &mut entries)?;
        self.make_stable(alone)
    }

    fn build_table(&self, entry: &TableEntry, rows: &mut Rows, alone: &Session<D>) -> Result<()> {
        let schema = &entry.schema;
        for (position, index) in entry.indexes.iter().enumerate() {
            let entries = rows
                .iter()
                .map(|(key, value)| entry_of(schema, position, key, value));
            let mut entries = entries.collect::<Result<Rows>>()?;
            self.build(schema, Some(position), index.tree, &mut entries)?;
        }
        self.build(schema, None, entry.tree, rows)?;
        self.make_stable(alone)
    }

    /// Fills a tree bottom up; `index` says of which index, none of the table's rows.
    fn build(
        &self,
        schema: &Schema,
        index: Option<usize>,
        id: TreeId,
        rows: &mut Rows,
    ) -> Result<()> {
        rows.sort_unstable();
        if rows.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::DuplicateBuilt {
                table: schema.name().to_owned(),
                index: index.map(|index| schema.indexes()[index].name().to_owned()),
            });
        }
        let csn = self.core.log.published();
        let rows = rows.iter().map(|(key, value)| (&key[..], &value[..]));
        let tree = Tree::bulk(id, &self.core.buffer, rows, csn, FILL_PERCENT)?;
        self.forest.add(Arc::new(tree));
        Ok(())
    }

    fn make_stable(&self, alone: &Session<D>) -> Result<()> {
        let Some(checkpoints) = &self.checkpoints else {
            return Ok(());
        };
        let closed = alone.closed().expect("who builds aside runs alone");
        checkpoints.run_closed(&self.core, &self.forest, closed)
    }

    /// Drops trees with the change of the catalogue that no longer names them; `changed` is a table that
    /// stays and is another one now.
    fn drop_in_one(&self, next: Catalog, trees: &[TreeId], changed: Option<TreeId>) -> Result<()> {
        let mut session = self.alone()?;
        for id in trees {
            if !planted(Plant::DropUnlogged) {
                session.note(Operation::DropTree(*id))?;
            }
        }
        let done = || {
            self.drop_trees(trees);
            if let Some(rows) = changed {
                self.forest.renew(rows);
            }
        };
        self.commit_then(session, next, done, || ())
    }

    fn drop_trees(&self, trees: &[TreeId]) {
        for id in trees {
            if let Some(tree) = self.forest.remove(*id) {
                tree.drop_pages(&self.core.buffer);
            }
        }
    }

    /// A session that runs alone, for a change of the catalogue.
    fn alone(&self) -> Result<Session<D>> {
        let mut session = Session::new(&self.core)?;
        session.begin_exclusive()?;
        Ok(session)
    }

    fn commit(&self, session: Session<D>, next: Catalog) -> Result<()> {
        self.commit_then(session, next, || (), || ())
    }

    /// The same for a table that is another one afterwards: who holds the old handle is told.
    fn commit_renewing(&self, session: Session<D>, next: Catalog, rows: TreeId) -> Result<()> {
        self.commit_then(session, next, || self.forest.renew(rows), || ())
    }

    /// Writes what is different in the next catalogue, commits, makes it the catalogue, and waits. With
    /// the gate still closed it calls `done`, or `undone` if nothing was committed. A commit that is not
    /// known to be stable is done.
    fn commit_then(
        &self,
        mut session: Session<D>,
        next: Catalog,
        done: impl FnOnce(),
        undone: impl FnOnce(),
    ) -> Result<()> {
        if let Err(error) = self.write_changes(&mut session, &next) {
            undone();
            return Err(error);
        }
        let (ticket, closed) = session.commit_closed();
        match ticket {
            Ok(ticket) => {
                *self.catalog.write() = Arc::new(next);
                done();
                drop(closed);
                session.wait(ticket)
            }
            Err(error) => {
                undone();
                drop(closed);
                Err(error)
            }
        }
    }

    fn write_changes(&self, session: &mut Session<D>, next: &Catalog) -> Result<()> {
        let tree = self.tree(CATALOG_TREE);
        for (key, value) in self.catalog().changes_to(next) {
            match value {
                Some(value) => session.put(&tree, &key, &value)?,
                None => session.delete(&tree, &key)?,
            }
        }
        Ok(())
    }

    fn tree(&self, id: TreeId) -> Arc<Tree> {
        let tree = self.forest.tree(id);
        tree.expect("a tree in the catalogue is in the forest")
    }
}

/// Rows for a bulk build, by their encoded keys.
pub(crate) fn encoded<'r>(
    schema: &Schema,
    rows: impl IntoIterator<Item: AsRef<[Value<'r>]>>,
    key_bytes_max: u32,
) -> Result<Rows> {
    let encoded = rows.into_iter().map(|values| {
        let (mut key, mut row) = (Vec::new(), Vec::new());
        row::encode(schema, values.as_ref(), &mut key, &mut row)?;
        check_length(schema.name(), key.len(), key_bytes_max as usize)?;
        Ok((key, row))
    });
    encoded.collect()
}

/// A row's entry in an index.
fn entry_of(schema: &Schema, index: usize, key: &[u8], value: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
    let (mut plain, mut bytes) = (Vec::new(), Vec::new());
    let row = RowView::open(schema, key, value, &mut plain);
    let row = row.map_err(|what| schema.damaged(what))?;
    entry_key(schema, index, &row, &mut bytes)?;
    let value = if schema.indexes()[index].is_unique() {
        key
    } else {
        &[]
    };
    Ok((bytes, value.to_vec()))
}
