//! Where the power is cut in a recording, and what the cut takes.

use crate::power::{Class, Classify, Loss, Node, Recording, Step};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// How many steps of the recording came before it.
    pub step: usize,
    /// True if names obey the strict model, false if they do as on ext4.
    pub strict: bool,
    /// What became of the rest.
    pub loss: Loss,
}

/// How cuts are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    /// How many.
    pub(super) images: u64,
    /// Where from.
    pub(super) seed: u64,
    /// False if no unit smaller than a file has a moment of its own.
    pub(super) tears: bool,
}

/// The cuts of a recording, in order: from the first acknowledgement on, ten images at each place of
/// [`steps`].
pub(super) fn cuts(recording: &Recording, classify: Classify, drawn: Drawn) -> Vec<Cut> {
    let Drawn {
        images,
        seed,
        tears,
    } = drawn;
    let mut random = fastrand::Rng::with_seed(seed);
    let steps = steps(recording, classify, images.div_ceil(10), &mut random);
    let mut cuts = Vec::new();
    for step in steps {
        let mut torn = |unit_bytes| {
            let seed = random.u64(..);
            if tears {
                Loss::Torn { seed, unit_bytes }
            } else {
                Loss::Subset { seed }
            }
        };
        let (sectors, pages) = (torn(512), torn(4096));
        let seed = random.u64(..);
        let losses = [
            Loss::Drop,
            Loss::Keep,
            Loss::Subset { seed },
            sectors,
            pages,
        ];
        // The same losses under both models, so that what fails under one alone fails by its names.
        for strict in [false, true] {
            cuts.extend(losses.map(|loss| Cut { step, strict, loss }));
        }
    }
    cuts.truncate(images as usize);
    cuts
}

/// So many places to cut at, in order. The first two are always there: where the most of the log waits
/// for its sync, and the end, by when all is acknowledged. Of the others every second is just before a
/// sync answers; of which class of files is drawn first, then of which file, so that what is synced
/// seldom is not missed.
fn steps(
    recording: &Recording,
    classify: Classify,
    places: u64,
    random: &mut fastrand::Rng,
) -> Vec<usize> {
    let is_acknowledgement = |step: &Step| matches!(step, Step::Acknowledged(_));
    let first = recording.steps.iter().position(is_acknowledgement);
    let (first, last) = (first.map_or(0, |first| first + 1), recording.steps.len());
    let classes = recording.classes(classify);
    let syncs = syncs(recording, &classes, first);
    let drawn = (2..places).map(|place| {
        if place % 2 == 0 || syncs.is_empty() {
            random.usize(first..=last)
        } else {
            let files = &syncs[random.usize(..syncs.len())];
            let of_one = &files[random.usize(..files.len())];
            of_one[random.usize(..of_one.len())]
        }
    });
    let always = [most_pending(recording, &classes, first), last];
    let mut steps: Vec<_> = always
        .into_iter()
        .chain(drawn)
        .take(places as usize)
        .collect();
    steps.sort_unstable();
    steps
}

/// Before which step, from one on, the most bytes of the log wait to be synced; the first of such.
fn most_pending(recording: &Recording, classes: &BTreeMap<Node, Class>, from: usize) -> usize {
    let mut pending: BTreeMap<Node, u64> = BTreeMap::new();
    let (mut all, mut most) = (0_u64, (0_u64, from));
    for (number, step) in recording.steps.iter().enumerate() {
        if number >= from && all > most.0 {
            most = (all, number);
        }
        match step {
            Step::Write { node, bytes, .. } if classes.get(node) == Some(&Class::Log) => {
                *pending.entry(*node).or_default() += bytes.len() as u64;
                all += bytes.len() as u64;
            }
            Step::Sync(node) | Step::SyncWritten(node) => {
                all -= pending.remove(node).unwrap_or(0);
            }
            _ => {}
        }
    }
    most.1
}

/// Where each node was synced, from a step on, by class.
fn syncs(
    recording: &Recording,
    classes: &BTreeMap<Node, Class>,
    first: usize,
) -> Vec<Vec<Vec<usize>>> {
    let class = |node| classes.get(node).copied().unwrap_or(Class::Other);
    let mut syncs: BTreeMap<Class, BTreeMap<Node, Vec<usize>>> = BTreeMap::new();
    for (number, step) in recording.steps.iter().enumerate().skip(first) {
        if let Step::Sync(node) | Step::SyncWritten(node) | Step::SyncDirectory(node) = step {
            let of_class = syncs.entry(class(node)).or_default();
            of_class.entry(*node).or_default().push(number);
        }
    }
    let files = |of_class: BTreeMap<Node, Vec<usize>>| of_class.into_values().collect();
    syncs.into_values().map(files).collect()
}

#[cfg(test)]
mod tests {
    use super::{Drawn, cuts};
    use crate::power::{Base, Class, Kind, Node, Owner, Recording, Step};
    use std::path::Path;

    const LOG: Node = Node(2);
    const DATA: Node = Node(3);

    fn classify(path: &Path) -> Class {
        if path == Path::new("log") {
            Class::Log
        } else {
            Class::Data
        }
    }

    fn create(node: Node, name: &str) -> Step {
        let owner = Owner {
            mode: 0o600,
            user: 0,
            group: 0,
        };
        let place = (Node::ROOT, name.into());
        let kind = Kind::File;
        Step::Create {
            node,
            place,
            kind,
            owner,
        }
    }

    fn write(node: Node, bytes: usize) -> Step {
        let bytes = vec![7; bytes].into();
        Step::Write {
            node,
            offset: 0,
            bytes,
        }
    }

    #[test]
    fn the_worst_moment_of_the_log_and_the_end_are_always_cut_at() {
        let acknowledged = Step::Acknowledged(vec![1].into());
        let steps = vec![
            create(LOG, "log"),
            create(DATA, "data"),
            write(LOG, 900), // before the first acknowledgement
            Step::Sync(LOG),
            acknowledged.clone(),
            write(LOG, 50),
            write(LOG, 50),
            acknowledged.clone(),
            Step::Sync(LOG), // step 8: before it a hundred bytes wait
            write(DATA, 5_000),
            Step::Sync(DATA),
            write(LOG, 60),
            acknowledged,
        ];
        let base = Base::default();
        let recording = Recording { base, steps };
        for seed in 0..20 {
            let drawn = Drawn {
                images: 40,
                seed,
                tears: true,
            };
            let cuts = cuts(&recording, classify, drawn);
            assert_eq!(cuts.len(), 40);
            let at = |step| cuts.iter().filter(|cut| cut.step == step).count();
            assert!(at(7) >= 10 && at(13) >= 10, "{seed}: {cuts:?}");
            assert!(cuts.iter().all(|cut| cut.step >= 5), "{seed}: {cuts:?}");
        }
    }
}
