//! The effects of every commit, in plain collections outside the database.
//!
//! A row has a list of versions, each with the commit that made it, so that the state after any commit since
//! the last opening can be compared. So has a table.

use super::harness::{Failure, SimulatedEngine};
use crate::access::btree::Tree;
use crate::buffer::Buffer;
use crate::catalog::TableEntry;
use crate::ids::TreeId;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::Arc;

/// The bytes of a row.
pub(super) type Value = Rc<[u8]>;

/// A row that a commit changed: the tree, the key, and its new value.
pub(super) type Effect = (TreeId, Vec<u8>, Option<Value>);

type Versions<T> = Vec<(u64, Option<T>)>;

/// The expected contents of the database after each commit.
#[derive(Clone, Debug, Default)]
pub(super) struct Oracle {
    rows: BTreeMap<TreeId, BTreeMap<Vec<u8>, Versions<Value>>>,
    tables: BTreeMap<String, Versions<Arc<TableEntry>>>,
    /// The commit that made each tree, since the last opening.
    made: BTreeMap<TreeId, u64>,
    /// States before this commit are not known any more.
    pub(super) opened_at: u64,
    /// The last number that was taken.
    pub(super) last: u64,
    /// The last acknowledged commit.
    pub(super) promised: u64,
}

/// The version in force after a commit.
fn at<T>(versions: &[(u64, Option<T>)], csn: u64) -> Option<&T> {
    let made = versions.partition_point(|(by, _)| *by <= csn);
    versions[..made].last().and_then(|(_, value)| value.as_ref())
}

impl Oracle {
    /// A row after a commit.
    pub(super) fn row(&self, tree: TreeId, key: &[u8], csn: u64) -> Option<&Value> {
        let versions = self.rows.get(&tree)?.get(key)?;
        at(versions, csn)
    }

    /// The commit that wrote the version of a row in force after `csn`; 0 if none since the last opening.
    pub(super) fn maker(&self, tree: TreeId, key: &[u8], csn: u64) -> u64 {
        let versions = self.rows.get(&tree).and_then(|rows| rows.get(key));
        let versions = versions.map_or(&[][..], |versions| &versions[..]);
        let made = versions.partition_point(|(by, _)| *by <= csn);
        versions[..made].last().map_or(0, |(by, _)| *by)
    }

    /// True if a commit after `from` and up to `to` changed the row.
    pub(super) fn changed(&self, tree: TreeId, key: &[u8], from: u64, to: u64) -> bool {
        let versions = self.rows.get(&tree).and_then(|rows| rows.get(key));
        let Some(versions) = versions else {
            return false;
        };
        let between = |(by, _): &&(u64, _)| *by > from && *by <= to;
        let now = |(by, _): &(u64, _)| at(versions, *by) != at(versions, *by - 1);
        versions.iter().filter(between).any(now)
    }

    /// The rows of a range after a commit.
    pub(super) fn range(
        &self,
        tree: TreeId,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        csn: u64,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &Value)> {
        let rows = self.rows.get(&tree);
        let rows = rows.into_iter().flat_map(move |rows| rows.range::<[u8], _>((lower, upper)));
        rows.filter_map(move |(key, versions)| Some((&key[..], at(versions, csn)?)))
    }

    /// A table after a commit.
    pub(super) fn table(&self, name: &str, csn: u64) -> Option<&Arc<TableEntry>> {
        at(self.tables.get(name)?, csn)
    }

    /// A number was taken, with no known effect so far.
    pub(super) fn take(&mut self, csn: u64) {
        self.last = self.last.max(csn);
    }

    /// Records a published commit.
    pub(super) fn commit(&mut self, csn: u64, effects: impl IntoIterator<Item = Effect>) {
        assert!(csn > self.last, "commits come in order");
        self.last = csn;
        for (tree, key, value) in effects {
            let versions = self.rows.entry(tree).or_default().entry(key).or_default();
            versions.push((csn, value));
        }
    }

    /// Records that a commit, published before, defined a table or dropped it.
    pub(super) fn define(&mut self, csn: u64, name: &str, entry: Option<Arc<TableEntry>>) {
        let before = self.table(name, csn - 1).cloned();
        let known: Vec<TreeId> = before.iter().flat_map(|entry| trees(entry)).collect();
        let new = entry.iter().flat_map(|entry| trees(entry));
        for tree in new.filter(|tree| !known.contains(tree)) {
            self.made.insert(tree, csn);
        }
        self.tables.entry(name.to_owned()).or_default().push((csn, entry));
    }

    /// The commit that made a tree; 0 if none since the last opening.
    pub(super) fn made(&self, tree: TreeId) -> u64 {
        self.made.get(&tree).copied().unwrap_or_default()
    }

