//! A walk over everything: is each tree whole, does each index say what its table says, can every byte
//! of the data file be read as it was written?
//!
//! It runs behind the closed gate, so that nothing changes meanwhile; readers go on.

use crate::access::btree::Visit;
use crate::access::row::{RowView, entry_key};
use crate::access::schema::Schema;
use crate::catalog::{CATALOG_TREE, TableEntry};
use crate::database::engine::Engine;
use crate::error::Result;
use crate::ids::TreeId;
use std::collections::BTreeSet;
use syncline_disk::Disk;

impl<D: Disk> Engine<D> {
    /// What is wrong, in sentences; empty if nothing is.
    pub(crate) fn verify(&self) -> Result<Vec<String>> {
        let mut found = match &self.checkpoints {
            Some(checkpoints) => checkpoints.check(&self.core)?,
            None => Vec::new(),
        };
        let _closed = self.core.close_gate()?;
        found.extend(self.verify_trees());
        if found.is_empty() {
            // Rows are read by walks, which need whole trees.
            for table in self.catalog().tables() {
                found.extend(self.verify_table(table)?);
            }
        }
        Ok(found)
    }

    fn verify_trees(&self) -> Vec<String> {
        let mut found = Vec::new();
        let catalog = self.catalog();
        let mut known = BTreeSet::from([CATALOG_TREE]);
        for table in catalog.tables() {
            known.insert(table.tree);
            known.extend(table.indexes.iter().map(|index| index.tree));
        }
        // Trees that an earlier program was building may be there or not.
        let unfinished = catalog.unfinished().into_iter().flat_map(|one| one.trees);
        let unfinished: BTreeSet<TreeId> = unfinished.collect();
        // Trees that are being built or freed at this moment, too.
        let hidden = self.hidden.lock().clone();
        let held = self.core.pages_of_versions();
        let mut there = BTreeSet::new();
        for tree in self.forest.trees() {
            there.insert(tree.id);
            found.extend(tree.check_beside(&self.core.buffer, &held));
        }
        let lost = known
            .difference(&there)
            .map(|id| format!("{id} of the catalogue is missing"));
        let spare = there
            .difference(&known)
            .filter(|id| !unfinished.contains(id) && !hidden.contains(id))
            .map(|id| format!("{id} belongs to no table"));
        found.extend(lost.chain(spare));
        let is_stray = |id| !there.contains(&id) && !hidden.contains(&id);
        let strays = self.core.buffer.labelled(is_stray);
        let strays = strays.filter(|(page, _id)| !held.contains(page));
        found.extend(
            strays.map(|(page, id)| format!("{page} belongs to {id}, which does not exist")),
        );
        found
    }

    /// Every row can be read and has its entries, and the indexes hold no others: as many as rows.
    fn verify_table(&self, table: &TableEntry) -> Result<Vec<String>> {
        let schema = &table.schema;
        let (mut found, mut rows) = (Vec::new(), 0_u64);
        self.walk(table.tree, &mut |key, value| {
            let mut plain = Vec::new();
            rows += 1;
            match RowView::open(schema, key, value, &mut plain) {
                Err(what) => found.push(unreadable(schema, what.0)),
                Ok(row) => {
                    found.extend(row.check().err().map(|what| unreadable(schema, what.0)));
                    self.verify_entries(table, &row, &mut found)?;
                }
            }
            Ok(())
        })?;
        for (position, index) in table.indexes.iter().enumerate() {
            let mut entries = 0_u64;
            self.walk(index.tree, &mut |_key, _value| {
                entries += 1;
                Ok(())
            })?;
            if entries != rows {
                let name = schema.indexes()[position].name();
                let table = schema.name();
                found.push(format!(
                    "index {name} of table {table} has {entries} entries for {rows} rows"
                ));
            }
        }
        Ok(found)
    }

    fn verify_entries(
        &self,
        table: &TableEntry,
        row: &RowView<'_>,
        found: &mut Vec<String>,
    ) -> Result<()> {
        let schema = &table.schema;
        let mut entry = Vec::new();
        for (position, index) in table.indexes.iter().enumerate() {
            entry.clear();
            entry_key(schema, position, row, &mut entry)?;
            if !self.holds(index.tree, &entry) {
                let name = schema.indexes()[position].name();
                found.push(format!(
                    "index {name} of table {} lacks the entry of a row",
                    schema.name()
                ));
            }
        }
        Ok(())
    }

    /// True if the tree, at rest, has a row of that key.
    fn holds(&self, id: TreeId, key: &[u8]) -> bool {
        let tree = self
            .forest
            .tree(id)
            .expect("the trees were compared with the catalogue");
        loop {
            let seen = tree.view(&self.core.buffer, key, |leaf, _| {
                leaf.search(key)
                    .is_ok_and(|slot| !leaf.word(slot).is_ghost())
            });
            match seen {
                Ok(holds) => return holds,
                Err(miss) => self.core.buffer.load(miss),
            }
        }
    }

    fn walk(&self, id: TreeId, visit: &mut Visit<'_>) -> Result<()> {
        let tree = self
            .forest
            .tree(id)
            .expect("the trees were compared with the catalogue");
        tree.walk(&self.core.buffer, visit)
    }
}

fn unreadable(schema: &Schema, what: &str) -> String {
    format!("a row of table {} cannot be read: {what}", schema.name())
}
