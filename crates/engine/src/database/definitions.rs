//! Tables and indexes added and dropped while the database is in use.
//!
//! A change ends in one commit behind the closed commit gate: one record holds the rows of the catalogue and
//! the trees that are made or dropped. Readers go on, writers wait for that commit. If the change fails, even
//! on a full disk, nothing has changed, except that tree numbers are spent; they are never reused.
//!
//! Work behind the closed gate is bounded, whatever the size of the tables:
//!
//! | change | before the gate is closed | behind it | afterwards |
//! |---|---|---|---|
//! | `create_table` | - | one page a tree, the commit | - |
//! | `load_table` | the trees are filled (`tree_builder`); a checkpoint makes them stable | the commit | - |
//! | `load_table` with an archive | the trees are filled by transactions (`logged_load`) | the commits | - |
//! | an added index | filled concurrently with writers (`index_build`) | the rest of the row log, the commit | - |
//! | columns added, renamed or removed, a table renamed | - | the commit | - |
//! | a table truncated | - | one page a tree, the commit; the old trees' roots go | their other pages go |
//! | a dropped index or table | - | the commit; the trees' roots go | other pages go, some in a section |
//!
//! Trees that a change makes or drops are *hidden* while it lasts: the tree directory may name them while the
//! catalogue does not, or their pages exist and the tree directory does not name them. A checkpoint may
//! contain either; opening frees them. The log of a database without an archive holds nothing of a load: the
//! checkpoint that contains its trees is in force before the commit that names them. An index build writes to
//! the log like any other transaction.
//!
//! Each tree carries the commit that made it known. Rows built in bulk carry an earlier number, so the tree
//! is what tells an older snapshot that it was made later; the snapshot never sees it as empty.
//!
//! Changes are serialized by `Engine::defining`. A load takes it twice: for its tree numbers at the
//! beginning, and for its commit. It holds no lock while the caller's iterator runs.

use super::index_build::IndexBuild;
use super::tree_builder::{PAGES_A_SECTION, Run, TreeBuilder, free_pages};
use crate::access::btree::{Tree, TreeDrop};
use crate::access::key::check_length;
use crate::access::row::{self, RowView, entry_key};
use crate::access::schema::{Schema, Value};
use crate::buffer::MemoryNeed;
use crate::buffer::page::Kind;
use crate::catalog::{CATALOG_TREE, Catalog, TableEntry};
use crate::database::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{Csn, TreeId};
use crate::log::Ticket;
use crate::panics::OnPanic;
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{Step, step};
use crate::sync::rank::DEFINING;
use crate::sync::ranked::MutexGuard;
use crate::txn::{ClosedGate, Operation, Session};
use std::collections::BTreeSet;
use std::sync::Arc;
use syncline_vfs::Disk;

/// A row in bytes: key and value.
pub(crate) type BytesRow = (Vec<u8>, Vec<u8>);

impl<D: Disk> Engine<D> {
    /// Makes an empty table with its indexes.
    pub(crate) fn create_table(&self, schema: Schema) -> Result<Arc<TableEntry>> {
        let _defining = self.define();
        let (next, entry) = self.catalog().with_table(schema)?;
        let trees = next.trees_of(&entry);
        self.change_with(&next, &trees, || self.create_empty(next.clone(), &trees))?;
        Ok(entry)
    }

    fn create_empty(&self, next: Catalog, trees: &[TreeId]) -> Result<Ticket> {
        let mut session = self.alone()?;
        self.add_empty(&mut session, trees)?;
        if planted(PlantedBug::CatalogApart) {
            let (ticket, closed) = session.commit_closed();
            drop(closed);
            session.wait(ticket?)?;
            session = self.alone()?;
        }
        self.commit_then(&mut session, next, |_csn, _closed| {})
    }