    /// True if a table had that tree after a commit up to `csn`, since the last opening.
    fn was_named(&self, tree: TreeId, csn: u64) -> bool {
        let versions = self.tables.values().flatten();
        let mut then = versions.filter(|(by, _)| *by <= csn);
        then.any(|(_, entry)| entry.iter().flat_map(|entry| trees(entry)).any(|id| id == tree))
    }

    /// Everything up to `csn` was acknowledged.
    pub(super) fn promise(&mut self, csn: u64) {
        self.promised = self.promised.max(csn);
    }

    /// Compares an engine directly after its opening. Returns the last commit that it holds.
    /// Rows are compared only if it `reads_pages`.
    pub(super) fn check_opened(
        &self,
        engine: &SimulatedEngine,
        reads_pages: bool,
    ) -> Result<u64, Failure> {
        let published = engine.core.log.published().0;
        if published < self.promised || published > self.last {
            return Err(Failure::Broken(format!(
                "it ends at {published}, but commits up to {} of {} were acknowledged",
                self.promised, self.last
            )));
        }
        if reads_pages {
            self.compare(engine, published).map_err(|failure| match failure {
                Failure::Broken(what) => {
                    Failure::Broken(format!("after commit {published} of {}: {what}", self.last))
                }
                refused @ Failure::Refused(_) => refused,
            })?;
        }
        let mut freed = engine.redone.unnamed_trees.iter();
        if let Some(tree) = freed.find(|tree| self.was_named(**tree, published)) {
            let what = format!("opening freed {tree}, but the log should have dropped it");
            return Err(Failure::Broken(what));
        }
        Ok(published)
    }

    /// Explains the first difference between the engine's state and the one after a commit.
    pub(super) fn compare(&self, engine: &SimulatedEngine, csn: u64) -> Result<(), Failure> {
        let broken = |what| Err(Failure::Broken(what));
        let catalog = engine.catalog();
        let mut found = catalog.tables();
        for (name, versions) in &self.tables {
            let Some(expected) = at(versions, csn) else {
                continue;
            };
            if found.next() != Some(expected) {
                return broken(format!("table {name} is missing or has changed"));
            }
        }
        if let Some(more) = found.next() {
            return broken(format!("table {} should not exist", more.schema.name()));
        }
        for table in catalog.tables() {
            for id in catalog.trees_of(table) {
                let Some(tree) = engine.tree_directory.tree(id) else {
                    return broken(format!("{id} is not in the tree directory"));
                };
                if let Some(what) = self.compare_tree(&engine.core.buffer, &tree, csn)? {
                    return broken(format!("{id} of table {}: {what}", table.schema.name()));
                }
            }
        }
        Ok(())
    }

    /// The first difference between a tree and its rows; fails if the disk does.
    fn compare_tree(
        &self,
        buffer: &Buffer,
        tree: &Tree,
        csn: u64,
    ) -> crate::Result<Option<String>> {
        let mut expected = self.range(tree.id, (Bound::Unbounded, Bound::Unbounded), csn);
        let mut wrong = None;
        tree.walk(buffer, &mut |key, value| {
            let next = expected.next();
            let fits = next.is_some_and(|(known, row)| known == key && row[..] == *value);
            if !fits && wrong.is_none() {
                let next = next.map(|(key, row)| (key, short(row)));
                wrong = Some(format!("{key:?} = {:?} where {next:?} follows", short(value)));
            }
            Ok(())
        })?;
        let missing = || expected.next().map(|(key, _)| format!("row {key:?} is missing"));
        Ok(wrong.or_else(missing))
    }

    /// The database continues after commit `csn`: later commits are lost for good, the rest stays.
    pub(super) fn truncate_after(&mut self, csn: u64) {
        for rows in self.rows.values_mut() {
            rows.retain(|_, versions| truncate(versions, csn));
        }
        self.tables.retain(|_, versions| truncate(versions, csn));
        let tables = self.tables.values().filter_map(|versions| at(versions, csn));
        let there: Vec<TreeId> = tables.flat_map(|table| trees(table)).collect();
        self.rows.retain(|tree, _| there.contains(tree));
        self.made.clear();
        (self.opened_at, self.last, self.promised) = (csn, csn, csn);
    }
}

/// The trees of a table.
fn trees(entry: &TableEntry) -> impl Iterator<Item = TreeId> + use<'_> {
    let indexes = entry.indexes.iter().map(|index| index.tree);
    indexes.chain([entry.tree])
}

/// Leaves the one version that is in force after a commit; false if there is none.
fn truncate<T>(versions: &mut Versions<T>, csn: u64) -> bool {
    let made = versions.partition_point(|(by, _)| *by <= csn);
    versions.truncate(made);
    let last = versions.pop().filter(|(_, value)| value.is_some());
    versions.clear();
    versions.extend(last);
    !versions.is_empty()
}

/// Length and beginning of a value, for messages.
pub(super) fn short(value: &[u8]) -> (usize, &[u8]) {
    (value.len(), &value[..value.len().min(24)])
}
