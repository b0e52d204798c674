//! The effect of a crash on each pending change.

use super::names::Metadata;

/// Which of the pending changes a crash leaves on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// None.
    DropAll,
    /// All, whole.
    KeepAll,
    /// Only one, whole: its index among the pending changes, from 0. With [`Metadata::OrderedJournal`] a
    /// change of names comes with those before it.
    Only(usize),
    /// A random selection, each whole.
    Subset {
        /// Same seed, same image.
        seed: u64,
    },
    /// A random selection; each write of it may be torn at 512-byte sectors, garbled, or come without
    /// the length it needs (see the module's rule 4).
    Torn {
        /// Same seed, same image.
        seed: u64,
    },
}

/// The fate of one pending change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Lost,
    Kept,
    /// Written in part, chosen by a seed of its own.
    Torn {
        seed: u64,
    },
}

/// The part of a pending change that decides its fate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) sequence: u64,
    pub(super) is_name: bool,
}

/// The fates of all pending changes of a disk, found by sequence.
#[derive(Debug)]
pub(super) struct Fates(Vec<(u64, Fate)>);

impl Fates {
    /// Decides the fate of each of the pending changes, given in order.
    pub(super) fn choose(crash: Crash, model: Metadata, pending: &[Pending]) -> Fates {
        let mut random = fastrand::Rng::with_seed(match crash {
            Crash::Subset { seed } | Crash::Torn { seed } => seed,
            Crash::DropAll | Crash::KeepAll | Crash::Only(_) => 0,
        });
        if let Crash::Only(index) = crash {
            assert!(index < pending.len(), "{index} of {} pending changes", pending.len());
        }
        let mut fate = |index, change: &Pending| match crash {
            Crash::KeepAll => Fate::Kept,
            Crash::Only(only) if only == index => Fate::Kept,
            Crash::DropAll | Crash::Only(_) => Fate::Lost,
            Crash::Subset { .. } => [Fate::Lost, Fate::Kept][random.usize(0..2)],
            Crash::Torn { .. } => match random.u8(0..4) {
                0 => Fate::Lost,
                // A change of names is never torn.
                choice if choice == 1 || change.is_name => Fate::Kept,
                _ => Fate::Torn { seed: random.u64(..) },
            },
        };
        let numbered = pending.iter().enumerate();
        let mut fates: Vec<_> =
            numbered.map(|(index, change)| (change.sequence, fate(index, change))).collect();
        if model == Metadata::OrderedJournal {
            order_names(crash, pending, &mut fates, &mut random);
        }
        Fates(fates)
    }

    /// The fate of the pending change with this sequence.
    pub(super) fn of(&self, sequence: u64) -> Fate {
        let found = self.0.binary_search_by_key(&sequence, |(sequence, _)| *sequence);
        self.0[found.expect("every pending change has a fate")].1
    }
}

/// In a journal the changes of names survive up to some point, and none after it.
fn order_names(
    crash: Crash,
    pending: &[Pending],
    fates: &mut [(u64, Fate)],
    random: &mut fastrand::Rng,
) {
    let names: Vec<usize> = (0..pending.len()).filter(|&index| pending[index].is_name).collect();
    let survivors = match crash {
        Crash::DropAll => 0,
        Crash::KeepAll => names.len(),
        Crash::Only(index) => names.binary_search(&index).map_or(0, |position| position + 1),
        Crash::Subset { .. } | Crash::Torn { .. } => random.usize(0..=names.len()),
    };
    for (position, &index) in names.iter().enumerate() {
        fates[index].1 = if position < survivors { Fate::Kept } else { Fate::Lost };
    }
}
