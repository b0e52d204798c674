//! What a key-value store must be able to do, and may.

use crate::capabilities::Durability;
use crate::counter::Counter;
use crate::dry_run_plan::DryRunPlan;
use crate::observation::StoreObservation;
use crate::operation::Order;
use crate::target::{LogLocation, Setting, StoreProcess};
use std::io;

/// What a store says of itself. Asked before [`KeyValue::create`] and after; what counts is what the
/// store says when it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreInfo {
    /// The product's name, which stands in tables and records: "my store".
    pub name: String,
    /// Its version.
    pub version: String,
    /// What a batch is worth when [`KeyValue::commit`] returns.
    pub durability: Durability,
    /// Why that word is true: the call that is made, the setting that was read back.
    pub durability_evidence: String,
    /// Where the log goes, hence whose sync line the store is judged by.
    pub log_place: LogLocation,
}

/// One change of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The key: some ten bytes, at most those of a table's key columns and a few more.
    pub key: Vec<u8>,
    /// Its new value; none deletes the key, which may be absent.
    pub value: Option<Vec<u8>>,
}

/// Why a commit failed: what it had watched was changed by another. Inside an [`io::Error`], by
/// [`io::Error::other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what the transaction rests on was changed by another")]
pub struct WatchedKeyChanged;

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// The least a store may be: keys, values, and batches that are atomic and as durable as
/// [`StoreInfo::durability`] says when they return. Every function is called from many threads at once.
///
/// Errors are [`io::Error`]s, others by [`io::Error::other`]; their kinds say what to make of them:
///
/// | kind | means | in a commit |
/// |---|---|---|
/// | `StorageFull`, `QuotaExceeded`, `FileTooLarge` | no space is left | outcome unknown |
/// | `Connection..`, `NotConnected`, `BrokenPipe`, `TimedOut`, `..Unreachable` | the connection is lost | outcome unknown |
/// | `InvalidInput` | too large, too long: refused before anything was done | nothing remains |
/// | `ResourceBusy`, `Deadlock` | another was in the way: may be tried again | nothing remains |
/// | [`WatchedKeyChanged`] inside | what was watched has changed: may be tried again | nothing remains |
/// | any other | the store cannot read or write | outcome unknown |
pub trait KeyValue: Send + Sync {
    /// What it says of itself.
    fn about(&self) -> StoreInfo;

    /// Further directories that it writes to, as far as they are known; see
    /// [`Target::further_places`](crate::Target::further_places).
    fn further_places(&self) -> Vec<LogLocation> {
        Vec::new()
    }

    /// Makes an empty store; refuses what is there already. If it fails it leaves nothing behind.
    fn create(&self) -> io::Result<()>;

    /// True if [`KeyValue::reopen`] works.
    fn reopens(&self) -> bool {
        false
    }

    /// Opens the store as an earlier process has left it, recovered as it recovers itself; `false` if
    /// there is none.
    fn reopen(&self) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Closes the store and leaves it where it is.
    fn keep(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes what [`KeyValue::create`] made; called once for each `create` that succeeded.
    fn remove(&self) -> io::Result<()>;

    /// Makes all changes or none. Returns when the store itself has acknowledged them, at the
    /// durability that it states. There is at least one change, and no key twice.
    fn commit(&self, changes: &[Change]) -> io::Result<()>;

    /// The value of a key, of the latest commit.
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>>;

    /// True if [`KeyValue::scan`] works; without it nothing is scanned or aggregated.
    fn scans(&self) -> bool {
        false
    }

    /// The pairs whose keys are at least `from` and below `to`, compared by bytes, in that order and
    /// at most `limit` of them. `from` is below `to`, and `limit` is not zero.
    fn scan(
        &self,
        _from: &[u8],
        _to: &[u8],
        _order: Order,
        _limit: usize,
    ) -> io::Result<Vec<Pair>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// A handle of its own for one client: a connection, and what that watches. None: all share this
    /// one.
    fn client(&self) -> io::Result<Option<Self>>
    where
        Self: Sized,
    {
        Ok(None)
    }

    /// True if the store itself finds that a row was changed by another: then [`KeyValue::watch`] takes
    /// the place of the adapter's locks, and clients of other processes are kept apart too.
    fn watches(&self) -> bool {
        false
    }

    /// As [`KeyValue::get`]; from now on until its end, a commit of this client fails with
    /// [`WatchedKeyChanged`] if another has changed the key.
    fn watch(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.get(key)
    }

    /// Forgets what is watched: the transaction has ended. One that committed has forgotten already.
    fn unwatch(&self) {}

    /// The most changes of one commit; a load is split by it, a transaction of more fails.
    fn changes_max(&self) -> usize {
        usize::MAX
    }

    /// As [`Target::meet`](crate::Target::meet).
    fn meet(&self) -> io::Result<()> {
        Ok(())
    }

    /// The most clients it takes, once it was met; none if it sets no limit.
    fn clients_max(&self) -> Option<usize> {
        None
    }

    /// As [`Target::counters`](crate::Target::counters).
    fn counters(&self) -> io::Result<Vec<Counter>> {
        Ok(Vec::new())
    }

    /// Sends an empty request and waits for its answer; false for a store in this process.
    fn ping(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// As [`Target::observe`](crate::Target::observe); none of a store that cannot be observed.
    fn observe(&self) -> io::Result<Option<StoreObservation>> {
        Ok(None)
    }

    /// As [`Target::clean`](crate::Target::clean); none of a store in which nothing of ours stays.
    fn clean(&self) -> io::Result<Option<Vec<String>>> {
        Ok(None)
    }

    /// What makes the store, what it calls for a commit, what it sets and what removes it, for
    /// [`Target::intent`](crate::Target::intent).
    fn intent(&self, _clients: usize) -> DryRunPlan {
        DryRunPlan::default()
    }

    /// Settings in force that bear on speed or safety, as read back from the store.
    fn settings(&self) -> Vec<Setting> {
        Vec::new()
    }

    /// Whose system calls are the store's, for the counting of its syncs.
    fn process(&self) -> StoreProcess {
        StoreProcess::InProcess
    }

    /// As [`Target::synced_writes`](crate::Target::synced_writes): only for stores whose writes are
    /// syncs themselves.
    fn synced_writes(&self) -> Option<u64> {
        None
    }
}
