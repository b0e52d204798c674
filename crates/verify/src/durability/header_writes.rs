//! The moments in which the beginning of a data file is in flight: just before a sync of the file.
//!
//! A store must read the beginning before it can repair the rest of the file, and rarely writes it. How it
//! repairs it may depend on what its log says about the file since the last checkpoint, above all whether the
//! file has grown. So the moments of a file are ordered by how long ago the file last grew, and drawn evenly
//! over that order; the one with the longest time is always included. Files take turns, starting with those
//! whose beginning is written most often, because they are in use.

use crate::power::{Class as PathClass, Node, Recording, Step};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The number of parts into which the moments of a file are divided; each part is drawn from in turn.
const PARTS: usize = 8;

/// The moments of a recording's data files, and how many were drawn.
#[derive(Debug, Default)]
pub(super) struct HeaderWrites {
    /// For each file the parts of its moments, in the order in which they are drawn from.
    files: Vec<Vec<Vec<usize>>>,
    drawn: usize,
}

/// One moment.
struct SyncPoint {
    /// The step of the sync.
    step: usize,
    /// Steps since the file last grew.
    age: usize,
}

impl HeaderWrites {
    /// The moments of a recording from step `first` on.
    pub(super) fn of(
        recording: &Recording,
        classes: &BTreeMap<Node, PathClass>,
        first: usize,
        random: &mut fastrand::Rng,
    ) -> HeaderWrites {
        let mut files: Vec<_> = moments(recording, classes, first).into_values().collect();
        files.sort_by_key(|of_file| Reverse(of_file.len()));
        let files = files.into_iter().map(|of_file| parts(of_file, random));
        HeaderWrites { files: files.collect(), drawn: 0 }
    }

    /// True if there are no moments.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The next moment as a step, with its round: how many moments each file had before.
    pub(super) fn next(&mut self, random: &mut fastrand::Rng) -> (usize, usize) {
        let (round, file) = (self.drawn / self.files.len(), self.drawn % self.files.len());
        self.drawn += 1;
        let parts = &self.files[file];
        let part = &parts[round % parts.len()];
        // The first round takes the first moment of the first part, so that the oldest is always included.
        let moment = if round == 0 { 0 } else { random.usize(..part.len()) };
        (round, part[moment])
    }
}

/// The steps of a file's moments by age, oldest first, in parts: the oldest part first, the others shuffled.
fn parts(mut moments: Vec<SyncPoint>, random: &mut fastrand::Rng) -> Vec<Vec<usize>> {
    moments.sort_by_key(|moment| Reverse(moment.age));
    let steps: Vec<_> = moments.iter().map(|moment| moment.step).collect();
    let length = steps.len().div_ceil(PARTS);
    let mut parts: Vec<_> = steps.chunks(length).map(<[usize]>::to_vec).collect();
    random.shuffle(&mut parts[1..]);
    parts
}

/// The moments of each data file.
fn moments(
    recording: &Recording,
    classes: &BTreeMap<Node, PathClass>,
    first: usize,
) -> BTreeMap<Node, Vec<SyncPoint>> {
    let of_base = recording.base.nodes.iter();
    let mut lengths: BTreeMap<Node, u64> = of_base.map(|one| (one.node, one.len)).collect();
    let (mut grown, mut pending) = (BTreeMap::new(), BTreeSet::new());
    let mut moments: BTreeMap<Node, Vec<SyncPoint>> = BTreeMap::new();
    for (number, step) in recording.steps.iter().enumerate() {
        let longer = match step {
            Step::Write { node, offset, bytes } => {
                if *offset == 0 && classes.get(node) == Some(&PathClass::Data) {
                    pending.insert(*node);
                }
                let end = offset + bytes.len() as u64;
                let length = lengths.entry(*node).or_default();
                let has_grown = end > *length;
                *length = end.max(*length);
                has_grown.then_some(node)
            }
            Step::SetLen(node, len) => {
                let before = lengths.insert(*node, *len).unwrap_or_default();
                (*len > before).then_some(node)
            }
            Step::Sync { node, .. } | Step::SyncWritten { node, .. } => {
                if pending.remove(node) && number >= first {
                    let age = number - grown.get(node).copied().unwrap_or_default();
                    let of_file = moments.entry(*node).or_default();
                    of_file.push(SyncPoint { step: number, age });
                }
                None
            }
            _ => None,
        };
        if let Some(node) = longer {
            grown.insert(*node, number);
        }
    }
    moments
}

#[cfg(test)]
mod tests {
    use super::{HeaderWrites, PARTS};
    use crate::power::{Class, Node, Recording, Step};
    use std::collections::{BTreeMap, BTreeSet};

    /// A file whose beginning is written and synced in each of `rounds` rounds, and which grows before the
    /// first `still` of them.
    fn recording(rounds: usize, still: usize) -> Recording {
        let write = |offset| Step::Write { node: Node(2), offset, bytes: vec![1; 10].into() };
        let steps = (0..rounds).flat_map(|round| {
            let further = if round < still { 10 * round as u64 } else { 5 };
            [write(further), write(0), Step::sync(Node(2))]
        });
        Recording { steps: steps.collect(), ..Recording::default() }
    }

    #[test]
    fn moments_are_drawn_evenly_by_age_and_the_oldest_is_included() {
        let classes = BTreeMap::from([(Node(2), Class::Data)]);
        for seed in 0..20 {
            let mut random = fastrand::Rng::with_seed(seed);
            let recording = recording(80, 70);
            let mut heads = HeaderWrites::of(&recording, &classes, 0, &mut random);
            let drawn: Vec<_> = (0..PARTS).map(|_| heads.next(&mut random)).collect();
            let (round, oldest) = drawn[0];
            assert_eq!((round, oldest), (0, 3 * 79 + 2), "seed {seed}");
            let young = drawn.iter().filter(|(_, step)| *step < 3 * 70);
            assert!(young.count() >= PARTS - 2, "seed {seed}: {drawn:?}");
            let different: BTreeSet<_> = drawn.iter().collect();
            assert_eq!(different.len(), PARTS, "seed {seed}");
        }
    }

    #[test]
    fn a_single_moment_repeats_and_logs_have_none() {
        let mut random = fastrand::Rng::with_seed(1);
        let classes = |class| BTreeMap::from([(Node(2), class)]);
        let recording = recording(1, 0);
        let mut heads = HeaderWrites::of(&recording, &classes(Class::Data), 0, &mut random);
        let drawn: Vec<_> = (0..3).map(|_| heads.next(&mut random)).collect();
        assert_eq!(drawn, [(0, 2), (1, 2), (2, 2)]);
        assert!(HeaderWrites::of(&recording, &classes(Class::Log), 0, &mut random).is_empty());
        assert!(HeaderWrites::of(&recording, &classes(Class::Data), 3, &mut random).is_empty());
    }
}
