//! A store of your own under the laboratory: a map in memory behind a log file that is synced at each
//! commit. Everything a store must do stands below in one `impl`; the laboratory does the rest.
//!
//! ```text
//! cargo run --release --example my_store -- run insert --clients 8    a load, and a check of every row
//! cargo run --release --example my_store -- survey                   its place on this disk's line
//! ```
//!
//! Format of the log, one record a commit: its length, then of each change the length of its key, that
//! of its value plus one (or 0 if the key is deleted), both in 4 bytes, and the bytes of both.

#![allow(clippy::disallowed_methods, reason = "a stranger's store brings its own file access")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Bound;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use syncline_contract::key_value::{Change, KeyValue, KeyValueTarget, Pair, StoreInfo};
use syncline_contract::{Durability, LogLocation, Order};

const LOG: &str = "my_store.log";

/// The log is gone once a write of it failed: what it holds is then unknown, and nothing may follow.
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
            log_place: LogLocation::Directory(".".into()),
        }
    }

    fn create(&self) -> io::Result<()> {
        *lock(&self.log) = Some(File::create_new(LOG)?);
        let named = File::open(".").and_then(|directory| directory.sync_all());
        named.or_else(|error| self.remove().and(Err(error)))
    }

    fn remove(&self) -> io::Result<()> {
        lock(&self.map).clear();
        fs::remove_file(LOG)
    }

    fn commit(&self, changes: &[Change]) -> io::Result<()> {
        let mut open = lock(&self.log);
        let mut log = open.take().ok_or(io::Error::other("its log has failed"))?;
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
        let within = (Bound::Included(from), Bound::Excluded(to));
        let pairs = map.range::<[u8], _>(within);
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
