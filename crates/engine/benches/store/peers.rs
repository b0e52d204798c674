//! The same rows in LMDB and in redb: keys of eight bytes, big-endian, and payloads.

#![allow(
    unsafe_code,
    reason = "opening a memory map is unsafe: the file must not change while it is mapped"
)]

use crate::reads::PAYLOAD;
use heed::types::Bytes;
use redb::{ReadableDatabase, TableDefinition};
use std::ops::Bound;
use std::path::Path;

const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

/// Map bytes for each row, and the least in total.
const MAP_BYTES_ROW: usize = 1024;
const MAP_BYTES_MIN: usize = 1 << 24;

/// Rows in LMDB.
pub(crate) struct LmdbRows {
    environment: heed::Env,
    rows: heed::Database<'static, Bytes, Bytes>,
}

impl LmdbRows {
    /// Loads `rows` of them, in a new folder.
    pub(crate) fn load(folder: &Path, rows: u64) -> LmdbRows {
        std::fs::create_dir_all(folder).expect("a folder can be made");
        let environment = LmdbRows::environment(folder, rows);
        let write = environment.write_txn().expect("LMDB writes");
        let made = environment.create_databases_and_commit(write, |opener, write| {
            let table = opener.create_database::<Bytes, Bytes>(write, None)?;
            for id in 0..rows as i64 {
                table.put(write, &id.to_be_bytes(), &PAYLOAD)?;
            }
            Ok::<_, heed::Error>(heed::CommitOrAbort::<_, ()>::Commit(table))
        });
        let rows = made.expect("LMDB commits").unwrap_commit();
        LmdbRows { environment, rows }
    }

    fn environment(folder: &Path, rows: u64) -> heed::Env {
        let mut options = heed::EnvOpenOptions::new();
        options.map_size(MAP_BYTES_MIN.max(rows as usize * MAP_BYTES_ROW));
        // SAFETY: this process made the folder for this one use, so no other process changes a file in it,
        // and an environment there is closed before the next one is opened.
        let opened = unsafe { options.open(folder) };
        opened.expect("LMDB opens")
    }

    /// Opens rows that were loaded.
    pub(crate) fn open(folder: &Path, rows: u64) -> LmdbRows {
        let environment = LmdbRows::environment(folder, rows);
        let read = environment.read_txn().expect("LMDB reads");
        let opened = environment.open_databases_and_commit(read, |opener, read| {
            let table = opener.open_database::<Bytes, Bytes>(read, None)?;
            Ok::<_, heed::Error>(heed::CommitOrAbort::<_, ()>::Commit(table))
        });
        let rows = opened.expect("LMDB reads").unwrap_commit().expect("the rows were loaded");
        LmdbRows { environment, rows }
    }

    /// Closes them.
    pub(crate) fn close(self) {
        self.environment.prepare_for_closing().wait();
    }

    /// Scans in a transaction: sums a byte of the payloads of `count` rows, from a key on.
    pub(crate) fn scan<R>(&self, scans: impl FnOnce(&dyn Fn(i64, usize) -> u64) -> R) -> R {
        let transaction = self.environment.read_txn().expect("LMDB reads");
        scans(&|from, count| {
            let key = from.to_be_bytes();
            let range = (Bound::Included(&key[..]), Bound::Unbounded);
            let rows = self.rows.range(&transaction, &range).expect("LMDB reads").take(count);
            rows.map(|row| u64::from(row.expect("LMDB reads").1[3])).sum()
        })
    }

    /// Reads in a transaction: returns a byte of the payload of each requested key.
    pub(crate) fn read<R>(&self, reads: impl FnOnce(&dyn Fn(i64) -> u64) -> R) -> R {
        let transaction = self.environment.read_txn().expect("LMDB reads");
        reads(&|id| {
            let payload = self.rows.get(&transaction, &id.to_be_bytes());
            let payload = payload.expect("LMDB reads").expect("the row was loaded");
            u64::from(payload[3])
        })
    }
}

/// Rows in redb.
pub(crate) struct RedbRows(redb::Database);

impl RedbRows {
    /// Loads `rows` of them, in a new folder.
    pub(crate) fn load(folder: &Path, rows: u64) -> RedbRows {
        std::fs::create_dir_all(folder).expect("a folder can be made");
        let database = redb::Database::create(folder.join("rows.redb")).expect("redb opens");
        let write = database.begin_write().expect("redb writes");
        let mut table = write.open_table(ROWS).expect("redb writes");
        for id in 0..rows as i64 {
            let key = id.to_be_bytes();
            table.insert(&key[..], &PAYLOAD[..]).expect("redb writes");
        }
        drop(table);
        write.commit().expect("redb commits");
        RedbRows(database)
    }

    /// Opens rows that were loaded. Dropping them closes them.
    pub(crate) fn open(folder: &Path) -> RedbRows {
        RedbRows(redb::Database::open(folder.join("rows.redb")).expect("redb opens"))
    }

    /// Scans in a transaction: sums a byte of the payloads of `count` rows, from a key on.
    pub(crate) fn scan<R>(&self, scans: impl FnOnce(&dyn Fn(i64, usize) -> u64) -> R) -> R {
        let transaction = self.0.begin_read().expect("redb reads");
        let table = transaction.open_table(ROWS).expect("redb reads");
        scans(&|from, count| {
            let rows = table.range(&from.to_be_bytes()[..]..).expect("redb reads").take(count);
            rows.map(|row| u64::from(row.expect("redb reads").1.value()[3])).sum()
        })
    }

    /// Reads in a transaction: returns a byte of the payload of each requested key.
    pub(crate) fn read<R>(&self, reads: impl FnOnce(&dyn Fn(i64) -> u64) -> R) -> R {
        let transaction = self.0.begin_read().expect("redb reads");
        let table = transaction.open_table(ROWS).expect("redb reads");
        reads(&|id| {
            let payload = table.get(&id.to_be_bytes()[..]);
            let payload = payload.expect("redb reads").expect("the row was loaded");
            u64::from(payload.value()[3])
        })
    }
}
