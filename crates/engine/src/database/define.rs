//! Tables and indexes added and dropped while the database is in use.
//!
//! Each change runs alone behind the closed commit gate: readers go on, writers wait. It is one commit:
//! the rows of the catalogue and the trees that are made or dropped stand in one record. If it fails,
//! nothing has changed, on a full disk neither; only numbers are spent, which are never given twice.
//!
//! An index of a table with rows, and a table that is loaded, are built aside without a log:
//! 1. trees are filled from sorted entries, bottom up;
//! 2. a checkpoint makes the trees stable;
//! 3. the commit puts them into the catalogue.
//!
//! Until 3 no catalogue names the trees. A crash before leaves them in the data file at most, and opening
//! frees trees that no catalogue names. The gate stays closed from 1 to 3, as a writer in between would
//! not keep the index up. So the commit's number is known from the beginning: it is the next. Each tree
//! carries it, as do all rows that are built: whoever reads at an earlier point is told that the tree
//! was made later, and never finds it empty.

use crate::access::btree::Tree;
use crate::access::key::check_length;
use crate::access::row::{self, RowView, entry_key};
use crate::access::schema::{Schema, Value};
use crate::buffer::page::Kind;
use crate::catalog::{CATALOG_TREE, Catalog, TableEntry};
use crate::database::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{Csn, TreeId};
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
        let (trees, csn) = (next.trees_of(&entry), self.next_commit());
        for id in &trees {
            let create = || Tree::create(*id, &self.core.buffer);
            match session.with_memory((Kind::Leaf, 1), create) {
                Ok(tree) => self.forest.add(Arc::new(tree.made_by(csn))),
                Err(error) => {
                    self.undo(&next, &trees);
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
        self.commit_made(session, next, &trees, None)?;
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
    #[cfg(test)]
    pub(crate) fn drop_index(&self, table: &str, name: &str) -> Result<()> {
        let _defining = self.defining.lock();
        self.drop_index_alone(table, name)
    }

    /// Changes a table to a schema that is one step from its own.
    pub(crate) fn change_table(&self, schema: &Schema) -> Result<Arc<TableEntry>> {
        let _defining = self.defining.lock();
        let name = schema.name();
        let catalog = self.catalog();
        let entry = catalog.table(name).ok_or_else(|| Error::NoSuch {
            kind: "table",
            name: name.to_owned(),
        })?;
        let (old, new) = (entry.schema.indexes(), schema.indexes());
        let columns_stay = entry.schema.columns() == schema.columns();
        if columns_stay && new.len() == old.len() + 1 && new.starts_with(old) {
            return self.create_index_alone(schema);
        }
        let gone = old.iter().find(|index| !new.contains(index));
        if let Some(gone) = gone
            && columns_stay
            && new.len() + 1 == old.len()
        {
            self.drop_index_alone(name, gone.name())?;
            let catalog = self.catalog();
            return Ok(Arc::clone(
                catalog.table(name).expect("a table outlives its index"),
            ));
        }
        let grows = schema.columns().starts_with(entry.schema.columns());
        if grows && old == new && entry.schema.key() == schema.key() {
            return self.add_columns_alone(schema.clone());
        }
        Err(Error::Schema {
            table: name.to_owned(),
            what: "it is not one step from the table's own; change one index, or add columns"
                .to_owned(),
        })
    }

    /// Adds columns at the end, by a schema made with `with_column` or `with_nullable`. Rows stay as
    /// they are and are read with the columns' defaults.
    #[cfg(test)]
    pub(crate) fn add_columns(&self, schema: Schema) -> Result<Arc<TableEntry>> {
        let _defining = self.defining.lock();
        self.add_columns_alone(schema)
    }

    /// Builds an index; `schema` is the table's with the index as its last one.
    #[cfg(test)]
    pub(crate) fn create_index(&self, schema: &Schema) -> Result<Arc<TableEntry>> {
        let _defining = self.defining.lock();
        self.create_index_alone(schema)
    }

    /// Makes a table out of rows by their encoded keys, in any order; built aside.
    pub(crate) fn load_table(&self, schema: Schema, mut rows: Rows) -> Result<Arc<TableEntry>> {
        let _defining = self.defining.lock();
        let (next, entry) = self.catalog().with_table(schema)?;
        let trees = next.trees_of(&entry);
        let session = self.alone()?;
        if let Err(error) = self.build_table(&entry, &mut rows, &session) {
            self.undo(&next, &trees);
            return Err(error);
        }
        self.commit_made(session, next, &trees, None)?;
        Ok(entry)
    }

    /// Drops what an earlier program has left unfinished.
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

    /// As the others that end so: with `defining` held.
    fn add_columns_alone(&self, schema: Schema) -> Result<Arc<TableEntry>> {
        let (next, entry) = self.catalog().with_columns_of(schema)?;
        self.commit_made(self.alone()?, next, &[], Some(entry.tree))?;
        Ok(entry)
    }

    fn create_index_alone(&self, schema: &Schema) -> Result<Arc<TableEntry>> {
        let (next, entry, index) = self.catalog().with_index(schema)?;
        let session = self.alone()?;
        if let Err(error) = self.build_index(&entry, index.tree, &session) {
            self.undo(&next, &[index.tree]);
            return Err(error);
        }
        self.commit_made(session, next, &[index.tree], Some(entry.tree))?;
        Ok(entry)
    }

    fn drop_index_alone(&self, table: &str, name: &str) -> Result<()> {
        let (dropping, index) = self.catalog().with_index_dropping(table, name)?;
        let rows = dropping.table(table).map(|entry| entry.tree);
        self.drop_in_one(dropping.without(index.id), &[index.tree], rows)
    }

    fn build_index(&self, table: &TableEntry, id: TreeId, alone: &Session<D>) -> Result<()> {
        let schema = &table.schema;
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
        let csn = self.next_commit();
        let rows = rows.iter().map(|(key, value)| (&key[..], &value[..]));
        let tree = Tree::bulk(id, &self.core.buffer, rows, csn, FILL_PERCENT)?;
        self.forest.add(Arc::new(tree.made_by(csn)));
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

    /// After a failure, by who still runs alone: the trees that were made go, as far as there are any,
    /// and the numbers that `next` gave them are spent. A checkpoint may have written them down.
    fn undo(&self, next: &Catalog, trees: &[TreeId]) {
        if planted(Plant::KeepFailedBuild) {
            return;
        }
        self.drop_trees(trees);
        let mut catalog = self.catalog.write();
        *catalog = Arc::new(catalog.with_numbers_of(next));
    }

    /// The number of the next commit, for who runs alone.
    fn next_commit(&self) -> Csn {
        self.core.log.published().next()
    }

    /// A session that runs alone, for a change of the catalogue.
    fn alone(&self) -> Result<Session<D>> {
        let mut session = Session::new(&self.core)?;
        session.begin_exclusive()?;
        Ok(session)
    }

    /// Commits a catalogue for which these trees were made; `changed` is a table that is another one
    /// then: who holds the old handle is told.
    fn commit_made(
        &self,
        session: Session<D>,
        next: Catalog,
        trees: &[TreeId],
        changed: Option<TreeId>,
    ) -> Result<()> {
        let spent = next.clone();
        let done = || {
            if let Some(rows) = changed {
                self.forest.renew(rows);
            }
        };
        self.commit_then(session, next, done, || self.undo(&spent, trees))
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
        let csn = self.next_commit();
        let (ticket, closed) = session.commit_closed();
        match ticket {
            Ok(ticket) => {
                assert_eq!(ticket.csn, csn, "who runs alone takes the next number");
                {
                    // Who looks a table up sees definition and trees of one moment.
                    let mut catalog = self.catalog.write();
                    *catalog = Arc::new(next);
                    done();
                }
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
