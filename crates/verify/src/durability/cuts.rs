//! Where a recording is cut, and what each cut takes.

use crate::power::{Class as PathClass, Classify, Loss, Node, Recording, Step};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;

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

/// The cuts of a recording, in order: from the first acknowledgement on, ten images at each of the
/// [`places`].
pub(super) fn cuts(recording: &Recording, classify: Classify, drawn: Drawn) -> Vec<Cut> {
    let Drawn {
        images,
        seed,
        tears,
    } = drawn;
    let mut random = fastrand::Rng::with_seed(seed);
    let steps = places(recording, classify, drawn, &mut random);
    let mut cuts = Vec::new();
    for (step, is_head) in steps {
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
        let head = |unit_bytes, arrives| Loss::Head {
            seed,
            unit_bytes,
            arrives,
        };
        let losses = if is_head {
            let whole_page = head(4096, true);
            [
                head(512, true),
                head(512, false),
                whole_page,
                sectors,
                pages,
            ]
        } else {
            let subset = Loss::Subset { seed };
            [Loss::Drop, Loss::Keep, subset, sectors, pages]
        };
        // The same losses under both models, so that what fails under one alone fails by its names.
        for strict in [false, true] {
            cuts.extend(losses.map(|loss| Cut { step, strict, loss }));
        }
    }
    cuts.truncate(images as usize);
    cuts
}

/// The steps to cut before, in order, and which of them are heads. Three are always there: the end, by when
/// all is acknowledged, and where the most of the log, and of the data, waits for its sync. Of the others
/// every second is just before a sync answers; of which class of files is drawn first, then of which file,
/// so that what is synced seldom is not missed.
///
/// Where pages are torn, every fourth place is a head: just before a sync of a data file whose first
/// bytes are pending, each such file in its turn, and every image there is torn, most of them behind those
/// bytes: a store must read them before it can mend anything else of the file, and writes them seldom.
fn places(
    recording: &Recording,
    classify: Classify,
    drawn: Drawn,
    random: &mut fastrand::Rng,
) -> Vec<(usize, bool)> {
    let is_acknowledgement = |step: &Step| matches!(step, Step::Acknowledged(_));
    let first = recording.steps.iter().position(is_acknowledgement);
    let (first, last) = (first.map_or(0, |first| first + 1), recording.steps.len());
    let classes = recording.classes(classify);
    let (syncs, heads) = syncs(recording, &classes, first);
    let count = drawn.images.div_ceil(10) as usize;
    let worst = [PathClass::Log, PathClass::Data]
        .into_iter()
        .filter_map(|class| most_pending(recording, &classes, class, first));
    let always: Vec<_> = iter::once(last).chain(worst).collect();
    let others = (always.len()..count).map(|place| {
        if place % 4 == 0 && drawn.tears && !heads.is_empty() {
            let of_one = &heads[(place / 4 - 1) % heads.len()];
            (of_one[random.usize(..of_one.len())], true)
        } else if place % 2 == 0 || syncs.is_empty() {
            (random.usize(first..=last), false)
        } else {
            let files = &syncs[random.usize(..syncs.len())];
            let of_one = &files[random.usize(..files.len())];
            (of_one[random.usize(..of_one.len())], false)
        }
    });
    let always = always.iter().map(|step| (*step, false));
    let mut places: Vec<_> = always.chain(others).take(count).collect();
    places.sort_unstable();
    places
}

/// Before which step, from one on, the most bytes of a class wait to be synced: the first of such; none if
/// nothing of it ever waits.
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
            Step::Sync(node) | Step::SyncWritten(node) => {
                all -= pending.remove(node).unwrap_or(0);
            }
            _ => {}
        }
    }
    most.map(|(_, step)| step)
}

/// Where a file was synced.
type OfFile = Vec<usize>;

/// Where each node was synced, from a step on, by class; and where each data file was whose first bytes
/// were pending.
fn syncs(
    recording: &Recording,
    classes: &BTreeMap<Node, PathClass>,
    first: usize,
) -> (Vec<Vec<OfFile>>, Vec<OfFile>) {
    let class = |node| classes.get(node).copied().unwrap_or(PathClass::Other);
    let mut syncs: BTreeMap<PathClass, BTreeMap<Node, Vec<usize>>> = BTreeMap::new();
    let mut heads: BTreeMap<Node, OfFile> = BTreeMap::new();
    let mut pending = BTreeSet::new();
    for (number, step) in recording.steps.iter().enumerate() {
        match step {
            Step::Write {
                node, offset: 0, ..
            } if class(node) == PathClass::Data => drop(pending.insert(*node)),
            Step::Sync(node) | Step::SyncWritten(node) | Step::SyncDirectory(node) => {
                let was_pending = pending.remove(node);
                if number < first {
                    continue;
                }
                let of_class = syncs.entry(class(node)).or_default();
                of_class.entry(*node).or_default().push(number);
                if was_pending {
                    heads.entry(*node).or_default().push(number);
                }
            }
            _ => {}
        }
    }
    let files = |of_class: BTreeMap<Node, OfFile>| of_class.into_values().collect();
    let syncs = syncs.into_values().map(files).collect();
    let mut heads: Vec<OfFile> = heads.into_values().collect();
    // Those first whose first bytes are written most often: they are in use.
    heads.sort_by_key(|of_file| Reverse(of_file.len()));
    (syncs, heads)
}

