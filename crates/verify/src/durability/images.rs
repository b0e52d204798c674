//! Crash images of one recording: chosen, built, recovered by the store, judged, and kept if they fail.

use super::ground::{Ground, Loaded, look, lookers, remove};
use super::kept::Case;
use super::outcome::{Acknowledged, Class, Outcome};
use super::program::Silence;
use crate::error::Result;
use crate::power::{
    Class as PathClass, Classify, Image, Loss, Machine, Metadata, Node, Recording, Step,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Failing images of a class that are kept.
const KEPT_MAX: u64 = 2;

/// How many of each class were kept by now.
type Kept = Mutex<BTreeMap<Class, u64>>;

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

/// What was found of one class of paths over all images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exercised {
    /// Images in which bytes of such files were lost.
    pub lost: u64,
    /// Images in which a write to such a file arrived in part.
    pub torn: u64,
    /// Units of 512 bytes lost, in all images.
    pub units: u64,
}

/// What was found over the images of one setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Images {
    /// How many.
    pub images: u64,
    /// Steps that were recorded, and transactions acknowledged in them.
    pub steps: u64,
    /// See `steps`.
    pub acknowledged: u64,
    /// How many of each class, under the ext4-like model.
    pub journal: BTreeMap<String, u64>,
    /// How many of each class, under the strict model.
    pub strict: BTreeMap<String, u64>,
    /// By kind of loss: images, and those that are not ok.
    pub losses: BTreeMap<String, (u64, u64)>,
    /// The most acknowledged transactions that one image had lost.
    pub lost_max: u64,
    /// How far back the lost transactions of one image reached at most, in milliseconds: from the latest
    /// acknowledgement to that of the earliest that was gone.
    #[serde(default)]
    pub reach_ms_max: u64,
    /// Faults that struck, by class of paths.
    pub exercised: BTreeMap<String, Exercised>,
    /// Images in which changes of names were lost.
    pub names_lost: u64,
    /// The first outcome of each class but ok, in words.
    pub examples: BTreeMap<Class, String>,
    /// What is known of failures like those seen, and what to do; of how many images.
    #[serde(default)]
    pub known: BTreeMap<String, u64>,
    /// Where failing images are kept.
    pub kept: Vec<PathBuf>,
}

impl Images {
    /// Images of a class, under one model or both.
    pub fn count(&self, class: Class, strict: Option<bool>) -> u64 {
        let of = |counts: &BTreeMap<String, u64>| counts.get(class.words()).copied().unwrap_or(0);
        match strict {
            Some(true) => of(&self.strict),
            Some(false) => of(&self.journal),
            None => of(&self.strict) + of(&self.journal),
        }
    }

    /// Images in which pages were torn, or in which they were not, and those of them that are not ok.
    pub(super) fn of_tears(&self, torn: bool) -> (u64, u64) {
        let of = self.losses.iter().filter(|(loss, _)| is_tear(loss) == torn);
        of.fold((0, 0), |(all, bad), (_, one)| (all + one.0, bad + one.1))
    }

    fn add(&mut self, cut: Cut, outcome: &Outcome, known: Option<&str>) {
        self.images += 1;
        let counts = if cut.strict {
            &mut self.strict
        } else {
            &mut self.journal
        };
        *counts.entry(outcome.class.words().to_owned()).or_default() += 1;
        let loss = self.losses.entry(cut.loss.word().to_owned()).or_default();
        loss.0 += 1;
        self.lost_max = self.lost_max.max(outcome.lost.unwrap_or(0));
        self.reach_ms_max = self.reach_ms_max.max(outcome.reach_ms.unwrap_or(0));
        if outcome.class != Class::Ok {
            loss.1 += 1;
            let example = self.examples.entry(outcome.class);
            example.or_insert_with(|| outcome.what.clone());
            if let Some(known) = known {
                *self.known.entry(known.to_owned()).or_default() += 1;
            }
        }
    }

    fn exercise(&mut self, image: &Image, classify: fn(&Path) -> PathClass) {
        let mut here: BTreeMap<PathClass, (u64, u64)> = BTreeMap::new();
        for (path, taken) in &image.lost.files {
            let (lost, torn) = here.entry(classify(path)).or_default();
            *lost += taken.lost;
            *torn += taken.torn_writes;
        }
        for (class, (lost, torn)) in here {
            let exercised = self.exercised.entry(class.word().to_owned()).or_default();
            exercised.lost += u64::from(lost > 0);
            exercised.torn += u64::from(torn > 0);
            exercised.units += lost;
        }
        self.names_lost += u64::from(image.lost.names > 0);
    }

