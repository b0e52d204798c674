//! A table and its indexes as the catalogue stores them.

use crate::access::schema::Schema;
use crate::ids::TreeId;
use std::fmt;

/// The number of a table or an index, never used again. The first is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectId(pub(crate) u32);

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object {}", self.0)
    }
}

/// Whether an object may be used; see the parent module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// An earlier program was filling its tree.
    Building,
    /// In use.
    Ready,
    /// An earlier program was dropping its tree.
    Dropping,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableEntry {
    pub(crate) id: ObjectId,
    /// The tree of its rows.
    pub(crate) tree: TreeId,
    pub(crate) state: State,
    pub(crate) generation: u32,
    /// Its definition, with the indexes that are ready.
    pub(crate) schema: Schema,
    /// The entries of `schema.indexes()`, in the same order.
    pub(crate) indexes: Vec<IndexEntry>,
}

/// An index that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) id: ObjectId,
    /// The tree of its entries.
    pub(crate) tree: TreeId,
}
