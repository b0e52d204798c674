//! Handles of tables and of their indexes.

use crate::access::btree::Tree;
use crate::access::schema::Schema;
use crate::catalog::TableEntry;
use crate::error::{Error, Result};
use crate::ids::TreeId;
use crate::origin::Origin;
use crate::planted_bug::{PlantedBug, planted};
use std::fmt;
use std::sync::Arc;

/// A table, as named in calls. Cheap to clone. Valid until the table is dropped or changed: then calls fail
/// with [`Error::TableChanged`], and the table must be opened again. It belongs to the opened database that
/// returned it: any other one, and the same one after reopening, fails with [`Error::OtherDatabase`].
#[derive(Clone)]
pub struct Table {
    inner: Arc<Inner>,
}

struct Inner {
    origin: Arc<Origin>,
    entry: Arc<TableEntry>,
    tree: Arc<Tree>,
    /// The trees of its indexes, in the schema's order.
    indexes: Box<[Arc<Tree>]>,
}

impl Table {
    /// A handle. `tree` returns the trees that the catalogue names.
    pub(crate) fn new(
        origin: &Arc<Origin>,
        entry: &Arc<TableEntry>,
        tree: impl Fn(TreeId) -> Arc<Tree>,
    ) -> Table {
        let indexes = entry.indexes.iter().map(|index| tree(index.tree));
        Table {
            inner: Arc::new(Inner {
                origin: Arc::clone(origin),
                tree: tree(entry.tree),
                indexes: indexes.collect(),
                entry: Arc::clone(entry),
            }),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.schema().name()
    }

    /// Its definition.
    pub fn schema(&self) -> &Schema {
        &self.inner.entry.schema
    }

    /// The position of a column, which names it in rows and changes.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`].
    pub fn column(&self, name: &str) -> Result<usize> {
        let column = self.schema().column(name);
        column.ok_or_else(|| no_such("column", name))
    }

    /// A path by one of its indexes, for reads.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`].
    pub fn by(&self, index: &str) -> Result<Path<'_>> {
        let position = self.schema().index(index);
        Ok(Path { table: self, index: Some(position.ok_or_else(|| no_such("index", index))?) })
    }

    pub(crate) fn tree(&self) -> &Arc<Tree> {
        &self.inner.tree
    }

    pub(super) fn index_tree(&self, index: usize) -> &Arc<Tree> {
        &self.inner.indexes[index]
    }

    pub(super) fn has_indexes(&self) -> bool {
        !self.inner.indexes.is_empty()
    }

    /// The part of the table whose tree has that number.
    pub(super) fn part(&self, tree: TreeId) -> Option<Part<'_>> {
        if self.inner.tree.id == tree {
            return Some(Part::Rows);
        }
        let position = self.inner.indexes.iter().position(|index| index.id == tree)?;
        Some(Part::Index(self.schema().indexes()[position].name()))
    }

    /// True if one of the two was cloned from the other. Compares only the handles.
    #[inline]
    pub(super) fn is_clone_of(&self, other: &Table) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// True for two handles of the same table and definition.
    pub(super) fn is(&self, other: &Table) -> bool {
        Arc::ptr_eq(&self.inner.tree, &other.inner.tree)
    }

    /// True if any tree of the handle is dropped or renewed. This happens to one tree after another, so a
    /// caller that met the first one may find the tree of the rows still valid.
    pub(super) fn is_stale(&self) -> bool {
        let mut trees = self.inner.indexes.iter().chain([&self.inner.tree]);
        trees.any(|tree| tree.is_dropped())
    }

    /// Fails if the handle belongs to another database.
    #[inline]
    pub(crate) fn check_origin(&self, origin: &Arc<Origin>) -> Result<()> {
        if Arc::ptr_eq(&self.inner.origin, origin) || planted(PlantedBug::StaleHandle) {
            return Ok(());
        }
        Err(self.of_other(origin))
    }

    #[cold]
    fn of_other(&self, origin: &Origin) -> Error {
        Error::OtherDatabase {
            object: format!("table {}", self.name()),
            found: origin.name_of_other(&self.inner.origin),
            expected: origin.to_string(),
        }
    }

    /// Fails if the handle is stale.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.inner.tree.is_dropped() {
            let table = self.name().to_owned();
            return Err(Error::TableChanged { table });
        }
        Ok(())
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({})", self.name())
    }
}

/// A part of a table with its own tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'t> {
    /// Its rows.
    Rows,
    /// The index of that name.
    Index(&'t str),
}

/// The order in which rows are read: a table's primary key, or one of its indexes.
#[derive(Clone, Copy, Debug)]
pub struct Path<'t> {
    pub(super) table: &'t Table,
    pub(super) index: Option<usize>,
}

impl<'t> From<&'t Table> for Path<'t> {
    fn from(table: &'t Table) -> Path<'t> {
        Path { table, index: None }
    }
}

fn no_such(kind: &'static str, name: &str) -> Error {
    let name = name.to_owned();
    Error::NoSuch { kind, name }
}
