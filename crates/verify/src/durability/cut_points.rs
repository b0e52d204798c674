//! Where in a recording the power is cut.
//!
//! Three places are always included, in this order: where the most log bytes wait for their sync, where the
//! most data bytes do, and the end, when everything is acknowledged. Of the others, every second one is just
//! before a sync returns: first a class of files is chosen at random, then a file of it, so that rarely
//! synced files are not missed.
//!
//! If pages may be torn, every fourth place is a set of moments in which the beginning of a data file is in
//! flight; see [`header_writes`](super::header_writes).

use super::header_writes::HeaderWrites;
use crate::power::{Class as PathClass, Classify, Node, Recording, Step};
use std::collections::BTreeMap;

/// A place of a cut.
pub(super) enum CutPoint {
    /// Before this step.
    Step(usize),
    /// Several moments, from [`CutPoints::head`].
    HeaderWrites,
}

/// The choice of places in one recording.
pub(super) struct CutPoints {
    first: usize,
    last: usize,
    always: Vec<usize>,
    /// The steps of each file's syncs, by class.
    syncs: Vec<Vec<Vec<usize>>>,
    heads: HeaderWrites,
}

impl CutPoints {
    /// The places of a recording, after its first acknowledgement.
    pub(super) fn of(
        recording: &Recording,
        classify: Classify,
        tears: bool,
        random: &mut fastrand::Rng,
    ) -> CutPoints {
        let is_acknowledgement = |step: &Step| matches!(step, Step::Acknowledged(_));
        let first = recording.steps.iter().position(is_acknowledgement);
        let (first, last) = (first.map_or(0, |first| first + 1), recording.steps.len());
        let classes = recording.classes(classify);
        let worst = |class| most_pending(recording, &classes, class, first);
        let always = [worst(PathClass::Log), worst(PathClass::Data), Some(last)];
        let heads = if tears {
            HeaderWrites::of(recording, &classes, first, random)
        } else {
            HeaderWrites::default()
        };
        CutPoints {
            first,
            last,
            always: always.into_iter().flatten().collect(),
            syncs: syncs(recording, &classes, first),
            heads,
        }
    }

    /// The place with this number, counted from 0.
    pub(super) fn place(&self, number: usize, random: &mut fastrand::Rng) -> CutPoint {
        if let Some(step) = self.always.get(number) {
            return CutPoint::Step(*step);
        }
        if number % 4 == 3 && !self.heads.is_empty() {
            return CutPoint::HeaderWrites;
        }
        if number.is_multiple_of(2) || self.syncs.is_empty() {
            return CutPoint::Step(random.usize(self.first..=self.last));
        }
        let files = &self.syncs[random.usize(..self.syncs.len())];
        let of_one = &files[random.usize(..files.len())];
        CutPoint::Step(of_one[random.usize(..of_one.len())])
    }

    /// The next moment in which the beginning of a data file is in flight; see [`HeaderWrites::next`].
    pub(super) fn head(&mut self, random: &mut fastrand::Rng) -> (usize, usize) {
        self.heads.next(random)
    }
}

/// The step, at or after `from`, before which the most bytes of a class wait for a sync; the first if there
/// are several, none if no bytes ever wait. Bytes written during a sync count as covered by it.
fn most_pending(
    recording: &Recording,
    classes: &BTreeMap<Node, PathClass>,
    class: PathClass,
    from: usize,
) -> Option<usize> {
    let mut pending: BTreeMap<Node, u64> = BTreeMap::new();
    let (mut all, mut most) = (0_u64, None);
    for (number, step) in recording.steps.iter().enumerate() {
        if number >= from && all > most.map_or(0, |(bytes, _)| bytes) {
            most = Some((all, number));
        }
        match step {
            Step::Write { node, bytes, .. } if classes.get(node) == Some(&class) => {
                *pending.entry(*node).or_default() += bytes.len() as u64;
                all += bytes.len() as u64;
            }
            Step::Sync { node, .. } | Step::SyncWritten { node, .. } => {
                all -= pending.remove(node).unwrap_or(0);
            }
            _ => {}
        }
    }
    most.map(|(_, step)| step)
}

/// The steps, from `first` on, at which each node was synced, by class.
fn syncs(
    recording: &Recording,
    classes: &BTreeMap<Node, PathClass>,
    first: usize,
) -> Vec<Vec<Vec<usize>>> {
    let class = |node| classes.get(node).copied().unwrap_or(PathClass::Other);
    let mut syncs: BTreeMap<PathClass, BTreeMap<Node, Vec<usize>>> = BTreeMap::new();
    for (number, step) in recording.steps.iter().enumerate().skip(first) {
        if let Step::Sync { node, .. }
        | Step::SyncWritten { node, .. }
        | Step::SyncDirectory { node, .. } = step
        {
            let of_class = syncs.entry(class(node)).or_default();
            of_class.entry(*node).or_default().push(number);
        }
    }
    let files = |of_class: BTreeMap<Node, Vec<usize>>| of_class.into_values().collect();
    syncs.into_values().map(files).collect()
}
