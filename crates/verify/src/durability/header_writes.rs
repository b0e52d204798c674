//! The moments in which the first bytes of a data file are under way: just before a sync of it.
//!
//! A store must read them before it can mend anything else of the file, and writes them seldom. How it
//! mends them may depend on what its log says of the file since the last checkpoint, above all whether the
//! file has grown. So the moments of a file are ordered by how long ago it last grew, and drawn evenly over
//! that order: the one that is longest ago is always among them. Files take turns, those first whose first
//! bytes are written most often: they are in use.

use crate::power::{Class as PathClass, Node, Recording, Step};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Into how many parts the moments of a file are divided; one of each is drawn in turn.
const PARTS: usize = 8;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct HeaderWrites {
    /// Of each file the parts of its moments, in the order in which they are drawn from.
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
    /// Those of a recording from a step on.
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

    /// True if there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The next moment, and how many each file had before: the round, from 0 up.
    pub(super) fn next(&mut self, random: &mut fastrand::Rng) -> (usize, usize) {
        let (round, file) = (self.drawn / self.files.len(), self.drawn % self.files.len());
        self.drawn += 1;
        let parts = &self.files[file];
        let part = &parts[round % parts.len()];
        // The first part is drawn from in order, so that the oldest is not left to luck.
        let moment = if round == 0 { 0 } else { random.usize(..part.len()) };
        (round, part[moment])
    }
}

/// The steps of a file's moments by age, the oldest first, in parts: the oldest part, then the others in
/// any order.
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

    /// A file whose first bytes are written and synced `rounds` times, and which grows before all rounds
    /// but those from `still` on.
    fn recording(rounds: usize, still: usize) -> Recording {
        let write = |offset| Step::Write { node: Node(2), offset, bytes: vec![1; 10].into() };
        let steps = (0..rounds).flat_map(|round| {
            let further = if round < still { 10 * round as u64 } else { 5 };
            [write(further), write(0), Step::sync(Node(2))]
        });
        Recording { steps: steps.collect(), ..Recording::default() }
    }

    #[test]
    fn moments_are_drawn_over_how_long_ago_the_file_grew_and_the_longest_ago_is_never_missed() {
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
    fn a_file_with_one_moment_has_it_every_time_and_logs_have_none() {
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
