//! A table in memory: ordered maps from key to row, split by the key's hash so that several workers
//! seldom wait for one another.
//!
//! Invariant: shards are locked in the order of their numbers, tables in theirs.

use super::key::Key;
use super::merge::{Found, merge};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many maps a table is split into: a power of two.
pub(super) const SHARDS: usize = 16;

/// A row's bytes.
pub(super) type Row = Box<[u8]>;

/// Keys to rows.
pub(super) type Shard = BTreeMap<Key, Row>;

/// Keys between two bounds.
pub(super) type KeyRange = (Bound<Key>, Bound<Key>);

/// Keeps what two threads change on two pairs of cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// See the module.
#[derive(Debug)]
pub(super) struct Table {
    shards: [Apart<Mutex<Shard>>; SHARDS],
    /// The greatest key given so far, where the store gives keys, or counts rows without one.
    given: Apart<AtomicI64>,
}

impl Table {
    pub(super) fn new() -> Table {
        Table {
            shards: std::array::from_fn(|_| Apart::default()),
            given: Apart::default(),
        }
    }

    /// The shard of a key: the highest bits of its hash.
    #[inline]
    pub(super) fn shard_of(key: &Key) -> usize {
        (key.hash() >> (u64::BITS - SHARDS.trailing_zeros())) as usize
    }

    /// Locks a shard. Rows are changed whole, so what a panicking thread left is sound.
    #[inline]
    pub(super) fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        let shard = &self.shards[shard].0;
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the row of a key.
    pub(super) fn look<R>(&self, key: &Key, look: impl FnOnce(Option<&[u8]>) -> R) -> R {
        look(self.lock(Table::shard_of(key)).get(key).map(AsRef::as_ref))
    }

    /// The next key that the store gives.
    pub(super) fn give(&self) -> i64 {
        self.given.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Keys given from now on are greater than this one.
    pub(super) fn keep_clear_of(&self, key: i64) {
        self.given.0.fetch_max(key, Ordering::Relaxed);
    }

    /// Visits the first (or last) rows of a range, up to `limit`, by key, as they are at one moment.
    /// `own` are the rows of that range as the transaction has made them. The range must not end
    /// before it starts.
    pub(super) fn scan<'o>(
        &self,
        range: &KeyRange,
        own: impl DoubleEndedIterator<Item = Found<'o>>,
        backwards: bool,
        limit: usize,
        visit: impl FnMut(&[u8]),
    ) {
        let shards: [_; SHARDS] = std::array::from_fn(|shard| self.lock(shard));
        let bounds = (range.0.as_ref(), range.1.as_ref());
        #[allow(
            clippy::map_identity,
            reason = "it shortens the life of what is lent: own rows live longer than the locks"
        )]
        let own = own.map(|(key, row)| (key, row));
        let of_table = shards.iter().map(|shard| {
            let rows = shard.range::<Key, _>(bounds);
            rows.map(|(key, row)| (key, Some(row.as_ref())))
        });
        if backwards {
            merge::<true>(own.rev(), of_table.map(Iterator::rev), limit, visit);
        } else {
            merge::<false>(own, of_table, limit, visit);
        }
    }
}
