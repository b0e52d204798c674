//! A small store with one table: small pages, its log on a simulated disk.

use crate::access::btree::Tree;
use crate::access::row::{RowView, entry_key};
use crate::access::schema::Schema;
use crate::buffer::BufferOptions;
use crate::catalog::Catalog;
use crate::ids::TreeId;
use crate::log::Threads;
use crate::table::{Table, TypedSession};
use crate::txn::{Begin, Core, Direction, Scan, Session, TxnOptions, simulated_core};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use syncline_vfs::SimulatedDisk;

pub(super) type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// A core with one table.
pub(super) struct Store {
    pub(super) core: Arc<Core<SimulatedDisk>>,
    pub(super) table: Table,
    trees: BTreeMap<TreeId, Arc<Tree>>,
}

impl Store {
    /// An empty store with that table. Every n-th access to a page misses.
    pub(super) fn new(schema: Schema, miss_every: Option<u32>) -> Store {
        let buffer = BufferOptions { page_bytes: 4096, miss_every, ..BufferOptions::default() };
        let core = simulated_core(&buffer, TxnOptions::default(), Threads::Own);
        let (catalog, entry) = Catalog::new().with_table(schema).expect("the name is free");
        let ids = catalog.trees_of(&entry);
        let tree = |id| Arc::new(Tree::create(id, &core.buffer).expect("room for a tree"));
        let trees: BTreeMap<_, _> = ids.into_iter().map(|id| (id, tree(id))).collect();
        Store {
            table: Table::new(&core.origin, &entry, |id| Arc::clone(&trees[&id])),
            core: Arc::new(core),
            trees,
        }
    }

    pub(super) fn session(&self) -> TypedSession<SimulatedDisk> {
        TypedSession::new(&self.core).expect("a seat")
    }

    /// Everything in a tree, as a new transaction sees it.
    fn rows(&self, tree: &Arc<Tree>) -> Rows {
        let mut session = Session::new(&self.core).expect("a seat");
        session.begin(Begin::Serializable).expect("the log is sound");
        let all = Scan {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            direction: Direction::Ascending,
            limit: usize::MAX,
        };
        let mut rows = Rows::new();
        let scanned = session.scan(tree, all, |key, value| {
            rows.insert(key.to_vec(), value.to_vec());
            ControlFlow::Continue(())
        });
        scanned.expect("no other transaction runs");
        rows
    }

    /// The table's rows as bytes.
    pub(super) fn table_rows(&self) -> Rows {
        self.rows(self.table.tree())
    }

    /// True if the trees of the indexes hold exactly the entries of the table's rows.
    pub(super) fn indexes_follow(&self) -> bool {
        let schema = self.table.schema();
        let mut expected = vec![Rows::new(); schema.indexes().len()];
        let mut plain = Vec::new();
        for (key, row) in self.table_rows() {
            let view = RowView::open(schema, &key, &row, &mut plain).expect("a whole row");
            view.check().expect("a whole row");
            for (index, entries) in expected.iter_mut().enumerate() {
                let mut entry = Vec::new();
                entry_key(schema, index, &view, &mut entry).expect("a whole row");
                let is_unique = schema.indexes()[index].is_unique();
                let value = if is_unique { key.clone() } else { Vec::new() };
                if entries.insert(entry, value).is_some() {
                    return false;
                }
            }
        }
        let entries = |index: usize| self.rows(self.table.index_tree(index));
        (0..expected.len()).all(|index| entries(index) == expected[index])
    }

    /// Asserts that the trees are well formed.
    pub(super) fn assert_sound(&self) {
        self.core.log.flush().expect("the disk is sound");
        self.core.sweep();
        for tree in self.trees.values() {
            assert_eq!(tree.check(&self.core.buffer), Vec::<String>::new());
        }
        assert_eq!(self.core.open_transactions(), 0);
    }
}
