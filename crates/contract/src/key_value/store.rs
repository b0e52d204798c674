//! The required and optional functions of a key-value store.

use crate::capabilities::Durability;
use crate::counter::Counter;
use crate::dry_run_plan::DryRunPlan;
use crate::observation::StoreObservation;
use crate::operation::Order;
use crate::target::{LogLocation, Setting, StoreProcess};
use std::io;

/// The description of a store. Requested before and after [`KeyValue::create`]; the one after counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreInfo {
    /// The product's name in tables and records: "my store".
    pub name: String,
    /// Its version.
    pub version: String,
    /// The guarantee of a batch when [`KeyValue::commit`] returns.
    pub durability: Durability,
    /// How the durability is known: the call that is made, the setting that was read back.
    pub durability_evidence: String,
    /// Where the log goes, and so the directory whose sync line is used for comparison.
    pub log_location: LogLocation,
}

/// One change in a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The key: typically some ten bytes; the values of a table's key columns and a few bytes more.
    pub key: Vec<u8>,
    /// Its new value; none deletes the key, which may be absent.
    pub value: Option<Vec<u8>>,
}

/// The reason why a commit failed: another client changed a key that this one watched. Wrapped in an
/// [`io::Error`] by [`io::Error::other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another client changed a key that the transaction had read")]
pub struct WatchedKeyChanged;

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// The minimum of a store: keys, values, and batches that are atomic and, when they return, as durable as
/// [`StoreInfo::durability`]. All functions are called from many threads concurrently.
///
/// Errors are [`io::Error`]s, others are wrapped by [`io::Error::other`]. The kind determines the reaction:
///
/// | kind | means | in a commit |
/// |---|---|---|
/// | `StorageFull`, `QuotaExceeded`, `FileTooLarge` | no space is left | outcome unknown |
/// | `Connection..`, `NotConnected`, `BrokenPipe`, `TimedOut`, `..Unreachable` | the connection is lost | outcome unknown |
/// | `InvalidInput` | too large or too long, refused before anything was done | nothing remains |
/// | `ResourceBusy`, `Deadlock` | a conflict with another client; may be retried | nothing remains |
/// | [`WatchedKeyChanged`] inside | a watched key has changed; may be retried | nothing remains |
/// | any other | the store cannot read or write | outcome unknown |
pub trait KeyValue: Send + Sync {
    /// Its description.
    fn about(&self) -> StoreInfo;

    /// Further directories that it is known to write to; see
    /// [`Target::other_locations`](crate::Target::other_locations).
    fn other_locations(&self) -> Vec<LogLocation> {
        Vec::new()
    }

    /// Creates an empty store; refuses an existing one. On failure it leaves nothing behind.
    fn create(&self) -> io::Result<()>;

    /// True if [`KeyValue::reopen`] is supported.
    fn reopens(&self) -> bool {
        false
    }

    /// Opens the store that an earlier process left, with the store's own recovery; `false` if there is none.
    fn reopen(&self) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Closes the store and leaves it in place.
    fn keep(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes a store made by [`KeyValue::create`]; called once for each successful `create`.
    fn remove(&self) -> io::Result<()>;

    /// Applies all changes or none. Returns when the store has acknowledged them, at the stated durability.
    /// There is at least one change, and no key appears twice.
    fn commit(&self, changes: &[Change]) -> io::Result<()>;

    /// The value of a key in the latest commit.
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>>;

    /// True if [`KeyValue::scan`] is supported; scans and aggregates need it.
    fn scans(&self) -> bool {
        false
    }

    /// The pairs with keys from `from` up to but not including `to`, compared by bytes, in the given order,
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

    /// A separate handle for one client: a connection with its own watches. None: all clients share this one.
    fn client(&self) -> io::Result<Option<Self>>
    where
        Self: Sized,
    {
        Ok(None)
    }

    /// True if the store itself detects that another client changed a row. Then [`KeyValue::watch`] replaces
    /// the adapter's locks, and clients in other processes are isolated too.
    fn watches(&self) -> bool {
        false
    }

    /// As [`KeyValue::get`]; until its end, a commit of this client fails with [`WatchedKeyChanged`] if
    /// another client has changed the key.
    fn watch(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.get(key)
    }

    /// Drops all watches, because the transaction has ended. A successful commit has already dropped them.
    fn unwatch(&self) {}

    /// The most changes in one commit: a load is split accordingly, a larger transaction fails.
    fn changes_max(&self) -> usize {
        usize::MAX
    }

    /// As [`Target::preflight`](crate::Target::preflight).
    fn preflight(&self) -> io::Result<()> {
        Ok(())
    }

    /// The most clients that it accepts, known after [`KeyValue::preflight`]; none if there is no limit.
    fn clients_max(&self) -> Option<usize> {
        None
    }

    /// As [`Target::counters`](crate::Target::counters).
    fn counters(&self) -> io::Result<Vec<Counter>> {
        Ok(Vec::new())
    }

    /// Sends an empty request and waits for its answer; false for an embedded store.
    fn ping(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// As [`Target::observe`](crate::Target::observe); none if the store cannot be observed.
    fn observe(&self) -> io::Result<Option<StoreObservation>> {
        Ok(None)
    }

    /// As [`Target::clean`](crate::Target::clean); none if runs leave nothing in the store.
    fn clean(&self) -> io::Result<Option<Vec<String>>> {
        Ok(None)
    }

    /// How the store is created, committed to, configured and removed, for
    /// [`Target::dry_run`](crate::Target::dry_run).
    fn dry_run(&self, _clients: usize) -> DryRunPlan {
        DryRunPlan::default()
    }

    /// Settings in force that affect speed or safety, as read back from the store.
    fn settings(&self) -> Vec<Setting> {
        Vec::new()
    }

    /// The process whose system calls count as the store's syncs.
    fn process(&self) -> StoreProcess {
        StoreProcess::InProcess
    }

    /// As [`Target::synced_writes`](crate::Target::synced_writes): only for stores whose writes are synced
    /// themselves.
    fn synced_writes(&self) -> Option<u64> {
        None
    }
}
