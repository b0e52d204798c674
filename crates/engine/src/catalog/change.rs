//! Changes of the catalogue, each of which makes a new one.

use super::table::{IndexEntry, ObjectId, State, TableEntry};
use super::value::{Catalog, PendingIndex};
use crate::access::schema::{Index, Schema};
use crate::error::{Error, Result};
use crate::ids::TreeId;
use std::sync::Arc;

impl Catalog {
    /// Adds a table and its indexes, all ready; the caller makes their trees.
    ///
    /// # Errors
    ///
    /// [`Error::Taken`].
    pub(crate) fn with_table(&self, schema: Schema) -> Result<(Catalog, Arc<TableEntry>)> {
        let (next, entry) = self.with_numbers_for(schema)?;
        let next = next.with_entry(&entry)?;
        Ok((next, entry))
    }

    /// The same tables, with the numbers for a new table and its indexes used; and that table, which
    /// [`Catalog::with_entry`] may add to a later catalogue.
    ///
    /// # Errors
    ///
    /// [`Error::Taken`].
    pub(crate) fn with_numbers_for(&self, schema: Schema) -> Result<(Catalog, Arc<TableEntry>)> {
        self.check_free(schema.name())?;
        let mut next = self.clone();
        let (id, tree) = (next.new_object(), next.new_tree());
        let mut indexes = Vec::new();
        for _ in schema.indexes() {
            indexes.push(IndexEntry { id: next.new_object(), tree: next.new_tree() });
        }
        let entry =
            Arc::new(TableEntry { id, tree, state: State::Ready, generation: 1, schema, indexes });
        Ok((next, entry))
    }

    /// Adds a table whose numbers this catalogue, or an earlier one, has used.
    ///
    /// # Errors
    ///
    /// [`Error::Taken`].
    pub(crate) fn with_entry(&self, entry: &Arc<TableEntry>) -> Result<Catalog> {
        let name = entry.schema.name();
        self.check_free(name)?;
        assert!(
            entry.id.0 < self.next_object && entry.tree.0 < self.next_tree,
            "a table's numbers must be used before the table is added"
        );
        let mut next = self.clone();
        next.names.insert(name.into(), entry.id);
        next.tables.insert(entry.id, Arc::clone(entry));
        next.changed.insert(entry.id);
        Ok(next)
    }

    /// Marks a table as being dropped: its name is free; the caller drops its trees.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`].
    pub(crate) fn with_table_dropping(&self, name: &str) -> Result<(Catalog, Arc<TableEntry>)> {
        let entry = self.existing(name)?;
        let mut next = self.clone();
        next.names.remove(name);
        let entry = next.replace(entry, |entry| entry.state = State::Dropping);
        Ok((next, entry))
    }

    /// Removes an object whose trees are gone. A table's indexes are removed with it.
    pub(crate) fn without(&self, id: ObjectId) -> Catalog {
        let mut next = self.clone();
        next.changed.insert(id);
        if let Some(table) = next.tables.remove(&id)
            && next.names.get(table.schema.name()) == Some(&id)
        {
            next.names.remove(table.schema.name());
        }
        next.aside.retain(|index, aside| *index != id && aside.table != id);
        next
    }

    /// Replaces a table's definition by one that its rows fit as they are.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`].
    pub(crate) fn with_columns_of(&self, schema: Schema) -> Result<(Catalog, Arc<TableEntry>)> {
        let entry = self.existing(schema.name())?;
        assert!(
            entry.schema.fits_rows_of(&schema),
            "only one step of the columns changes a table without its rows"
        );
        let mut next = self.clone();
        let entry = next.replace(entry, |entry| entry.schema = schema);
        Ok((next, entry))
    }

    /// Gives a table another name.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`], [`Error::Taken`]; [`Error::Schema`], if no table can have the new name.
    pub(crate) fn with_table_renamed(
        &self,
        name: &str,
        new_name: &str,
    ) -> Result<(Catalog, Arc<TableEntry>)> {
        let entry = self.existing(name)?;
        self.check_free(new_name)?;
        let schema = entry.schema.renamed(new_name)?;
        let mut next = self.clone();
        next.names.remove(name);
        next.names.insert(new_name.into(), entry.id);
        let entry = next.replace(entry, |entry| entry.schema = schema);
        Ok((next, entry))
    }

