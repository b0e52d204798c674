//! Where in a recording the power goes.
//!
//! Three places are always among them, in this order: where the most of the log waits for its sync, where
//! the most of the data does, and the end, by when all is acknowledged. Of the others every second is just
//! before a sync answers; of which class of files is drawn first, then of which file, so that what is synced
//! seldom is not missed.
//!
//! Where pages are torn, every fourth place is not one but several moments in which the first bytes of a
//! data file are under way; see [`heads`](super::header_writes).

use super::header_writes::HeaderWrites;
use crate::power::{Class as PathClass, Classify, Node, Recording, Step};
use std::collections::BTreeMap;

/// One place.
pub(super) enum CutPoint {
    /// Before this step.
    Step(usize),
    /// Moments of [`CutPoints::head`].
    HeaderWrites,
}

/// See the module.
pub(super) struct CutPoints {
    first: usize,
    last: usize,
    always: Vec<usize>,
    /// Where each file was synced, by class.
    syncs: Vec<Vec<Vec<usize>>>,
    heads: HeaderWrites,
}

impl CutPoints {
    /// Those of a recording, from the first acknowledgement on.
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

    /// The place of a number, from 0 up.
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

    /// The next moment in which the first bytes of a data file are under way; see [`HeaderWrites::next`].
    pub(super) fn head(&mut self, random: &mut fastrand::Rng) -> (usize, usize) {
        self.heads.next(random)
    }
}

/// Before which step, from one on, the most bytes of a class wait to be synced: the first of such; none if
/// nothing of it ever waits. What was written during a sync counts as if it were in it.
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

/// Where each node was synced, from a step on, by class.
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
