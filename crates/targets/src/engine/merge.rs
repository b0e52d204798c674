//! Several ordered runs of rows as one, without a copy.
//!
//! What a transaction has written itself hides the table's row of the same key, and a row that it has
//! deleted is left out.

use super::key::Key;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A row where it stands; none if the transaction has deleted it.
pub(super) type Found<'a> = (&'a Key, Option<&'a [u8]>);

/// Visits the first `limit` rows of `own` and the runs of the table, each in the order of the scan.
pub(super) fn merge<'a, const BACKWARDS: bool>(
    own: impl Iterator<Item = Found<'a>>,
    table: impl Iterator<Item = impl Iterator<Item = Found<'a>>>,
    limit: usize,
    mut visit: impl FnMut(&'a [u8]),
) {
    let mut own = own.peekable();
    let mut left = limit;
    let mut heads: BinaryHeap<_> = table.filter_map(Run::<_, BACKWARDS>::new).collect();
    while left > 0 {
        let table = heads.peek_mut();
        let order = match (own.peek(), &table) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((own, _)), Some(table)) => in_order::<BACKWARDS>(own, table.next.0),
        };
        let of_table = match table {
            Some(table) if order != Ordering::Less => Some(Run::step(table)),
            _ => None,
        };
        let of_own = (order != Ordering::Greater).then(|| own.next()).flatten();
        if let Some((_, Some(row))) = of_own.or(of_table) {
            visit(row);
            left -= 1;
        }
    }
}

#[inline]
fn in_order<const BACKWARDS: bool>(one: &Key, other: &Key) -> Ordering {
    if BACKWARDS {
        other.cmp(one)
    } else {
        one.cmp(other)
    }
}

/// A run and its next row, which is its place in the heap.
struct Run<'a, I, const BACKWARDS: bool> {
    next: Found<'a>,
    rest: I,
}

impl<'a, I: Iterator<Item = Found<'a>>, const BACKWARDS: bool> Run<'a, I, BACKWARDS> {
    fn new(mut rest: I) -> Option<Self> {
        let next = rest.next()?;
        Some(Run { next, rest })
    }

    /// Takes the next row of the run that is at the top.
    #[inline]
    fn step(mut top: PeekMut<'_, Self>) -> Found<'a> {
        match top.rest.next() {
            Some(next) => std::mem::replace(&mut top.next, next),
            None => PeekMut::pop(top).next,
        }
    }
}

/// The greatest of a heap is the first of the scan.
impl<I, const BACKWARDS: bool> Ord for Run<'_, I, BACKWARDS> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        in_order::<BACKWARDS>(other.next.0, self.next.0)
    }
}

impl<I, const BACKWARDS: bool> PartialOrd for Run<'_, I, BACKWARDS> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<I, const BACKWARDS: bool> PartialEq for Run<'_, I, BACKWARDS> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<I, const BACKWARDS: bool> Eq for Run<'_, I, BACKWARDS> {}

#[cfg(test)]
mod tests {
    use super::merge;
    use crate::engine::key::Key;
    use std::collections::BTreeMap;

    fn key(number: u8) -> Key {
        Key::new(&[number])
    }

    /// Rows of 40 keys dealt to five runs (one of them empty), some hidden by rows of the
    /// transaction, some deleted by it, some only its own.
    #[test]
    fn rows_come_in_order_own_ones_hide_and_deleted_ones_are_left_out() {
        let mut runs: [BTreeMap<Key, [u8; 2]>; 5] = Default::default();
        let mut own = BTreeMap::new();
        let mut expected = BTreeMap::new();
        for number in 0..40 {
            if number % 3 != 0 {
                runs[usize::from(number / 2 % 4)].insert(key(number), [number, 0]);
                expected.insert(number, [number, 0]);
            }
            match number % 5 {
                0 => {
                    own.insert(key(number), Some([number, 1]));
                    expected.insert(number, [number, 1]);
                }
                1 => {
                    own.insert(key(number), None);
                    expected.remove(&number);
                }
                _ => {}
            }
        }
        let forwards: Vec<_> = expected.values().copied().collect();
        let backwards: Vec<_> = expected.values().rev().copied().collect();
        for limit in (0..=forwards.len()).chain([usize::MAX]) {
            let own = || {
                let rows = own.iter();
                rows.map(|(key, row)| (key, row.as_ref().map(<[u8; 2]>::as_slice)))
            };
            let runs = || {
                runs.iter()
                    .map(|run| run.iter().map(|(key, row)| (key, Some(row.as_slice()))))
            };
            let (mut seen, mut seen_backwards) = (Vec::new(), Vec::new());
            merge::<false>(own(), runs(), limit, |row| seen.push(row.to_vec()));
            let backwards_runs = runs().map(Iterator::rev);
            merge::<true>(own().rev(), backwards_runs, limit, |row| {
                seen_backwards.push(row.to_vec());
            });
            let expected = limit.min(forwards.len());
            assert_eq!(seen, forwards[..expected]);
            assert_eq!(seen_backwards, backwards[..expected]);
        }
        assert!(forwards.len() > 20);
    }
}