    /// Gives a table and its indexes new trees; the caller makes them, and drops the old ones, which are
    /// those of the entry in this catalogue.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`].
    pub(crate) fn with_table_emptied(&self, name: &str) -> Result<(Catalog, Arc<TableEntry>)> {
        let entry = self.existing(name)?;
        let mut next = self.clone();
        let tree = next.new_tree();
        let indexes = entry.indexes.iter();
        let indexes = indexes.map(|index| IndexEntry { id: index.id, tree: next.new_tree() });
        let indexes = indexes.collect();
        let entry = next.replace(entry, |entry| {
            entry.tree = tree;
            entry.indexes = indexes;
        });
        Ok((next, entry))
    }

    /// Adds an index to a table. `schema` is the table's with the new index as its last one.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`], if the table does not exist; [`Error::Schema`], if it already has such an index.
    pub(crate) fn with_index(
        &self,
        schema: &Schema,
    ) -> Result<(Catalog, Arc<TableEntry>, IndexEntry)> {
        let entry = self.existing(schema.name())?;
        let index = schema.indexes().last().cloned();
        let mut definition = entry.schema.definition().clone();
        definition.indexes.push(index.expect("the new index is the schema's last"));
        let schema = Schema::checked(definition)?;
        let mut next = self.clone();
        let index = IndexEntry { id: next.new_object(), tree: next.new_tree() };
        let entry = next.replace(entry, |entry| {
            entry.schema = schema;
            entry.indexes.push(index);
        });
        Ok((next, entry, index))
    }

    /// The same tables; new objects get numbers that neither catalogue has used yet.
    pub(crate) fn with_numbers_of(&self, other: &Catalog) -> Catalog {
        Catalog {
            next_object: self.next_object.max(other.next_object),
            next_tree: self.next_tree.max(other.next_tree),
            ..self.clone()
        }
    }

    /// The same tables; new trees get numbers after that one.
    pub(crate) fn with_trees_behind(&self, tree: TreeId) -> Catalog {
        Catalog { next_tree: self.next_tree.max(tree.0 + 1), ..self.clone() }
    }

    /// Marks an index as being dropped: its name is free; the caller drops its tree.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`].
    pub(crate) fn with_index_dropping(
        &self,
        table: &str,
        name: &str,
    ) -> Result<(Catalog, IndexEntry)> {
        let entry = self.existing(table)?;
        let at = entry.schema.index(name).ok_or_else(|| no_such("index", name))?;
        let mut definition = entry.schema.definition().clone();
        let index: Index = definition.indexes.remove(at);
        let schema = Schema::checked(definition)?;
        let gone = entry.indexes[at];
        let mut next = self.clone();
        let aside =
            PendingIndex { table: entry.id, tree: gone.tree, state: State::Dropping, index };
        next.aside.insert(gone.id, aside);
        next.replace(entry, |entry| {
            entry.schema = schema;
            entry.indexes.remove(at);
        });
        Ok((next, gone))
    }

    fn existing(&self, name: &str) -> Result<&Arc<TableEntry>> {
        self.table(name).ok_or_else(|| no_such("table", name))
    }

    fn check_free(&self, name: &str) -> Result<()> {
        if self.names.contains_key(name) {
            let name = name.to_owned();
            return Err(Error::Taken { kind: "table", name });
        }
        Ok(())
    }

    fn new_object(&mut self) -> ObjectId {
        let id = ObjectId(self.next_object);
        self.next_object = id.0.checked_add(1).expect("32 bits of object numbers never run out");
        id
    }

    fn new_tree(&mut self) -> TreeId {
        let tree = TreeId(self.next_tree);
        self.next_tree = tree.0.checked_add(1).expect("32 bits of tree numbers never run out");
        tree
    }

    fn replace(
        &mut self,
        entry: &Arc<TableEntry>,
        change: impl FnOnce(&mut TableEntry),
    ) -> Arc<TableEntry> {
        let mut changed = TableEntry::clone(entry);
        changed.generation += 1;
        change(&mut changed);
        let changed = Arc::new(changed);
        self.tables.insert(changed.id, Arc::clone(&changed));
        self.changed.insert(changed.id);
        changed
    }
}

fn no_such(kind: &'static str, name: &str) -> Error {
    let name = name.to_owned();
    Error::NoSuch { kind, name }
}