    fn merge(&mut self, other: Images) {
        self.images += other.images;
        self.lost_max = self.lost_max.max(other.lost_max);
        self.reach_ms_max = self.reach_ms_max.max(other.reach_ms_max);
        self.names_lost += other.names_lost;
        for (to, from) in [
            (&mut self.journal, other.journal),
            (&mut self.strict, other.strict),
        ] {
            for (class, count) in from {
                *to.entry(class).or_default() += count;
            }
        }
        for (loss, (all, bad)) in other.losses {
            let to = self.losses.entry(loss).or_default();
            *to = (to.0 + all, to.1 + bad);
        }
        for (class, more) in other.exercised {
            let to = self.exercised.entry(class).or_default();
            to.lost += more.lost;
            to.torn += more.torn;
            to.units += more.units;
        }
        for (class, what) in other.examples {
            self.examples.entry(class).or_insert(what);
        }
        for (known, count) in other.known {
            *self.known.entry(known).or_default() += count;
        }
        self.kept.extend(other.kept);
    }
}

/// True of the word of a loss that tears.
fn is_tear(word: &str) -> bool {
    let seed = 0;
    let tears = [512, 4096].map(|unit_bytes| Loss::Torn { seed, unit_bytes }.word());
    tears.contains(&word)
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

/// The cuts of a recording, in order: from the first acknowledgement on, ten images at each. Every
/// second place is just before a sync answers: there the most is pending. Of which class of files is drawn
/// first, then of which file, so that what is synced seldom is not missed.
///
/// Where pages are torn, every fifth place is just before a sync of a data file whose first bytes are
/// pending, each such file in its turn, and every image there is torn: a store must read those bytes before it
/// can mend anything else of the file, and writes them seldom.
pub(super) fn cuts(recording: &Recording, classify: Classify, drawn: Drawn) -> Vec<Cut> {
    let Drawn {
        images,
        seed,
        tears,
    } = drawn;
    let is_acknowledgement = |step: &Step| matches!(step, Step::Acknowledged(_));
    let first = recording.steps.iter().position(is_acknowledgement);
    let (first, last) = (first.map_or(0, |first| first + 1), recording.steps.len());
    let (syncs, heads) = syncs(recording, classify, first);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut steps: Vec<_> = (1..images.div_ceil(10) as usize)
        .map(|place| {
            if place % 5 == 0 && tears && !heads.is_empty() {
                let of_one = &heads[(place / 5 - 1) % heads.len()];
                (of_one[random.usize(..of_one.len())], true)
            } else if place % 2 == 0 || syncs.is_empty() {
                (random.usize(first..=last), false)
            } else {
                let files = &syncs[random.usize(..syncs.len())];
                let of_one = &files[random.usize(..files.len())];
                (of_one[random.usize(..of_one.len())], false)
            }
        })
        .collect();
    // The last moment always: by then the most can be lost.
    steps.push((last, false));
    steps.sort_unstable();
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
        let losses = if is_head {
            [512, 512, 512, 4096, 4096].map(torn)
        } else {
            let (sectors, pages) = (torn(512), torn(4096));
            let seed = random.u64(..);
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

/// Where a file was synced.
type OfFile = Vec<usize>;

/// Where each node was synced, from a step on, by class; and where each data file was whose first bytes were
/// pending.
fn syncs(
    recording: &Recording,
    classify: Classify,
    first: usize,
) -> (Vec<Vec<OfFile>>, Vec<OfFile>) {
    let classes = recording.classes(classify);
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
    (syncs, heads.into_values().collect())
}

/// Where failing images go, and which classes fail.
pub(super) type Keep<'t> = (&'t Path, fn(Class) -> bool);

/// True if one more image of that class is to be kept.
fn is_wanted(kept: &Kept, class: Class) -> bool {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let of_class = kept.entry(class).or_default();
    *of_class += 1;
    *of_class <= KEPT_MAX
}

/// Every image of a loaded store.
pub(super) struct Trial<'t> {
    pub(super) ground: &'t Ground<'t>,
    pub(super) options: &'t str,
    pub(super) loaded: &'t Loaded,
    /// None keeps no image.
    pub(super) keep: Option<Keep<'t>>,
    /// Told after each image.
    pub(super) progress: &'t (dyn Fn(u64) + Sync),
}

impl Trial<'_> {
    /// Builds, recovers and judges the images of these cuts, side by side.
    pub(super) fn run(&self, cuts: &[Cut]) -> Result<Images> {
        let (done, kept) = (AtomicU64::new(0), Kept::default());
        let part = cuts.len().div_ceil(lookers()).max(1);
        let parts = thread::scope(|scope| {
            let started: Vec<_> = cuts
                .chunks(part)
                .enumerate()
                .map(|(number, cuts)| {
                    let (done, kept) = (&done, &kept);
                    scope.spawn(move || self.part(number, cuts, done, kept))
                })
                .collect();
            let ends = started.into_iter().map(thread::ScopedJoinHandle::join);
            ends.map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Vec<_>>()
        });
        let recording = &self.loaded.recording;
        let mut heard = Acknowledged::default();
        recording
            .acknowledged(recording.steps.len())
            .for_each(|bytes| heard.hear(bytes));
        let mut all = Images {
            steps: recording.steps.len() as u64,
            acknowledged: heard.total(),
            ..Images::default()
        };
        for part in parts {
            all.merge(part?);
        }
        Ok(all)
    }

    fn part(&self, number: usize, cuts: &[Cut], done: &AtomicU64, kept: &Kept) -> Result<Images> {
        let recording = &self.loaded.recording;
        let classify = self.ground.adapter.classify();
        let mut machines = [
            Machine::new(&recording.base, Metadata::OrderedJournal),
            Machine::new(&recording.base, Metadata::Strict),
        ];
        let (mut found, mut heard) = (Images::default(), Acknowledged::default());
        let (mut at, mut helper) = (0, self.ground.program.start()?);
        for cut in cuts {
            for step in &recording.steps[at..cut.step] {
                for machine in &mut machines {
                    machine.step(step)?;
                }
                if let Step::Acknowledged(bytes) = step {
                    heard.hear(bytes);
                }
            }
            at = cut.step;
            let image = machines[usize::from(cut.strict)].image(cut.loss)?;
            found.exercise(&image, classify);
            let directory = self.ground.folder(&format!("image-{number}"))?;
            image.write_to(&directory)?;
            let looked = look(self.ground.adapter, &mut helper, &directory, self.options)?;
            self.ground.go_on()?;
            if matches!(looked.answer, Err(Silence::Hangs | Silence::Ended(_))) {
                helper = self.ground.program.start()?;
            }
            let outcome = heard.judge(looked);
            let known = self.ground.adapter.known(&outcome.what);
            found.add(*cut, &outcome, known);
            if let Some((place, fails)) = self.keep
                && fails(outcome.class)
                && is_wanted(kept, outcome.class)
            {
                let case = Case {
                    store: self.ground.adapter.name().to_owned(),
                    options: self.options.to_owned(),
                    cut: *cut,
                    acknowledged: heard.clone(),
                    outcome,
                };
                let image = |directory: &Path| image.write_to(directory);
                found.kept.push(case.keep(place, image)?);
            }
            remove(&directory)?;
            (self.progress)(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::{Drawn, cuts};
    use crate::power::{Base, BaseNode, Class, Kind, Loss, Node, Owner, Recording, Step};
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

    /// Two data files and a log, each written and synced in turn; the first bytes of one data file once in a
    /// hundred rounds, of the other never.
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
            let is_torn = |loss| matches!(loss, Loss::Torn { .. });
            let all = cuts(&recording, classify, drawn(true));
            assert_eq!(all.len(), 200);
            let at_heads = all.iter().filter(|cut| heads.contains(&cut.step));
            let torn = at_heads.filter(|cut| is_torn(cut.loss)).count();
            assert!(torn >= 30, "seed {seed}: {torn}");
            let whole = cuts(&recording, classify, drawn(false));
            assert!(whole.iter().all(|cut| !is_torn(cut.loss)), "seed {seed}");
        }
    }
}
