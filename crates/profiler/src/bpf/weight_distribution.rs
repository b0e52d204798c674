//! To which stacks the weight of a site belongs.
//!
//! The kernel counts every event under its site. Copies of some of these events show whole stacks; what
//! was counted at the site is spread over them as their own weights stand to one another. Invariant: the
//! parts are as much as the whole, to the last event and the last nanosecond.

use super::map_types::Sum;

/// What the copies of one stack showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StackWeight {
    /// Events that they stand for.
    pub events: u64,
    /// Nanoseconds off the processor that they stand for, of those that were seen to come back.
    pub off_ns: u64,
}

/// Splits what was counted over what was shown, part by part. Nothing shown: no parts.
pub(super) fn spread(whole: Sum, shown: &[StackWeight]) -> Vec<Sum> {
    let events: Vec<u64> = shown.iter().map(|shown| shown.events).collect();
    let lengths: Vec<u64> = shown.iter().map(|shown| shown.off_ns).collect();
    let counts = split(whole.count, &events);
    // Without a return that was seen, time goes as events do.
    let by = if lengths.iter().any(|length| *length > 0) { &lengths } else { &events };
    let amounts = split(whole.amount, by);
    counts.into_iter().zip(amounts).map(|(count, amount)| Sum { count, amount }).collect()
}

/// Splits a number in proportion, such that the parts add up to it: each part is the growth of the
/// rounded running share.
pub(super) fn split(whole: u64, by: &[u64]) -> Vec<u64> {
    let total: u128 = by.iter().map(|weight| u128::from(*weight)).sum();
    // Such that a share of the largest number is computed without an overflow.
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
        u64::try_from(part).expect("a part is no more than the whole")
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
    fn time_without_a_return_that_was_seen_goes_as_events_do() {
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
