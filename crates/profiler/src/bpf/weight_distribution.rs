//! Distributes the weight of a site over stacks.
//!
//! The kernel counts every event under its site. Copies of some of these events have whole stacks; the counts
//! of the site are distributed over them in proportion to their weights. Invariant: the parts add up exactly
//! to the whole, in events and in nanoseconds.

use super::map_types::Sum;

/// The weight of one stack in the copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StackWeight {
    /// The events that its copies represent.
    pub events: u64,
    /// The nanoseconds off the processor that its copies represent, from those with a return.
    pub off_ns: u64,
}

/// Distributes counts over stacks. Without stacks there are no parts.
pub(super) fn spread(whole: Sum, shown: &[StackWeight]) -> Vec<Sum> {
    let events: Vec<u64> = shown.iter().map(|shown| shown.events).collect();
    let lengths: Vec<u64> = shown.iter().map(|shown| shown.off_ns).collect();
    let counts = split(whole.count, &events);
    // Without a return, time is distributed as events are.
    let by = if lengths.iter().any(|length| *length > 0) { &lengths } else { &events };
    let amounts = split(whole.amount, by);
    counts.into_iter().zip(amounts).map(|(count, amount)| Sum { count, amount }).collect()
}

/// Splits a number in proportion, so that the parts add up to it: each part is the growth of the rounded
/// cumulative share.
pub(super) fn split(whole: u64, by: &[u64]) -> Vec<u64> {
    let total: u128 = by.iter().map(|weight| u128::from(*weight)).sum();
    // Keeps the share of the largest number from overflowing.
    let shift = u64::BITS.saturating_sub(total.leading_zeros());
    let by: Vec<u128> = by.iter().map(|weight| u128::from(*weight >> shift)).collect();
    let total: u128 = by.iter().sum();
    let (mut running, mut given) = (0_u128, 0);
    let even = total == 0;
    let divisor = if even { by.len() as u128 } else { total };
    let parts = by.iter().map(|weight| {
        running += if even { 1 } else { *weight };
        let share = u128::from(whole) * running / divisor;
        let part = share - given;
        given = share;
        u64::try_from(part).expect("a part is at most the whole")
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::{StackWeight, spread};
    use crate::bpf::map_types::Sum;

    fn shown(parts: &[(u64, u64)]) -> Vec<StackWeight> {
        let parts =
            parts.iter().map(|(events, off_ns)| StackWeight { events: *events, off_ns: *off_ns });
        parts.collect()
    }

    #[test]
    fn parts_are_in_proportion_and_add_up() {
        let whole = Sum { count: 1000, amount: 77 };
        let parts = spread(whole, &shown(&[(1, 0), (31, 10), (63, 30)]));
        assert_eq!(parts.iter().map(|part| part.count).sum::<u64>(), 1000);
        assert_eq!(parts.iter().map(|part| part.amount).sum::<u64>(), 77);
        let counts: Vec<_> = parts.iter().map(|part| part.count).collect();
        assert_eq!(counts, [10, 326, 664]);
        assert_eq!((parts[0].amount, parts[1].amount), (0, 19));
    }

    #[test]
    fn time_without_a_return_is_distributed_as_events_are() {
        let whole = Sum { count: 4, amount: 100 };
        let parts = spread(whole, &shown(&[(1, 0), (3, 0)]));
        assert_eq!((parts[0].amount, parts[1].amount), (25, 75));
        assert!(spread(whole, &[]).is_empty());
        let even = spread(whole, &shown(&[(0, 0), (0, 0)]));
        assert_eq!((even[0].count, even[1].count), (2, 2));
    }

    #[test]
    fn the_largest_numbers_are_split() {
        let whole = Sum { count: u64::MAX, amount: u64::MAX };
        let parts = spread(whole, &shown(&[(u64::MAX, u64::MAX), (u64::MAX, 1)]));
        assert_eq!(parts[0].count, u64::MAX / 2);
        assert_eq!(parts[0].amount + parts[1].amount, u64::MAX);
    }
}