#[cfg(test)]
mod tests {
    use super::{Drawn, cuts};
    use crate::power::{Base, BaseNode, Class, Kind, Node, Owner, Recording, Step};
    use std::path::Path;
    use std::sync::Arc;

    fn classify(path: &Path) -> Class {
        match path.to_str() {
            Some("log") => Class::Log,
            _ => Class::Data,
        }
    }

    fn node(number: u64, name: &str) -> BaseNode {
        BaseNode {
            node: Node(number),
            place: (Node::ROOT, name.into()),
            path: name.into(),
            kind: Kind::File,
            owner: Owner {
                mode: 0o600,
                user: 0,
                group: 0,
            },
            len: 0,
        }
    }

    /// Two data files and a log, each written and synced in turn; the first bytes of one data file once in
    /// a hundred rounds, of the other never.
    fn recording() -> (Recording, Vec<usize>) {
        let mut recording = Recording::default();
        recording.base.nodes = vec![node(2, "log"), node(3, "seldom"), node(4, "never")];
        recording.base = Base {
            directory: "base".into(),
            ..recording.base
        };
        let mut heads = Vec::new();
        for round in 0..1000_u64 {
            for number in 2..5 {
                let offset = if number == 3 && round % 100 == 99 {
                    heads.push(recording.steps.len() + 1);
                    0
                } else {
                    4096 * (1 + round)
                };
                recording.steps.push(Step::Write {
                    node: Node(number),
                    offset,
                    bytes: Arc::from([1; 64]),
                });
                recording.steps.push(Step::Sync(Node(number)));
            }
            recording.steps.push(Step::Acknowledged(Arc::from([0; 24])));
        }
        (recording, heads)
    }

    #[test]
    fn the_first_bytes_of_data_files_are_torn_however_seldom_they_are_written() {
        let (recording, heads) = recording();
        for seed in 0..20 {
            let drawn = |tears| Drawn {
                images: 200,
                seed,
                tears,
            };
            let all = cuts(&recording, classify, drawn(true));
            assert_eq!(all.len(), 200);
            let at_heads = all.iter().filter(|cut| heads.contains(&cut.step));
            let torn = at_heads.filter(|cut| cut.loss.tears()).count();
            assert!(torn >= 40, "seed {seed}: {torn}");
            let whole = cuts(&recording, classify, drawn(false));
            assert!(whole.iter().all(|cut| !cut.loss.tears()), "seed {seed}");
        }
    }

    #[test]
    fn the_worst_moments_of_log_and_data_and_the_end_are_always_cut_at() {
        let write = |number, len: usize| Step::Write {
            node: Node(number),
            offset: 0,
            bytes: vec![7; len].into(),
        };
        let acknowledged = Step::Acknowledged(vec![1].into());
        let mut recording = Recording::default();
        recording.base.nodes = vec![node(2, "log"), node(3, "data")];
        recording.steps = vec![
            write(2, 900), // before the first acknowledgement
            Step::Sync(Node(2)),
            acknowledged.clone(),
            write(2, 50),
            write(2, 50),
            acknowledged.clone(),
            Step::Sync(Node(2)),
            write(3, 5_000),
            Step::Sync(Node(3)),
            write(2, 60),
            acknowledged,
        ];
        let (first, worst, worst_of_data) = (3, 5, 8);
        for seed in 0..20 {
            let drawn = Drawn {
                images: 40,
                seed,
                tears: true,
            };
            let cuts = cuts(&recording, classify, drawn);
            assert_eq!(cuts.len(), 40);
            for step in [worst, worst_of_data, recording.steps.len()] {
                let there = cuts.iter().filter(|cut| cut.step == step);
                assert!(there.count() >= 10, "{step}: {cuts:?}");
            }
            assert!(cuts.iter().all(|cut| cut.step >= first), "{cuts:?}");
        }
    }
}