    /// Makes empty trees, known from the session's commit on.
    fn add_empty(&self, session: &mut Session<D>, trees: &[TreeId]) -> Result<()> {
        let csn = self.next_commit();
        for id in trees {
            let create = || Tree::create(*id, &self.core.buffer);
            let tree = session.with_memory(MemoryNeed::Pages(Kind::Leaf, 1), create)?;
            self.tree_directory.add(Arc::new(tree.made_by(csn)));
            session.note(Operation::CreateTree(*id))?;
        }
        Ok(())
    }

    /// Deletes all rows of a table at once, by giving it new trees. Transactions that have used it conflict.
    pub(crate) fn truncate_table(&self, name: &str) -> Result<Arc<TableEntry>> {
        let _defining = self.define();
        let catalog = self.catalog();
        let (next, entry) = catalog.with_table_emptied(name)?;
        let old = catalog.table(name).map(|entry| catalog.trees_of(entry)).unwrap_or_default();
        let new = next.trees_of(&entry);
        self.change_with(&next, &new, || {
            let mut session = self.alone()?;
            self.add_empty(&mut session, &new)?;
            self.drop_in(session, next.clone(), &old, None)
        })?;
        Ok(entry)
    }

    /// Gives a table another name. Transactions that have used it conflict.
    pub(crate) fn rename_table(&self, name: &str, new_name: &str) -> Result<Arc<TableEntry>> {
        let _defining = self.define();
        let (next, entry) = self.catalog().with_table_renamed(name, new_name)?;
        self.redefine(&next, &entry)?;
        Ok(entry)
    }

    /// Drops a table, its rows and its indexes. Transactions that have used it conflict.
    pub(crate) fn drop_table(&self, name: &str) -> Result<()> {
        let _defining = self.define();
        let (dropping, entry) = self.catalog().with_table_dropping(name)?;
        let trees = dropping.trees_of(&entry);
        self.drop_in_one(dropping.without(entry.id), &trees, None)
    }

    /// Drops an index. Transactions that have written the table conflict.
    #[cfg(test)]
    pub(crate) fn drop_index(&self, table: &str, name: &str) -> Result<()> {
        let _defining = self.define();
        self.drop_index_alone(table, name)
    }

