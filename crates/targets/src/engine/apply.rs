//! A transaction's writes made on the tables, all or none, under the locks of all their shards.
//!
//! Each write searches its tree once and moves key and row into it. What is refused is found on the
//! way; then the writes before it are undone, before anybody could see them.

use super::key::Key;
use super::record;
use super::table::{Row, Shard, Table};
use super::writes::{Change, Refusal, Refused, Write, updated};
use std::collections::btree_map::Entry;
use std::sync::MutexGuard;

/// The locked shards of a transaction, by table and shard.
pub(super) struct Locked<'t>(Vec<((usize, usize), MutexGuard<'t, Shard>)>);

impl<'t> Locked<'t> {
    /// Locks in the order of tables and shards.
    pub(super) fn new(tables: &'t [Table], writes: &[Write]) -> Locked<'t> {
        let mut places: Vec<_> = writes
            .iter()
            .map(|write| (write.table, Table::shard_of(&write.key)))
            .collect();
        places.sort_unstable();
        places.dedup();
        let lock = |(table, shard): (usize, usize)| ((table, shard), tables[table].lock(shard));
        Locked(places.into_iter().map(lock).collect())
    }

    fn shard(&mut self, table: usize, key: &Key) -> &mut Shard {
        let place = (table, Table::shard_of(key));
        let index = self.0.binary_search_by_key(&place, |(place, _)| *place);
        let index = index.expect("every shard of the transaction is locked");
        &mut self.0[index].1
    }

    /// Makes the writes, emptying their list, and appends their rows to the record.
    pub(super) fn apply_all(
        &mut self,
        writes: &mut Vec<Write>,
        record: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let mut undo = Vec::with_capacity(writes.len());
        for write in writes.drain(..) {
            let (table, key) = (write.table, write.key.clone());
            match apply(write, self.shard(table, &key), record) {
                Ok(before) => undo.push((table, key, before)),
                Err(refused) => {
                    self.undo(undo);
                    return Err(refused);
                }
            }
        }
        Ok(())
    }

    fn undo(&mut self, undo: Vec<(usize, Key, Option<Row>)>) {
        for (table, key, before) in undo.into_iter().rev() {
            let shard = self.shard(table, &key);
            match before {
                Some(row) => shard.insert(key, row),
                None => shard.remove(&key),
            };
        }
    }
}

/// Makes one write on its shard, and appends its row to the record. Gives the row that was there
/// before; a refused write changes neither.
#[inline]
pub(super) fn apply(
    write: Write,
    shard: &mut Shard,
    record: &mut Vec<u8>,
) -> Result<Option<Row>, Refused> {
    let Write {
        table,
        key,
        change,
        operation,
    } = write;
    let refused = |why| Refused { why, operation };
    match change {
        Change::Insert(row) => match shard.entry(key) {
            Entry::Occupied(_) => Err(refused(Refusal::Duplicate)),
            Entry::Vacant(vacant) => {
                record::put_row(record, table, vacant.key(), Some(&row));
                vacant.insert(row);
                Ok(None)
            }
        },
        Change::Update { sets, values } => {
            let row = shard.get_mut(&key).ok_or(refused(Refusal::Absent))?;
            let after = updated(row, &sets, &values).map_err(refused)?;
            record::put_row(record, table, &key, Some(&after));
            Ok(Some(std::mem::replace(row, after)))
        }
        Change::Delete => {
            let row = shard.remove(&key).ok_or(refused(Refusal::Absent))?;
            record::put_row(record, table, &key, None);
            Ok(Some(row))
        }
    }
}
