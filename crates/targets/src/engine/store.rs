//! Log and tables: commit, and replay.
//!
//! A record's content: count of rows (4 bytes), then for each its table (4), 1 if a row follows and 0
//! if it was deleted (1), the key's length (4) and bytes, the row's length (4) and bytes. The first
//! record of a log names the tables instead: 4 bytes of ones, then each name with its length (4).
//!
//! Invariants:
//! 1. A commit takes its number and applies its rows under the locks of all their shards. So rows of
//!    one key are logged in the order in which they were applied, and replay ends where memory did.
//! 2. The record is published after the rows were applied.

use super::codec::key_of;
use super::table::{Key, Row, SHARDS, Shard, Table};
use super::writes::{Change, Place, Refusal, Writes};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::MutexGuard;
use syncline_contract::{Failure, FailureKind, KeyGivenBy, Plan, Stop, TargetResult, Value};
use syncline_disk::RealDisk;
use syncline_engine::log::{Log, Options, Ticket};
use syncline_engine::{Csn, DatabaseId, Error};

const NAMES: u32 = u32::MAX;

/// What a row of a record takes beside key and row.
const ROW_HEADER_BYTES: usize = 4 + 1 + 4 + 4;

/// See the module.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) log: Log<RealDisk>,
    pub(super) tables: Vec<Table>,
}

/// Why a commit could not be made.
#[derive(Debug)]
pub(super) enum NotCommitted {
    /// A change does not fit the row that is there now.
    Refused(Refusal),
    /// The log has refused or failed.
    Log(Error),
}

impl Store {
    /// A new log in an empty directory, and empty tables.
    pub(super) fn create(directory: &Path, options: Options, plan: &Plan) -> TargetResult<Store> {
        let database = DatabaseId::random();
        let log = Log::create(&RealDisk, directory, database, options);
        let log = log.map_err(|error| failure(&error))?;
        let named = log_names(&log, plan);
        named.map_err(|error| failure(&error))?;
        Ok(Store {
            log,
            tables: tables(plan),
        })
    }

    /// The log in a directory, replayed into tables.
    pub(super) fn open(directory: &Path, options: &Options, plan: &Plan) -> TargetResult<Store> {
        let tables = tables(plan);
        let mut wrong = None;
        let mut replay = |csn: Csn, record: &[u8]| {
            if apply_record(&tables, plan, record).is_none() {
                wrong.get_or_insert(csn);
            }
        };
        let log = Log::open(&RealDisk, directory, None, Csn::ZERO, options, &mut replay);
        let log = log.map_err(|error| failure(&error))?;
        if let Some(csn) = wrong {
            let what = format!(
                "the record of {csn} in {} is of other tables than this workload's; name its own",
                directory.display()
            );
            return Err(Failure::new(FailureKind::Storage, what));
        }
        let store = Store { log, tables };
        store.find_given_keys(plan);
        Ok(store)
    }

    /// Makes a transaction's changes on the newest rows and publishes them; all or none. `record` is
    /// memory to be used again.
    pub(super) fn commit(
        &self,
        writes: &Writes,
        record: &mut Vec<u8>,
    ) -> Result<(Ticket, usize), NotCommitted> {
        let bytes_max = record_bytes_max(writes);
        let permit = self.log.reserve(bytes_max).map_err(NotCommitted::Log)?;
        let mut shards = self.lock(writes);
        record.clear();
        // One change is the rule, and needs no second look at what it changes.
        let after = match &writes.changes[..] {
            [(place, change)] => {
                let row = shards.get(place);
                let after = change.apply(row);
                vec![(place, after.map_err(NotCommitted::Refused)?)]
            }
            changes => after(changes, &shards)?,
        };
        let reserved = permit.take();
        record.extend_from_slice(&(after.len() as u32).to_le_bytes());
        for (place, row) in after {
            put_row(record, place, row.as_deref());
            shards.set(place, row);
        }
        let bytes = record.len();
        let ticket = reserved.publish(record);
        Ok((ticket, bytes))
    }

    fn lock(&self, writes: &Writes) -> Locked<'_> {
        let of = |(table, key): &Place| (*table, Table::shard_of(key));
        if let [(place, _)] = &writes.changes[..] {
            let (table, shard) = of(place);
            let guard = self.tables[table].lock(shard);
            return Locked::One(guard);
        }
        let mut places: Vec<_> = writes.changes.iter().map(|(place, _)| of(place)).collect();
        places.sort_unstable();
        places.dedup();
        let locked = places
            .into_iter()
            .map(|(table, shard)| ((table, shard), self.tables[table].lock(shard)));
        Locked::Several(locked.collect())
    }

    /// Keys that the store gives go on behind the greatest that was replayed.
    fn find_given_keys(&self, plan: &Plan) {
        for (table, declared) in self.tables.iter().zip(plan.tables()) {
            let by_row = declared.key.is_empty();
            if !by_row && declared.key_given_by == KeyGivenBy::Client {
                continue;
            }
            for shard in 0..SHARDS {
                let last = table
                    .lock(shard)
                    .last_key_value()
                    .map(|(key, _)| given_key(key));
                table.keep_clear_of(last.unwrap_or(0));
            }
        }
    }
}