    /// Changes a table to a schema that is one step from its own.
    pub(crate) fn change_table(&self, schema: &Schema) -> Result<Arc<TableEntry>> {
        let _defining = self.define();
        let name = schema.name();
        let catalog = self.catalog();
        let entry = catalog
            .table(name)
            .ok_or_else(|| Error::NoSuch { kind: "table", name: name.to_owned() })?;
        let (old, new) = (entry.schema.indexes(), schema.indexes());
        let (columns, removed) =
            (&entry.schema.definition().columns, &entry.schema.definition().removed);
        let columns_stay =
            (columns, removed) == (&schema.definition().columns, &schema.definition().removed);
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
            return Ok(Arc::clone(catalog.table(name).expect("a table outlives its index")));
        }
        if entry.schema.fits_rows_of(schema) {
            let (next, entry) = catalog.with_columns_of(schema.clone())?;
            self.redefine(&next, &entry)?;
            return Ok(entry);
        }
        Err(Error::Schema {
            table: name.to_owned(),
            what: "it is not one step from the table's own; change one index, add columns, or rename or \
                remove one"
                .to_owned(),
        })
    }

    /// Builds an index; it is the last one of `schema`, which otherwise equals the table's.
    #[cfg(test)]
    pub(crate) fn create_index(&self, schema: &Schema) -> Result<Arc<TableEntry>> {
        let _defining = self.define();
        self.create_index_alone(schema)
    }

    /// Makes a table from encoded rows in any order, in hidden trees.
    pub(crate) fn load_table(
        &self,
        schema: Schema,
        rows: impl IntoIterator<Item = Result<BytesRow>>,
    ) -> Result<Arc<TableEntry>> {
        let (spent, entry) = {
            let _defining = self.define();
            let (spent, entry) = self.catalog().with_numbers_for(schema)?;
            *self.catalog.write() = Arc::new(spent.clone());
            (spent, entry)
        };
        let trees = spent.trees_of(&entry);
        self.change_with(&spent, &trees, || {
            if self.options.log.archive.is_some() && !planted(PlantedBug::LoadUnlogged) {
                self.load_logged(&entry, rows)?;
            } else {
                self.load_aside(&entry, rows)?;
                if let Some(checkpoints) = &self.checkpoints {
                    checkpoints.run(&self.core, &self.tree_directory)?;
                }
            }
            let _defining = self.define();
            let next = self.catalog().with_entry(&entry)?;
            self.commit_then(&mut self.alone()?, next, |csn, _closed| {
                for id in &trees {
                    self.tree_directory.publish(*id, csn);
                }
            })
        })?;
        Ok(entry)
    }

    /// Drops what an earlier process left unfinished.
    pub(crate) fn drop_unfinished(&self) -> Result<()> {
        let _defining = self.define();
        for unfinished in self.catalog().unfinished() {
            self.drop_in_one(self.catalog().without(unfinished.id), &unfinished.trees, None)?;
        }
        Ok(())
    }

    /// Puts a catalogue in force in which a table has another definition. Its rows stay as they are; reads
    /// supply the defaults of columns that were added. The caller holds `defining`.
    fn redefine(&self, next: &Catalog, entry: &TableEntry) -> Result<()> {
        self.change_with(next, &[], || {
            self.commit_then(&mut self.alone()?, next.clone(), |_csn, _closed| {
                self.tree_directory.renew(entry.tree);
            })
        })
    }

    /// The `_alone` functions expect the caller to hold `defining`.
    fn create_index_alone(&self, schema: &Schema) -> Result<Arc<TableEntry>> {
        let (next, entry, index) = self.catalog().with_index(schema)?;
        let built = self.change_with(&next, &[index.tree], || {
            let mut build = IndexBuild::begin(self, &entry, index)?;
            build.fill()?;
            build.finish(next.clone())
        });
        if let Err(Error::DuplicateBuilt { .. }) = built {
            // The rows that the index was built from may not be stable yet.
            self.core.log.flush()?;
        }
        built?;
        Ok(entry)
    }

    fn drop_index_alone(&self, table: &str, name: &str) -> Result<()> {
        let (dropping, index) = self.catalog().with_index_dropping(table, name)?;
        let rows = dropping.table(table).map(|entry| entry.tree);
        self.drop_in_one(dropping.without(index.id), &[index.tree], rows)
    }

    /// Fills the trees of a table and its indexes, and adds them to the tree directory.
    fn load_aside(
        &self,
        entry: &TableEntry,
        rows: impl IntoIterator<Item = Result<BytesRow>>,
    ) -> Result<()> {
        let schema = &entry.schema;
        // No later than the commit that makes the table; no row has commit number zero.
        let csn = self.core.log.published().max(Csn(1));
        let mut builder = self.builder(schema, None, (entry.tree, csn))?;
        for row in rows {
            let (key, value) = row?;
            builder.push(&key, &value)?;
        }
        let mut trees = vec![builder.finish()?];
        for (position, index) in entry.indexes.iter().enumerate() {
            let mut builder = self.builder(schema, Some(position), (index.tree, csn))?;
            let (mut from, mut run) = (Some(Vec::new()), Run::default());
            while let Some(key) = from {
                let mut add = |key: &[u8], value: &[u8]| {
                    let (entry, value) = entry_of(schema, position, key, value)?;
                    run.push(&entry, &value);
                    Ok(())
                };
                from = trees[0].walk_leaf(&self.core.buffer, &key, &mut add)?;
                // The leaf is no longer latched, so the builder may wait.
                run.rows().try_for_each(|(entry, value)| builder.push(entry, value))?;
                run.clear();
            }
            trees.push(builder.finish()?);
        }
        let closed = self.core.close_gate()?;
        for tree in trees {
            self.tree_directory.add(Arc::new(tree));
        }
        drop(closed);
        Ok(())
    }

    /// Builds the tree of a table's rows or, by its position, of an index.
    fn builder<'e>(
        &'e self,
        schema: &'e Schema,
        index: Option<usize>,
        (id, csn): (TreeId, Csn),
    ) -> Result<TreeBuilder<'e, D>> {
        let bytes_max = self.options.definition_bytes_max;
        TreeBuilder::new(&self.core, id, csn, bytes_max, move || Error::DuplicateBuilt {
            table: schema.name().to_owned(),
            index: index.map(|index| schema.indexes()[index].name().to_owned()),
        })
    }

    /// Drops trees with the change of the catalogue that no longer names them. `changed` is a table that
    /// stays but with another definition.
    fn drop_in_one(&self, next: Catalog, trees: &[TreeId], changed: Option<TreeId>) -> Result<()> {
        let ticket = self.drop_in(self.alone()?, next, trees, changed)?;
        self.core.log.wait(ticket)
    }

    /// The same in a session that may have changed more; the caller waits for the ticket.
    fn drop_in(
        &self,
        mut session: Session<D>,
        next: Catalog,
        trees: &[TreeId],
        changed: Option<TreeId>,
    ) -> Result<Ticket> {
        for id in trees {
            if !planted(PlantedBug::DropUnlogged) {
                session.note(Operation::DropTree(*id))?;
            }
        }
        let mut dropped = Vec::new();
        self.hidden.lock().extend(trees);
        let ticket = self.commit_then(&mut session, next, |_csn, _closed| {
            dropped = self.remove_trees(trees);
            if let Some(rows) = changed {
                self.tree_directory.renew(rows);
            }
        });
        drop(session);
        self.free_dropped(dropped);
        self.hidden.lock().retain(|id| !trees.contains(id));
        ticket
    }

    /// Takes trees out of the tree directory, with their roots, behind the closed gate.
    fn remove_trees(&self, trees: &[TreeId]) -> Vec<TreeDrop> {
        let removed = trees.iter().filter_map(|id| self.tree_directory.remove(*id));
        let held = self.core.pages_of_versions();
        removed.map(|tree| tree.begin_drop(&self.core.buffer, held.clone())).collect()
    }

    /// Frees the other pages of such trees, a bounded number per section. If an exclusive transaction that
    /// does not end prevents it, the next opening frees the rest.
    fn free_dropped(&self, dropped: Vec<TreeDrop>) {
        for mut tree in dropped {
            loop {
                step(Step::Build);
                let Ok(section) = self.core.enter_gate(0) else {
                    return;
                };
                let is_more = tree.free_some(&self.core.buffer, PAGES_A_SECTION);
                drop(section);
                if !is_more {
                    break;
                }
            }
        }
    }

    /// Makes a change that needs these new trees, and waits until its commit is stable. If it fails before
    /// its commit, existing trees are removed, and the numbers that `next` assigned stay spent, since a
    /// checkpoint may have recorded them.
    fn change_with(
        &self,
        next: &Catalog,
        trees: &[TreeId],
        change: impl FnOnce() -> Result<Ticket>,
    ) -> Result<()> {
        self.remove_abandoned();
        self.hidden.lock().extend(trees);
        let changed = change();
        if changed.is_ok() || planted(PlantedBug::KeepFailedBuild) {
            self.hidden.lock().retain(|id| !trees.contains(id));
        } else {
            self.abandoned.lock().extend(trees);
            self.remove_abandoned();
            let mut catalog = self.catalog.write();
            *catalog = Arc::new(catalog.with_numbers_of(next));
        }
        self.core.log.wait(changed?)
    }

    /// Removes what failed changes have made. What an exclusive transaction that does not end prevents from
    /// being removed stays hidden until the next change, or until the next opening, which frees every tree
    /// that the catalogue does not name.
    fn remove_abandoned(&self) {
        let trees = std::mem::take(&mut *self.abandoned.lock());
        if trees.is_empty() {
            return;
        }
        let (known, unknown): (Vec<TreeId>, Vec<TreeId>) =
            trees.iter().partition(|id| self.tree_directory.tree(**id).is_some());
        let mut left = BTreeSet::new();
        if !known.is_empty() && !self.remove_known(&known) {
            left.extend(known);
        }
        left.extend(unknown.into_iter().filter(|id| !free_pages(&self.core, *id)));
        let is_gone = |id: &TreeId| trees.contains(id) && !left.contains(id);
        self.hidden.lock().retain(|id| !is_gone(id));
        self.abandoned.lock().extend(left);
    }

    fn remove_known(&self, trees: &[TreeId]) -> bool {
        let Ok(closed) = self.core.close_gate() else {
            return false;
        };
        let dropped = self.remove_trees(trees);
        self.core.remove_abandoned_row_log(&closed);
        drop(closed);
        self.free_dropped(dropped);
        true
    }

    /// The number of the next commit, for a session that runs alone.
    fn next_commit(&self) -> Csn {
        self.core.log.published().next()
    }

    /// Serializes definitions. A panic in the middle of one fails the log.
    fn define(&self) -> (OnPanic<impl FnMut()>, MutexGuard<'_, (), DEFINING>) {
        step(Step::Definition);
        let held = self.defining.lock();
        (self.core.fail_on_panic("a definition"), held)
    }

    /// An exclusive session, for a change of the catalogue.
    pub(super) fn alone(&self) -> Result<Session<D>> {
        let mut session = Session::new(&self.core)?;
        session.begin_exclusive()?;
        Ok(session)
    }

    /// Writes the differences of the next catalogue, commits, and puts it in force. With the gate still
    /// closed it calls `done` with the commit; after a failure nothing was committed. The gate may stay
    /// closed until the session ends. The caller waits for the ticket.
    pub(super) fn commit_then(
        &self,
        session: &mut Session<D>,
        next: Catalog,
        done: impl FnOnce(Csn, &ClosedGate),
    ) -> Result<Ticket> {
        self.write_changes(session, &next)?;
        let csn = self.next_commit();
        let (ticket, closed) = session.commit_closed();
        let ticket = ticket?;
        assert_eq!(ticket.csn, csn, "an exclusive session takes the next number");
        // Anyone who looks a table up must see definition and trees of one moment.
        let mut catalog = self.catalog.write();
        *catalog = Arc::new(next.committed());
        *self.listed_tables.lock() = Arc::clone(&catalog);
        done(csn, &closed);
        drop(catalog);
        drop(closed);
        Ok(ticket)
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

    pub(super) fn tree(&self, id: TreeId) -> Arc<Tree> {
        let tree = self.tree_directory.tree(id);
        tree.expect("a tree in the catalogue is in the tree directory")
    }
}

/// Encodes rows for a load.
pub(crate) fn encoded<'r>(
    schema: &Schema,
    rows: impl IntoIterator<Item: AsRef<[Value<'r>]>>,
    key_bytes_max: u32,
) -> impl Iterator<Item = Result<BytesRow>> {
    rows.into_iter().map(move |values| {
        let (mut key, mut row) = (Vec::new(), Vec::new());
        row::encode(schema, values.as_ref(), &mut key, &mut row)?;
        check_length(schema.name(), key.len(), key_bytes_max as usize)?;
        Ok((key, row))
    })
}

/// A row's entry in an index.
pub(super) fn entry_of(
    schema: &Schema,
    index: usize,
    key: &[u8],
    value: &[u8],
) -> Result<BytesRow> {
    let (mut plain, mut bytes) = (Vec::new(), Vec::new());
    let row = RowView::open(schema, key, value, &mut plain);
    let row = row.map_err(|what| schema.damaged(what))?;
    entry_key(schema, index, &row, &mut bytes)?;
    let value = if schema.indexes()[index].is_unique() { key } else { &[] };
    Ok((bytes, value.to_vec()))
}
