//! A statement of a client: a read, a range, a write with its index entries, a savepoint.

use super::client::StatementOutcome;
use super::episode::{CLIENTS, Episode, EpisodeEnd, broken};
use super::harness::Harness;
use super::oracle::Value;
use super::rows::{self, Table};
use super::transaction::{Bounds, Transaction, Write};
use crate::access::btree::Tree;
use crate::txn::Direction;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

/// The largest limit of a scan.
const LIMIT_MAX: usize = 12;

/// For about that many statements of a client its loads stay under way, so that pages change meanwhile.
const LOAD_STATEMENTS: u8 = 24;

impl Episode<'_> {
    /// Runs a statement in a client's open transaction.
    pub(super) fn statement(&mut self) -> Result<(), EpisodeEnd> {
        let at = self.harness.random.usize(0..CLIENTS);
        if self.clients[at].open.is_none() {
            return self.begin(at);
        }
        if self.clients[at].is_loading() && self.harness.random.u8(0..LOAD_STATEMENTS) == 0 {
            self.clients[at].wait_for_loads();
            self.harness.tally.background_loads += 1;
        }
        let Some(table) = self.table(at) else {
            return Ok(());
        };
        let is_read_only = self.clients[at].open.as_ref().is_some_and(Transaction::is_read_only);
        match self.harness.random.u8(if is_read_only { 0..10 } else { 0..26 }) {
            0..6 => {
                let id = self.id();
                let key = rows::key(&table.entry.schema, id);
                let client = &mut self.clients[at];
                if self.engine.core.buffer.may_miss()
                    && self.harness.random.bool()
                    && client.begin_load(&table.rows, &key)
                {
                    return Ok(());
                }
                let answer = client.get(&self.harness.oracle, &table.rows, &key)?;
                self.end_if_refused(at, &answer);
                Ok(())
            }
            6..10 => self.scan(at, &table),
            10..24 => self.write(at, &table),
            24 => {
                self.clients[at].save();
                Ok(())
            }
            _ => {
                let txn = self.clients[at].open.as_ref();
                let savepoints = txn.map_or(0, Transaction::savepoints);
                if savepoints > 0 {
                    let savepoint = self.harness.random.usize(0..savepoints);
                    self.clients[at].roll_back(savepoint);
                }
                Ok(())
            }
        }
    }

    /// A table that the transaction has used, or one whose definition is the same at its read point as now;
    /// in some cases one that was made or changed later.
    pub(super) fn table(&mut self, at: usize) -> Option<Table> {
        let Harness { random, oracle, .. } = &mut *self.harness;
        let txn = self.clients[at].open.as_mut().expect("a transaction is open");
        if !txn.tables.is_empty() && random.u8(0..4) > 0 {
            return Some(txn.tables[random.usize(0..txn.tables.len())].clone());
        }
        let catalog = self.engine.catalog();
        let tables: Vec<_> = catalog.tables().collect();
        if tables.is_empty() {
            return None;
        }
        let entry = tables[random.usize(0..tables.len())];
        let is_known = oracle.table(entry.schema.name(), txn.point) == Some(entry);
        if !is_known && random.u8(0..3) > 0 {
            return None;
        }
        let tree = |id| self.engine.tree_directory.tree(id).expect("a table's trees are there");
        let table = Table {
            entry: Arc::clone(entry),
            rows: tree(entry.tree),
            indexes: entry.indexes.iter().map(|index| tree(index.tree)).collect(),
        };
        let known = txn.tables.iter().position(|known| known.entry.tree == entry.tree);
        match known {
            None => txn.tables.push(table.clone()),
            // A renewed handle makes the old one stale.
            Some(at) => {
                txn.is_mixed |= txn.has_writes() && txn.tables[at].entry != table.entry;
                txn.tables[at] = table.clone();
            }
        }
        Some(table)
    }

    /// Reads a range.
    pub(super) fn scan(&mut self, at: usize, table: &Table) -> Result<(), EpisodeEnd> {
        let random = &mut self.harness.random;
        let index = match table.indexes.len() {
            0 => None,
            _ if random.bool() => None,
            count => Some(random.usize(0..count)),
        };
        let tree = index.map_or(&table.rows, |index| &table.indexes[index]);
        let (one, other) = (self.bound(table, index), self.bound(table, index));
        let random = &mut self.harness.random;
        let limit = if random.bool() { usize::MAX } else { random.usize(1..LIMIT_MAX) };
        let direction = [Direction::Ascending, Direction::Descending][random.usize(0..2)];
        let bounds = in_order(one, other);
        let client = &mut self.clients[at];
        let answer = client.scan(&self.harness.oracle, tree, bounds, (direction, limit))?;
        self.end_if_refused(at, &answer);
        match (index, answer) {
            (Some(index), StatementOutcome::That(entries)) if !self.is_mixed(at) => {
                self.follow(at, table, index, &entries)
            }
            _ => Ok(()),
        }
    }

    /// A table was changed after the transaction wrote: the layer above refuses it from then on.
    fn is_mixed(&self, at: usize) -> bool {
        self.clients[at].open.as_ref().is_none_or(|txn| txn.is_mixed)
    }

    /// Reads the rows to which some index entries lead, as the layer above does. Each entry must match its
    /// row as the transaction sees it.
    fn follow(
        &mut self,
        at: usize,
        table: &Table,
        index: usize,
        entries: &[(Vec<u8>, Vec<u8>)],
    ) -> Result<(), EpisodeEnd> {
        let (schema, keys_only) = (&table.entry.schema, self.harness.random.u8(0..4) == 0);
        let most = self.harness.random.usize(1..LIMIT_MAX);
        for (entry, value) in entries.iter().take(most) {
            let key = rows::key_of_entry(schema, index, (entry, value)).map_err(broken)?;
            let (client, oracle) = (&mut self.clients[at], &self.harness.oracle);
            if keys_only {
                let answer = client.check_entry(oracle, &table.rows, &key)?;
                if let StatementOutcome::Refused = answer {
                    self.end_if_refused(at, &answer);
                    return Ok(());
                }
                continue;
            }
            match client.get_of_entry(oracle, &table.rows, &key)? {
                StatementOutcome::That(row)
                    if rows::entry(schema, index, &key, &row).0 == *entry => {}
                StatementOutcome::That(_) => {
                    let what = format!(
                        "the entry {entry:?} leads to row {key:?}, which has another entry"
                    );
                    return Err(broken(what));
                }
                refused @ StatementOutcome::Refused => {
                    self.end_if_refused(at, &refused);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The end of a range.
    fn bound(&mut self, table: &Table, index: Option<usize>) -> Bound<Vec<u8>> {
        let id = self.id();
        let schema = &table.entry.schema;
        let key = match index {
            None => rows::key(schema, id),
            Some(index) => {
                let (key, row) = rows::row(schema, id, false, &mut self.harness.random);
                rows::entry(schema, index, &key, &row).0
            }
        };
        match self.harness.random.u8(0..4) {
            0 => Bound::Unbounded,
            1 => Bound::Excluded(key),
            _ => Bound::Included(key),
        }
    }

    /// Writes a row and the changes of the table's index entries.
    fn write(&mut self, at: usize, table: &Table) -> Result<(), EpisodeEnd> {
        if !table.is_current(&self.engine) {
            // It could not even read the row; the layer above ends such a transaction.
            self.clients[at].abort();
            self.ended(at);
            return Ok(());
        }
        let schema = &table.entry.schema;
        let kind = self.harness.random.u8(0..14);
        // Some deletes and inserts target a row that the transaction has just written.
        let last = self.clients[at].open.as_ref().and_then(|txn| txn.last_id);
        let id = match last {
            Some(id) if self.harness.random.u8(0..4) == 0 => id,
            _ => self.id_of(table, (4..7).contains(&kind)),
        };
        if let Some(txn) = &mut self.clients[at].open {
            txn.last_id = Some(id);
        }
        let (is_heavy, random) = (self.harness.is_heavy, &mut self.harness.random);
        let (key, row) = rows::row(schema, id, is_heavy, random);
        let row: Value = row.into();
        let write = match kind {
            0..4 => Write::Put(row),
            4..7 => Write::Insert(row),
            7..9 => Write::Update(row),
            9..12 => Write::Delete,
            _ => Write::Append(rows::patch(random).into()),
        };
        let client = &mut self.clients[at];
        let mut old = None;
        // An insert is blind, as in the layer above.
        let reads = !matches!(write, Write::Append(_) | Write::Insert(_));
        if !table.indexes.is_empty() && reads {
            match client.get(&self.harness.oracle, &table.rows, &key)? {
                StatementOutcome::That(row) => old = row,
                refused @ StatementOutcome::Refused => {
                    self.end_if_refused(at, &refused);
                    return Ok(());
                }
            }
        }
        self.write_entries(at, table, (&key, old.as_deref()), &write)?;
        self.put(at, &table.rows, &key, write)
    }

    fn write_entries(
        &mut self,
        at: usize,
        table: &Table,
        (key, old): (&[u8], Option<&[u8]>),
        write: &Write,
    ) -> Result<(), EpisodeEnd> {
        let schema = &table.entry.schema;
        let new = match write {
            Write::Put(row) | Write::Insert(row) | Write::Update(row) => Some(row),
            Write::Delete => None,
            Write::Append(_) => return Ok(()),
        };
        for (index, tree) in table.indexes.iter().enumerate() {
            let old = old.map(|old| rows::entry(schema, index, key, old));
            let new = new.map(|new| rows::entry(schema, index, key, new));
            if old == new {
                continue;
            }
            if let Some((entry, _)) = old {
                self.put(at, tree, &entry, Write::Delete)?;
            }
            if let Some((entry, value)) = new {
                let is_unique = schema.indexes()[index].is_unique();
                let write = if is_unique { Write::Insert } else { Write::Put };
                self.put(at, tree, &entry, write(value.into()))?;
            }
        }
        Ok(())
    }

    fn put(
        &mut self,
        at: usize,
        tree: &Arc<Tree>,
        key: &[u8],
        write: Write,
    ) -> Result<(), EpisodeEnd> {
        let client = &mut self.clients[at];
        if client.open.is_none() {
            return Ok(());
        }
        let answer = client.write(&self.harness.oracle, tree, key, write)?;
        if let StatementOutcome::Refused = answer {
            // A part of a row's writes must not be committed.
            self.clients[at].abort();
            self.ended(at);
        }
        Ok(())
    }

    /// After a refusal or a conflict the transaction usually ends.
    fn end_if_refused<T>(&mut self, at: usize, answer: &StatementOutcome<T>) {
        if let StatementOutcome::Refused = answer
            && self.harness.random.u8(0..4) > 0
        {
            self.clients[at].abort();
            self.ended(at);
        }
    }

    fn id(&mut self) -> u32 {
        self.harness.random.u32(0..self.harness.ids)
    }

    /// The number of an existing row, or of an absent one; usually.
    fn id_of(&mut self, table: &Table, is_absent: bool) -> u32 {
        let mut id = self.id();
        for _ in 0..6 {
            let key = rows::key(&table.entry.schema, id);
            let oracle = &self.harness.oracle;
            if oracle.row(table.rows.id, &key, oracle.last).is_none() == is_absent {
                break;
            }
            id = self.id();
        }
        id
    }
}

/// A range of keys from two ends.
fn in_order(one: Bound<Vec<u8>>, other: Bound<Vec<u8>>) -> Bounds {
    let (Bound::Included(low) | Bound::Excluded(low)) = &one else {
        return (one, other);
    };
    let (Bound::Included(high) | Bound::Excluded(high)) = &other else {
        return (one, other);
    };
    match low.cmp(high) {
        Ordering::Less => (one, other),
        Ordering::Greater => (other, one),
        Ordering::Equal => (Bound::Included(low.clone()), Bound::Included(high.clone())),
    }
}
