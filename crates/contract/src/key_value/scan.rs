//! Scans a range of keys: reads the store's pairs page by page, merged with the transaction's own changes.

use super::failure::{of_read, statement};
use super::store::{KeyValue, Pair};
use super::write_buffer::WriteBuffer;
use crate::operation::Order;
use crate::outcome::Stop;
use std::ops::Range;
use std::vec::IntoIter;

/// The most pairs in one request to the store.
pub(super) const PAGE_PAIRS: usize = 1_000;

/// The range, order and limit of a scan.
#[derive(Debug)]
pub(super) struct ScanRange {
    pub(super) keys: Range<Vec<u8>>,
    pub(super) order: Order,
    /// The most pairs to return.
    pub(super) limit: u64,
}

/// Calls `each` for every key and value in the range.
pub(super) fn walk<K: KeyValue>(
    store: &K,
    name: &str,
    pending: &WriteBuffer,
    range: &ScanRange,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let (order, mut left) = (range.order, range.limit);
    if range.keys.is_empty() || left == 0 {
        return Ok(());
    }
    let mut own = pending.range(&range.keys.start, &range.keys.end, order).peekable();
    let mut pages = Pages::new(store, name, range.keys.clone(), order);
    let mut stored = pages.next(left)?;
    while left > 0 {
        let own_is_first = match (own.peek(), &stored) {
            (None, None) => break,
            (Some(own), Some((key, _))) => !is_before(order, key, &own.key),
            (own, _) => own.is_some(),
        };
        if !own_is_first && let Some((key, value)) = stored {
            each(&key, &value)?;
            left -= 1;
            stored = pages.next(left)?;
            continue;
        }
        let Some(change) = own.next() else { break };
        if stored.as_ref().is_some_and(|(key, _)| *key == change.key) {
            stored = pages.next(left)?;
        }
        if let Some(value) = &change.value {
            each(&change.key, value)?;
            left -= 1;
        }
    }
    Ok(())
}

fn is_before(order: Order, one: &[u8], other: &[u8]) -> bool {
    match order {
        Order::Ascending => one < other,
        Order::Descending => one > other,
    }
}

/// The store's pairs, read in pages.
struct Pages<'s, K> {
    store: &'s K,
    name: &'s str,
    /// The range that has not been requested yet.
    keys: Range<Vec<u8>>,
    order: Order,
    page: IntoIter<Pair>,
    more: bool,
}

impl<'s, K: KeyValue> Pages<'s, K> {
    fn new(store: &'s K, name: &'s str, keys: Range<Vec<u8>>, order: Order) -> Pages<'s, K> {
        Pages { store, name, keys, order, page: Vec::new().into_iter(), more: true }
    }

    /// The next pair; `limit` is the number of pairs still needed.
    fn next(&mut self, limit: u64) -> Result<Option<Pair>, Stop> {
        if limit == 0 {
            return Ok(None);
        }
        if self.page.as_slice().is_empty() && self.more && !self.keys.is_empty() {
            self.read_page((limit as usize).min(PAGE_PAIRS))?;
        }
        Ok(self.page.next())
    }

    fn read_page(&mut self, pairs_max: usize) -> Result<(), Stop> {
        let (from, to) = (&self.keys.start, &self.keys.end);
        let page = self.store.scan(from, to, self.order, pairs_max);
        let page = page.map_err(|error| of_read(&error, self.name))?;
        self.check_page(&page, pairs_max)?;
        self.more = page.len() == pairs_max;
        if let Some((last, _)) = page.last() {
            match self.order {
                Order::Ascending => {
                    self.keys.start.clone_from(last);
                    self.keys.start.push(0);
                }
                Order::Descending => self.keys.end.clone_from(last),
            }
        }
        self.page = page.into_iter();
        Ok(())
    }

    /// Checks a page: one with wrong keys or a wrong order would be merged into nonsense.
    fn check_page(&self, page: &[Pair], pairs_max: usize) -> Result<(), Stop> {
        let ordered = page.is_sorted_by(|(one, _), (other, _)| is_before(self.order, one, other));
        let inside = page.iter().all(|(key, _)| self.keys.contains(key));
        if ordered && inside && page.len() <= pairs_max {
            return Ok(());
        }
        let what =
            "returned scanned keys outside the requested range, in a wrong order, or too many";
        Err(statement(format!("{} {what}", self.name)).into())
    }
}
