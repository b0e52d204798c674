//! What stands in a log record.
//!
//! A record's content: count of rows (4 bytes), then for each its table (4), 1 if a row follows and 0
//! if it was deleted (1), the key's length (4) and bytes, the row's length (4) and bytes. Rows stand
//! in the order in which they were changed; of a row that was changed twice the last counts. The first
//! record of a log names the tables instead: 4 bytes of ones, then each name with its length (4).

use super::key::Key;
use super::table::Table;
use super::writes::{Change, Write};
use syncline_contract::Plan;

const NAMES: u32 = u32::MAX;

/// What a row of a record takes beside key and row.
const ROW_HEADER_BYTES: usize = 4 + 1 + 4 + 4;

/// The longest record that the writes can give: an updated row may have grown meanwhile by what
/// others have set, which is at most a record of the cap's share; so updates claim generously.
pub(super) fn bytes_max(writes: &[Write]) -> usize {
    const GROWTH_BYTES: usize = 64 << 10;
    let of = |write: &Write| {
        let row = match &write.change {
            Change::Insert(row) => row.len(),
            Change::Update { values, .. } => values.len() + GROWTH_BYTES,
            Change::Delete => 0,
        };
        ROW_HEADER_BYTES + write.key.len() + row
    };
    4 + writes.iter().map(of).sum::<usize>()
}

/// Begins a record of that many rows.
#[inline]
pub(super) fn start(record: &mut Vec<u8>, rows: usize) {
    record.clear();
    record.extend_from_slice(&(rows as u32).to_le_bytes());
}

/// Appends a row as it is after the transaction; none if it is deleted.
#[inline]
pub(super) fn put_row(record: &mut Vec<u8>, table: usize, key: &Key, row: Option<&[u8]>) {
    record.extend_from_slice(&(table as u32).to_le_bytes());
    record.push(u8::from(row.is_some()));
    record.extend_from_slice(&(key.len() as u32).to_le_bytes());
    key.put(record);
    let row = row.unwrap_or_default();
    record.extend_from_slice(&(row.len() as u32).to_le_bytes());
    record.extend_from_slice(row);
}

/// The first record of a log.
pub(super) fn names(plan: &Plan) -> Vec<u8> {
    let mut record = NAMES.to_le_bytes().to_vec();
    for table in plan.tables() {
        record.extend_from_slice(&(table.name.len() as u32).to_le_bytes());
        record.extend_from_slice(table.name.as_bytes());
    }
    record
}

/// Applies a record; none if it is not of these tables.
pub(super) fn apply(tables: &[Table], plan: &Plan, record: &[u8]) -> Option<()> {
    let mut rest = record;
    let count = take_u32(&mut rest)?;
    if count == NAMES {
        return (record == names(plan)).then_some(());
    }
    for _ in 0..count {
        let table = tables.get(take_u32(&mut rest)? as usize)?;
        let (is_there, after) = rest.split_first()?;
        rest = after;
        let key = Key::new(take_bytes(&mut rest)?);
        let row = take_bytes(&mut rest)?;
        let mut shard = table.lock(Table::shard_of(&key));
        if *is_there == 1 {
            shard.insert(key, row.into());
        } else {
            shard.remove(&key);
        }
    }
    rest.is_empty().then_some(())
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (taken, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*taken))
}

fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_u32(bytes)? as usize;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}
