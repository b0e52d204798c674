//! Log and tables: commit, and replay.
//!
//! Invariants:
//! 1. A commit applies its rows, takes its number and publishes its record under the locks of all its
//!    shards. So rows of one key are logged in the order in which they were applied, and replay ends
//!    where memory did.
//! 2. The record is published after the rows were applied.

use super::apply::{Locked, apply};
use super::codec::given_key;
use super::record;
use super::table::{SHARDS, Table};
use super::writes::{Refused, Write};
use std::path::Path;
use syncline_contract::{Failure, FailureKind, KeyGivenBy, Plan, Stop, TargetResult};
use syncline_disk::RealDisk;
use syncline_engine::log::{Log, Options, Permit, Ticket};
use syncline_engine::{Csn, DatabaseId, Error};

/// See the module.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) log: Log<RealDisk>,
    pub(super) tables: Vec<Table>,
}

/// Why a commit could not be made.
#[derive(Debug)]
pub(super) enum NotCommitted {
    /// A write does not fit the row that is there now.
    Refused(Refused),
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
            if record::apply(&tables, plan, record).is_none() {
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

    /// Makes a transaction's writes on the newest rows and publishes them; all or none. Gives the
    /// record's length too. Empties `writes`; `record` is memory to be used again.
    #[inline]
    pub(super) fn commit(
        &self,
        writes: &mut Vec<Write>,
        record: &mut Vec<u8>,
    ) -> Result<(Ticket, usize), NotCommitted> {
        let bytes_max = record::bytes_max(writes);
        let permit = self.log.reserve(bytes_max).map_err(NotCommitted::Log)?;
        record::start(record, writes.len());
        // One write is the rule; it needs neither a list of locks nor a way back.
        if let [_] = writes[..]
            && let Some(write) = writes.pop()
        {
            let mut shard = self.tables[write.table].lock(Table::shard_of(&write.key));
            apply(write, &mut shard, record).map_err(NotCommitted::Refused)?;
            return Ok(publish(permit, record));
        }
        let mut shards = Locked::new(&self.tables, writes);
        let applied = shards.apply_all(writes, record);
        applied.map_err(NotCommitted::Refused)?;
        Ok(publish(permit, record))
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

/// Takes a number and publishes the record under it; the caller holds the locks.
#[inline]
fn publish(permit: Permit<'_, RealDisk>, record: &mut Vec<u8>) -> (Ticket, usize) {
    let bytes = record.len();
    (permit.take().publish(record), bytes)
}

fn log_names(log: &Log<RealDisk>, plan: &Plan) -> Result<(), Error> {
    let mut record = record::names(plan);
    let ticket = log.reserve(record.len())?.take().publish(&mut record);
    log.wait(ticket)
}

fn tables(plan: &Plan) -> Vec<Table> {
    plan.tables().iter().map(|_| Table::new()).collect()
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
