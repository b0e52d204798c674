//! The number of independent trials: the places at which the power was cut.
//!
//! Images of one place share what the store had done by then, so they are one trial, which fails if one of
//! them does. An image that loses nothing cannot fail through a loss, so it is not a trial.

use super::power_cuts::Cut;
use crate::power::Loss;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Places with an image that could lose something: the n of the rule of three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndependentTrials {
    /// Under the ext4-like model.
    pub journal: u64,
    /// In which no first page of a data file was torn, under either model.
    pub whole_heads: u64,
    /// In which no page was torn, under either model.
    pub whole: u64,
}

/// The places of trials, as steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Trials {
    journal: BTreeSet<usize>,
    whole_heads: BTreeSet<usize>,
    whole: BTreeSet<usize>,
}

impl Trials {
    /// Counts an image.
    pub(super) fn add(&mut self, cut: Cut, head_torn: bool) {
        if cut.loss == Loss::Keep {
            return;
        }
        for (steps, counts) in [
            (&mut self.journal, !cut.strict),
            (&mut self.whole_heads, !head_torn),
            (&mut self.whole, !cut.loss.tears()),
        ] {
            if counts {
                steps.insert(cut.step);
            }
        }
    }

    /// Adds the trials of another worker.
    pub(super) fn merge(&mut self, other: Trials) {
        self.journal.extend(other.journal);
        self.whole_heads.extend(other.whole_heads);
        self.whole.extend(other.whole);
    }

    /// The number of trials of each kind.
    pub(super) fn count(&self) -> IndependentTrials {
        IndependentTrials {
            journal: self.journal.len() as u64,
            whole_heads: self.whole_heads.len() as u64,
            whole: self.whole.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IndependentTrials, Trials};
    use crate::durability::power_cuts::Cut;
    use crate::power::Loss;

    #[test]
    fn a_place_counts_once_and_only_if_it_can_lose_something() {
        let (mut one, mut other) = (Trials::default(), Trials::default());
        let cut = |step, strict, loss| Cut { step, strict, loss };
        let torn = Loss::Torn { seed: 1, unit_bytes: 512 };
        one.add(cut(7, false, Loss::Keep), false);
        one.add(cut(7, true, Loss::Keep), false);
        assert_eq!(one.count(), IndependentTrials::default());
        for strict in [false, true] {
            one.add(cut(7, strict, Loss::Drop), false);
            one.add(cut(7, strict, torn), false);
        }
        // Two workers may recover images of the same place.
        other.add(cut(7, false, Loss::Subset { seed: 2 }), false);
        other.add(cut(9, true, Loss::Drop), false);
        other.add(cut(11, false, torn), true);
        one.merge(other);
        let counted = IndependentTrials { journal: 2, whole_heads: 2, whole: 2 };
        assert_eq!(one.count(), counted);
    }
}
