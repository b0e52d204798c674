//! Your own store under Syncline: a map in memory with a log file that is synced at each commit. One `impl`
//! below contains everything that a store must do.
//!
//! ```text
//! cargo run --release --example my_store -- run insert --clients 8    runs a workload and checks every row
//! cargo run --release --example my_store -- survey                   compares it with this disk's sync line
//! ```
//!
//! The log has one record for each commit: the record's length in 4 bytes, then for each change the length of
//! its key and the length of its value plus one (0 if the key is deleted), in 4 bytes each, followed by the
//! bytes of the key and of the value.

#![allow(clippy::disallowed_methods, reason = "a user's store has its own file access")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Bound;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use syncline_contract::key_value::{Change, KeyValue, KeyValueTarget, Pair, StoreInfo};
use syncline_contract::{Durability, LogLocation, Order};

const LOG: &str = "my_store.log";

/// `log` is `None` after a write to it has failed: its contents are then unknown, so nothing may be appended.
#[derive(Default)]
struct MyStore {
    log: Mutex<Option<File>>,
    map: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl KeyValue for MyStore {
    fn about(&self) -> StoreInfo {
        StoreInfo {
            name: "my store".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            durability: Durability::Data,
            durability_evidence: "each commit calls fdatasync on its log".to_owned(),
            log_location: LogLocation::Directory(".".into()),
        }
    }

    fn create(&self) -> io::Result<()> {
        *lock(&self.log) = Some(File::create_new(LOG)?);
        // The file's name must be durable, too.
        let synced = File::open(".").and_then(|directory| directory.sync_all());
        synced.or_else(|error| self.remove().and(Err(error)))
    }

    fn remove(&self) -> io::Result<()> {
        lock(&self.map).clear();
        fs::remove_file(LOG)
    }

    fn commit(&self, changes: &[Change]) -> io::Result<()> {
        let mut open = lock(&self.log);
        let mut log = open.take().ok_or(io::Error::other("an earlier write to the log failed"))?;
        log.write_all(&record(changes))?;
        log.sync_data()?;
        *open = Some(log);
        let mut map = lock(&self.map);
        for Change { key, value } in changes {
            match value {
                Some(value) => map.insert(key.clone(), value.clone()),
                None => map.remove(key),
            };
        }
        Ok(())
    }

    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        Ok(lock(&self.map).get(key).cloned())
    }

    fn scans(&self) -> bool {
        true
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, limit: usize) -> io::Result<Vec<Pair>> {
        let map = lock(&self.map);
        let range = (Bound::Included(from), Bound::Excluded(to));
        let pairs = map.range::<[u8], _>(range);
        let pairs = pairs.map(|(key, value)| (key.clone(), value.clone()));
        Ok(match order {
            Order::Ascending => pairs.take(limit).collect(),
            Order::Descending => pairs.rev().take(limit).collect(),
        })
    }
}

/// The changes of a commit as one record of the log.
fn record(changes: &[Change]) -> Vec<u8> {
    let mut record = vec![0; 4];
    for Change { key, value } in changes {
        let value_length = value.as_ref().map_or(0, |value| value.len() + 1);
        for length in [key.len(), value_length] {
            record.extend((length as u32).to_le_bytes());
        }
        record.extend(key);
        record.extend(value.iter().flatten());
    }
    let length = record.len() as u32;
    record[..4].copy_from_slice(&length.to_le_bytes());
    record
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn main() -> ExitCode {
    syncline_cli::main_with("mine", KeyValueTarget::new(MyStore::default()))
}
