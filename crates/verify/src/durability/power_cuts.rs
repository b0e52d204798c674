//! The power losses of a recording: where each one strikes, and what it loses.

use super::cut_points::{CutPoint, CutPoints};
use crate::power::{Classify, Loss, Recording};
use serde::{Deserialize, Serialize};

/// One power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Number of steps before it.
    pub step: usize,
    /// True if names follow the strict model, false if they behave as on ext4.
    pub strict: bool,
    /// What becomes of the unsynced data.
    pub loss: Loss,
}

/// The parameters of a random choice of power losses.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossSelection {
    /// Number of images.
    pub(super) images: u64,
    /// The seed.
    pub(super) seed: u64,
    /// False if units smaller than a file are never torn.
    pub(super) tears: bool,
}

/// Images per place, see [`CutPoints`].
const IMAGES: usize = 10;

/// The models of names, as values of [`Cut::strict`]. A failure under only one of them is due to names.
const MODELS: [bool; 2] = [false, true];

/// The power losses of a recording, in order: ten images at each of the [`CutPoints`], all after the first
/// acknowledgement.
pub(super) fn cuts(recording: &Recording, classify: Classify, drawn: LossSelection) -> Vec<Cut> {
    let mut random = fastrand::Rng::with_seed(drawn.seed);
    let mut places = CutPoints::of(recording, classify, drawn.tears, &mut random);
    let mut cuts = Vec::new();
    for number in 0..drawn.images.div_ceil(IMAGES as u64) {
        match places.place(number as usize, &mut random) {
            CutPoint::Step(step) => {
                let losses = losses(drawn.tears, &mut random);
                for strict in MODELS {
                    cuts.extend(losses.map(|loss| Cut { step, strict, loss }));
                }
            }
            CutPoint::HeaderWrites => cuts.extend(heads(&mut places, &mut random)),
        }
    }
    // The fixed places come first, so that even a few images include them.
    cuts.truncate(drawn.images as usize);
    cuts.sort_by_key(|cut| cut.step);
    cuts
}

/// The losses at one step.
fn losses(tears: bool, random: &mut fastrand::Rng) -> [Loss; IMAGES / 2] {
    let mut torn = |unit_bytes| {
        let seed = random.u64(..);
        if tears { Loss::Torn { seed, unit_bytes } } else { Loss::Subset { seed } }
    };
    let (sectors, pages) = (torn(512), torn(4096));
    let subset = Loss::Subset { seed: random.u64(..) };
    [Loss::Drop, Loss::Keep, subset, sectors, pages]
}

/// As many images, each at its own moment: here the moment matters, not what else is lost.
fn heads(places: &mut CutPoints, random: &mut fastrand::Rng) -> Vec<Cut> {
    let mut cuts = Vec::new();
    for _ in 0..IMAGES / MODELS.len() {
        let (round, step) = places.head(random);
        let seed = random.u64(..);
        let head = |unit_bytes, arrives| Loss::Head { seed, unit_bytes, arrives };
        let torn = |unit_bytes| Loss::Torn { seed, unit_bytes };
        // Tears after the first unit come first, because they spare no data file's beginning.
        let all = [head(512, true), head(512, false), head(4096, true), torn(512), torn(4096)];
        let loss = all[round % all.len()];
        cuts.extend(MODELS.map(|strict| Cut { step, strict, loss }));
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::{LossSelection, cuts};
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
            owner: Owner { mode: 0o600, user: 0, group: 0 },
            len: 0,
        }
    }

    /// Two data files and a log, each written and synced in turn; the beginning of one data file is written
    /// once in a hundred rounds, that of the other never.
    fn recording() -> (Recording, Vec<usize>) {
        let mut recording = Recording::default();
        recording.base.nodes = vec![node(2, "log"), node(3, "seldom"), node(4, "never")];
        recording.base = Base { directory: "base".into(), ..recording.base };
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
                recording.steps.push(Step::sync(Node(number)));
            }
            recording.steps.push(Step::Acknowledged(Arc::from([0; 24])));
        }
        (recording, heads)
    }

    #[test]
    fn beginnings_of_data_files_are_torn_even_if_rarely_written() {
        let (recording, heads) = recording();
        for seed in 0..20 {
            let drawn = |tears| LossSelection { images: 200, seed, tears };
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
    fn cuts_include_the_worst_moments_of_log_and_data_and_the_end() {
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
            Step::sync(Node(2)),
            acknowledged.clone(),
            write(2, 50),
            write(2, 50),
            acknowledged.clone(),
            Step::sync(Node(2)),
            write(3, 5_000),
            Step::sync(Node(3)),
            write(2, 60),
            acknowledged,
        ];
        let (first, worst, worst_of_data) = (3, 5, 8);
        for seed in 0..20 {
            let drawn = LossSelection { images: 40, seed, tears: true };
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
