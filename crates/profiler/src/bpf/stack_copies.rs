//! The stacks in the copies of a key's events, and the possible error of a distribution based on them.

use super::weight_distribution::StackWeight;
use std::collections::BTreeMap;

/// The copies of one key.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Copies {
    /// By stack.
    pub stacks: BTreeMap<usize, StackWeight>,
    events: Weights,
    off_ns: Weights,
}

/// The sum of weights, and of their squares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Weights {
    sum: f64,
    squares: f64,
}

impl Weights {
    fn add(&mut self, weight: u64) {
        self.sum += weight as f64;
        self.squares += (weight as f64).powi(2);
    }

    fn merge(&mut self, other: &Weights) {
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// The number of equally weighted copies that would give the same certainty.
    fn count(&self) -> f64 {
        if self.squares > 0.0 { self.sum * self.sum / self.squares } else { 0.0 }
    }
}

impl Copies {
    /// Adds a copy, which represents `events` events.
    pub(super) fn add(&mut self, stack: usize, events: u64) {
        self.stacks.entry(stack).or_default().events += events;
        self.events.add(events);
    }

    /// Adds the time of a copied event whose thread has returned.
    pub(super) fn add_time(&mut self, stack: usize, off_ns: u64) {
        let shown = self.stacks.entry(stack).or_default();
        shown.off_ns = shown.off_ns.saturating_add(off_ns);
        self.off_ns.add(off_ns);
    }

    /// Adds the copies of another key.
    pub(super) fn merge(&mut self, other: &Copies) {
        for (stack, shown) in &other.stacks {
            let mine = self.stacks.entry(*stack).or_default();
            mine.events += shown.events;
            mine.off_ns = mine.off_ns.saturating_add(shown.off_ns);
        }
        self.events.merge(&other.events);
        self.off_ns.merge(&other.off_ns);
    }

    /// The maximum variance of any stack's part of the key's weight, relative to the square of that weight.
    /// If a single stack was seen, another may still have a share of one in the number of copies.
    pub(super) fn variance(&self, of_time: bool) -> f64 {
        let by_time = of_time && self.off_ns.sum > 0.0;
        let weights = if by_time { &self.off_ns } else { &self.events };
        let count = weights.count().max(1.0);
        let part = |shown: &StackWeight| if by_time { shown.off_ns } else { shown.events } as f64;
        let largest = self.stacks.values().map(part).fold(0.0, f64::max) / weights.sum.max(1.0);
        let largest = largest.min((count + 1.0) / (count + 2.0));
        let spread = if largest > 0.5 { largest * (1.0 - largest) } else { 0.25 };
        spread / count
    }
}

#[cfg(test)]
mod tests {
    use super::Copies;

    fn copies(weights: &[(usize, u64)]) -> Copies {
        let mut copies = Copies::default();
        for (stack, weight) in weights {
            copies.add(*stack, *weight);
        }
        copies
    }

    #[test]
    fn more_copies_and_fewer_stacks_are_more_certain() {
        let one_stack = copies(&[(0, 31); 100]);
        let two_stacks = copies(&[(0, 31), (1, 31)].repeat(50));
        let few = copies(&[(0, 31), (1, 31)]);
        assert!((two_stacks.variance(false) - 0.25 / 100.0).abs() < 1e-9);
        assert!((few.variance(false) - 0.25 / 2.0).abs() < 1e-9);
        assert!(one_stack.variance(false) < two_stacks.variance(false) / 20.0);
        // A copy that represents nearly all events has the certainty of a single copy.
        let uneven = copies(&[(0, 1_000_000), (1, 1), (1, 1), (1, 1)]);
        assert!(uneven.variance(false) > 0.2, "{}", uneven.variance(false));
        assert!(Copies::default().variance(true) > 0.2, "nothing was seen");
    }

    #[test]
    fn time_is_distributed_by_the_copies_with_a_return() {
        let mut waits = copies(&[(0, 31); 100]);
        assert!((waits.variance(true) - waits.variance(false)).abs() < 1e-12);
        waits.add_time(0, 5_000);
        waits.add_time(1, 5_000);
        assert!((waits.variance(true) - 0.25 / 2.0).abs() < 1e-9);
        let mut both = copies(&[(1, 31)]);
        both.merge(&waits);
        assert_eq!(both.stacks.len(), 2);
        assert_eq!(both.stacks[&1].events, 31);
    }
}
