//! A store for tests: a map with optional faults.

use crate::capabilities::Durability;
use crate::key_value::{Change, KeyValue, Pair, StoreInfo};
use crate::operation::Order;
use crate::target::LogLocation;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard};

/// The fault of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fault {
    #[default]
    None,
    LosesLastChange,
    AppliesOnlyFirstChange,
    KeepsDeleted,
    AnswersOldValues,
    CutsValues,
    ScansBackwards,
    ScansBeyondEnd,
    SkipsInScan,
    IgnoresLimit,
    KeepsRemoved,
    ReportsNothing,
    /// Every commit fails, but its changes are applied.
    FailsCommits,
    /// It cannot be created.
    FailsCreate,
}

/// A map as a store, with counts of its calls.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) fault: Fault,
    pub(super) scans: bool,
    pub(super) commits: AtomicUsize,
    pub(super) removals: AtomicUsize,
    map: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    before: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl Memory {
    pub(super) fn new(scans: bool, fault: Fault) -> Memory {
        Memory { fault, scans, ..Memory::default() }
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Vec<u8>>> {
        self.map.lock().unwrap()
    }

    /// The changes of a batch that this store applies.
    fn kept<'c>(&self, changes: &'c [Change]) -> &'c [Change] {
        match self.fault {
            Fault::LosesLastChange => &changes[..changes.len() - 1],
            Fault::AppliesOnlyFirstChange => &changes[..1],
            _ => changes,
        }
    }
}

impl KeyValue for Memory {
    fn about(&self) -> StoreInfo {
        let silent = self.fault == Fault::ReportsNothing;
        StoreInfo {
            name: "memory".to_owned(),
            version: "1".to_owned(),
            durability: Durability::None,
            durability_evidence: if silent { "" } else { "it is a map" }.to_owned(),
            log_location: LogLocation::Nowhere("it keeps no log".to_owned()),
        }
    }

    fn create(&self) -> io::Result<()> {
        if self.fault == Fault::FailsCreate {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn remove(&self) -> io::Result<()> {
        self.removals.fetch_add(1, SeqCst);
        if self.fault != Fault::KeepsRemoved {
            self.map().clear();
        }
        Ok(())
    }

    fn commit(&self, changes: &[Change]) -> io::Result<()> {
        assert!(!changes.is_empty(), "an empty batch is never committed");
        self.commits.fetch_add(1, SeqCst);
        let mut map = self.map();
        self.before.lock().unwrap().clone_from(&map);
        for Change { key, value } in self.kept(changes) {
            match value {
                Some(value) => drop(map.insert(key.clone(), value.clone())),
                None if self.fault == Fault::KeepsDeleted => {}
                None => drop(map.remove(key)),
            }
        }
        if self.fault == Fault::FailsCommits {
            return Err(io::Error::other("the sync failed"));
        }
        Ok(())
    }

    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        if self.fault == Fault::AnswersOldValues {
            return Ok(self.before.lock().unwrap().get(key).cloned());
        }
        let mut value = self.map().get(key).cloned();
        if let Some(value) = &mut value
            && self.fault == Fault::CutsValues
        {
            value.truncate(8);
        }
        Ok(value)
    }

    fn scans(&self) -> bool {
        self.scans
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, limit: usize) -> io::Result<Vec<Pair>> {
        assert!(from < to && limit > 0, "an empty range is never scanned");
        let map = self.map();
        let to = if self.fault == Fault::ScansBeyondEnd { vec![u8::MAX; 9] } else { to.to_vec() };
        let limit = if self.fault == Fault::IgnoresLimit { usize::MAX } else { limit };
        let pairs = map.range(from.to_vec()..to);
        let pairs = pairs.map(|(key, value)| (key.clone(), value.clone()));
        let backwards = (order == Order::Descending) != (self.fault == Fault::ScansBackwards);
        let skipped = usize::from(self.fault == Fault::SkipsInScan);
        Ok(if backwards {
            pairs.rev().skip(skipped).take(limit).collect()
        } else {
            pairs.skip(skipped).take(limit).collect()
        })
    }
}
