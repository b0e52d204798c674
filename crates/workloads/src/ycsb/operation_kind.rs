//! The kinds of operations, and how they are drawn by weight.

use crate::distributions::Stream;

/// Number of kinds.
pub(super) const KINDS: usize = 6;

/// The names of the kinds, in the order of their numbers, and of a transaction with several operations.
pub(super) const NAMES: [&str; KINDS + 1] =
    ["read", "update", "insert", "scan", "read-modify-write", "delete", "mixed"];

pub(super) const READ: usize = 0;
pub(super) const UPDATE: usize = 1;
pub(super) const INSERT: usize = 2;
pub(super) const SCAN: usize = 3;
pub(super) const READ_MODIFY_WRITE: usize = 4;
pub(super) const DELETE: usize = 5;
/// A transaction with several operations.
pub(super) const MIXED: usize = 6;

/// Weights of the kinds; at least one is above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mix {
    /// Cumulative weights, as shares of the total.
    up_to: [f64; KINDS],
    /// The only kind with a weight, if there is just one.
    only: Option<usize>,
}

impl Mix {
    /// For weights with any sum above zero.
    pub(super) fn new(weights: &[f64; KINDS]) -> Mix {
        let all: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let up_to = weights.map(|weight| {
            sum += weight;
            sum / all
        });
        let mut with = (0..KINDS).filter(|kind| weights[*kind] > 0.0);
        let first = with.next();
        Mix { up_to, only: if with.next().is_none() { first } else { None } }
    }

    /// Draws a kind.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> usize {
        if let Some(only) = self.only {
            return only;
        }
        let unit = stream.unit();
        let found = self.up_to.iter().position(|up_to| unit < *up_to);
        // Rounding may leave the sum of shares slightly below one, and a draw above it.
        found.unwrap_or_else(|| self.last())
    }

    #[cold]
    fn last(&self) -> usize {
        let before = |kind: usize| kind.checked_sub(1).map_or(0.0, |below| self.up_to[below]);
        let with = (0..KINDS).rev().find(|kind| self.up_to[*kind] > before(*kind));
        with.expect("some kind has a weight")
    }
}

#[cfg(test)]
mod tests {
    use super::{KINDS, Mix};
    use crate::distributions::Stream;
    use crate::distributions::fits;

    fn counts(weights: &[f64; KINDS]) -> [u64; KINDS] {
        let (mix, mut stream) = (Mix::new(weights), Stream::of_client(1, 0, "mix"));
        let mut counts = [0; KINDS];
        for _ in 0..1_000_000 {
            counts[mix.draw(&mut stream)] += 1;
        }
        counts
    }

    #[test]
    fn kinds_are_drawn_by_their_weights() {
        let counts = counts(&[70.0, 10.0, 0.0, 20.0, 0.0, 0.0]);
        assert!(fits(&counts, &[0.7, 0.1, 0.0, 0.2, 0.0, 0.0]).holds(), "{counts:?}");
        assert!(!fits(&counts, &[0.7, 0.102, 0.0, 0.198, 0.0, 0.0]).holds());
        assert_eq!((counts[2], counts[4], counts[5]), (0, 0, 0));
    }

    #[test]
    fn a_single_kind_is_drawn_always() {
        assert_eq!(counts(&[0.0, 0.0, 0.0, 0.0, 0.3, 0.0])[4], 1_000_000);
    }
}