/// Rows after a transaction, one a key; none where a row is deleted.
type After<'w> = Vec<(&'w Place, Option<Row>)>;

/// The rows after all changes, in order.
fn after<'w>(
    changes: &'w [(Place, Change)],
    shards: &Locked<'_>,
) -> Result<After<'w>, NotCommitted> {
    let mut after: BTreeMap<&Place, Option<Row>> = BTreeMap::new();
    for (place, change) in changes {
        let before = match after.get(place) {
            Some(row) => row.as_deref(),
            None => shards.get(place),
        };
        let row = change.apply(before).map_err(NotCommitted::Refused)?;
        after.insert(place, row);
    }
    Ok(after.into_iter().collect())
}

/// The locked shards of a transaction.
enum Locked<'s> {
    One(MutexGuard<'s, Shard>),
    Several(BTreeMap<(usize, usize), MutexGuard<'s, Shard>>),
}

impl Locked<'_> {
    fn get(&self, (table, key): &Place) -> Option<&[u8]> {
        let shard = match self {
            Locked::One(shard) => shard,
            Locked::Several(shards) => shards.get(&(*table, Table::shard_of(key)))?,
        };
        shard.get(key).map(AsRef::as_ref)
    }

    fn set(&mut self, (table, key): &Place, row: Option<Row>) {
        let shard = match self {
            Locked::One(shard) => shard,
            Locked::Several(shards) => shards
                .get_mut(&(*table, Table::shard_of(key)))
                .expect("every shard of the transaction is locked"),
        };
        match row {
            Some(row) => shard.insert(key.clone(), row),
            None => shard.remove(key),
        };
    }
}

/// The longest record that the changes can give: an updated row may have grown meanwhile by what
/// others have set, which is at most a record of the cap's share; so updates claim generously.
fn record_bytes_max(writes: &Writes) -> usize {
    const GROWTH_BYTES: usize = 64 << 10;
    let of = |((_, key), change): &(Place, Change)| {
        let row = match change {
            Change::Insert(row) => row.len(),
            Change::Update { values, .. } => values.len() + GROWTH_BYTES,
            Change::Delete => 0,
        };
        ROW_HEADER_BYTES + key.len() + row
    };
    4 + writes.changes.iter().map(of).sum::<usize>()
}

fn put_row(record: &mut Vec<u8>, (table, key): &Place, row: Option<&[u8]>) {
    record.extend_from_slice(&(*table as u32).to_le_bytes());
    record.push(u8::from(row.is_some()));
    for bytes in [key, row.unwrap_or_default()] {
        record.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        record.extend_from_slice(bytes);
    }
}

fn log_names(log: &Log<RealDisk>, plan: &Plan) -> Result<(), Error> {
    let mut record = names(plan);
    let ticket = log.reserve(record.len())?.take().publish(&mut record);
    log.wait(ticket)
}

fn names(plan: &Plan) -> Vec<u8> {
    let mut record = NAMES.to_le_bytes().to_vec();
    for table in plan.tables() {
        record.extend_from_slice(&(table.name.len() as u32).to_le_bytes());
        record.extend_from_slice(table.name.as_bytes());
    }
    record
}

/// Applies a record; none if it is not of these tables.
fn apply_record(tables: &[Table], plan: &Plan, record: &[u8]) -> Option<()> {
    let mut rest = record;
    let count = take_u32(&mut rest)?;
    if count == NAMES {
        return (record == names(plan)).then_some(());
    }
    for _ in 0..count {
        let table = tables.get(take_u32(&mut rest)? as usize)?;
        let (is_there, after) = rest.split_first()?;
        rest = after;
        let key = take_bytes(&mut rest)?;
        let row = take_bytes(&mut rest)?;
        let mut shard = table.lock(Table::shard_of(key));
        if *is_there == 1 {
            shard.insert(key.into(), row.into());
        } else {
            shard.remove(key);
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

fn tables(plan: &Plan) -> Vec<Table> {
    plan.tables().iter().map(|_| Table::new()).collect()
}

/// The integer of a key that the store has given.
fn given_key(key: &[u8]) -> i64 {
    let bits = key
        .get(1..9)
        .and_then(|bytes| bytes.try_into().ok())
        .map(u64::from_be_bytes);
    bits.map_or(0, |bits| (bits ^ 1 << 63).cast_signed())
}

/// The key of a row that the store numbers.
pub(super) fn numbered_key(number: i64) -> Key {
    key_of(&[Value::Int(number)])
}

/// An error of the log as a failure.
pub(super) fn failure(error: &Error) -> Failure {
    let kind = match error {
        Error::Full { .. } => FailureKind::DiskFull,
        Error::Disk(error) if error.is_full() => FailureKind::DiskFull,
        Error::TooLarge { .. } => FailureKind::Limit,
        _ => FailureKind::Storage,
    };
    Failure::new(kind, error.to_string())
}

/// An error of the log as the end of a transaction.
pub(super) fn stop(error: &Error) -> Stop {
    let failure = Box::new(failure(error));
    match error {
        Error::Indeterminate { .. } => Stop::Unknown(failure),
        _ => Stop::Failed(failure),
    }
}
