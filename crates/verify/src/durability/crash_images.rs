//! The crash images of one recording: chosen, built, recovered by the store, judged, and kept if they fail.

use super::child_process::ChildFailure;
use super::failing_images::Case;
use super::independent_trials::{IndependentTrials, Trials};
use super::outcome::{Acknowledged, Class, Outcome};
use super::power_cuts::Cut;
use super::test_store::{LoadResult, TestStore, inspect, recovery_workers, remove};
use crate::error::Result;
use crate::power::{Class as PathClass, Image, Metadata, Replay, Step};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// How many failing images of each class have been found.
type Kept = Mutex<BTreeMap<Class, u64>>;

/// The losses in one class of files, over all images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossCounts {
    /// Images in which bytes of such files were lost.
    pub lost: u64,
    /// Images in which a write to such a file survived in part.
    pub torn: u64,
    /// Lost units of 512 bytes, over all images.
    pub units: u64,
}

/// The results of one setting's images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Images {
    /// Number of images.
    pub images: u64,
    /// Number of steps of the recording at which the power was cut.
    #[serde(default)]
    pub places: u64,
    /// How many of these places count as independent trials, by what was lost there.
    #[serde(default)]
    pub independent: IndependentTrials,
    /// Recorded steps, and the transactions acknowledged in them.
    pub steps: u64,
    /// Acknowledged transactions; see `steps`.
    pub acknowledged: u64,
    /// Images by class, under the ext4-like model.
    pub journal: BTreeMap<String, u64>,
    /// Images by class, under the strict model.
    pub strict: BTreeMap<String, u64>,
    /// By kind of loss: images, and those that are not ok.
    pub losses: BTreeMap<String, (u64, u64)>,
    /// Images in which pages may have been torn, and those of them that are not ok.
    #[serde(default)]
    pub torn: (u64, u64),
    /// Images in which a write at the beginning of a data file survived in part, and those of them that are
    /// not ok.
    #[serde(default)]
    pub heads: (u64, u64),
    /// The most acknowledged transactions lost in one image.
    pub lost_max: u64,
    /// The furthest that the lost transactions of one image reach back, in milliseconds: from the latest
    /// acknowledgement to that of the earliest lost transaction.
    #[serde(default)]
    pub reach_ms_max: u64,
    /// Losses by class of files.
    pub exercised: BTreeMap<String, LossCounts>,
    /// Images in which directory operations were lost.
    pub names_lost: u64,
    /// The first outcome of each class except ok, in words.
    pub examples: BTreeMap<Class, String>,
    /// Known causes of the failures seen, with the number of images.
    #[serde(default)]
    pub known: BTreeMap<String, u64>,
    /// The directories of kept failing images.
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

    fn add(&mut self, cut: Cut, head_torn: bool, outcome: &Outcome, known: Option<&str>) {
        self.images += 1;
        let counts = if cut.strict { &mut self.strict } else { &mut self.journal };
        *counts.entry(outcome.class.words().to_owned()).or_default() += 1;
        let loss = self.losses.entry(cut.loss.word().to_owned()).or_default();
        loss.0 += 1;
        self.lost_max = self.lost_max.max(outcome.lost.unwrap_or(0));
        self.reach_ms_max = self.reach_ms_max.max(outcome.reach_ms.unwrap_or(0));
        let tears = u64::from(cut.loss.tears());
        self.torn.0 += tears;
        self.heads.0 += u64::from(head_torn);
        if outcome.class != Class::Ok {
            loss.1 += 1;
            self.torn.1 += tears;
            self.heads.1 += u64::from(head_torn);
            let example = self.examples.entry(outcome.class);
            example.or_insert_with(|| outcome.what.clone());
            if let Some(known) = known {
                *self.known.entry(known.to_owned()).or_default() += 1;
            }
        }
    }

    /// Counts what was lost; true if a write at the beginning of a data file survived in part.
    fn exercise(&mut self, image: &Image, classify: fn(&Path) -> PathClass) -> bool {
        let mut here: BTreeMap<PathClass, (u64, u64)> = BTreeMap::new();
        let mut head_torn = false;
        for (path, taken) in &image.lost.files {
            let class = classify(path);
            head_torn |= class == PathClass::Data && taken.torn_heads > 0;
            let (lost, torn) = here.entry(class).or_default();
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
        head_torn
    }

    fn merge(&mut self, other: Images) {
        self.images += other.images;
        self.lost_max = self.lost_max.max(other.lost_max);
        self.reach_ms_max = self.reach_ms_max.max(other.reach_ms_max);
        self.names_lost += other.names_lost;
        self.torn = (self.torn.0 + other.torn.0, self.torn.1 + other.torn.1);
        self.heads = (self.heads.0 + other.heads.0, self.heads.1 + other.heads.1);
        for (to, from) in [(&mut self.journal, other.journal), (&mut self.strict, other.strict)] {
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

/// Which failing images are kept, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keep<'t> {
    pub(super) place: &'t Path,
    /// The classes that fail.
    pub(super) fails: fn(Class) -> bool,
    /// The most that are kept per class.
    pub(super) of_class_max: u64,
    /// The fault that had struck before the power was cut, in words.
    pub(super) fault: Option<&'t str>,
}

/// True if one more image of this class should be kept.
fn is_kept(keep: Keep<'_>, kept: &Kept, class: Class) -> bool {
    let mut kept = kept.lock();
    let of_class = kept.entry(class).or_default();
    *of_class += 1;
    *of_class <= keep.of_class_max
}

/// The images of one loaded store.
pub(super) struct Trial<'t> {
    pub(super) test_store: &'t TestStore<'t>,
    pub(super) options: &'t str,
    pub(super) loaded: &'t LoadResult,
    /// None keeps no image.
    pub(super) keep: Option<Keep<'t>>,
    /// Called after each image.
    pub(super) progress: &'t (dyn Fn(u64) + Sync),
}

impl Trial<'_> {
    /// Builds, recovers and judges the images of these cuts, in parallel.
    pub(super) fn run(&self, cuts: &[Cut]) -> Result<Images> {
        let (done, kept) = (AtomicU64::new(0), Kept::default());
        let part = cuts.len().div_ceil(recovery_workers()).max(1);
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
        let mut acknowledged = Acknowledged::default();
        recording.acknowledged(recording.steps.len()).for_each(|bytes| acknowledged.add(bytes));
        let mut all = Images {
            places: cuts.chunk_by(|one, next| one.step == next.step).count() as u64,
            steps: recording.steps.len() as u64,
            acknowledged: acknowledged.total(),
            ..Images::default()
        };
        let mut trials = Trials::default();
        for part in parts {
            let (found, more) = part?;
            all.merge(found);
            trials.merge(more);
        }
        all.independent = trials.count();
        Ok(all)
    }

    fn part(
        &self,
        number: usize,
        cuts: &[Cut],
        done: &AtomicU64,
        kept: &Kept,
    ) -> Result<(Images, Trials)> {
        let recording = &self.loaded.recording;
        let classify = self.test_store.adapter.classify();
        let mut replays = [
            Replay::new(&recording.base, Metadata::OrderedJournal),
            Replay::new(&recording.base, Metadata::Strict),
        ];
        let (mut found, mut trials) = (Images::default(), Trials::default());
        let mut acknowledged = Acknowledged::default();
        let (mut at, mut helper) = (0, self.test_store.program.start()?);
        for cut in cuts {
            for step in &recording.steps[at..cut.step] {
                for replay in &mut replays {
                    replay.step(step)?;
                }
                if let Step::Acknowledged(bytes) = step {
                    acknowledged.add(bytes);
                }
            }
            at = cut.step;
            let image = replays[usize::from(cut.strict)].image(cut.loss)?;
            let head_torn = found.exercise(&image, classify) && cut.loss.tears();
            let directory = self.test_store.folder(&format!("image-{number}"))?;
            image.write_to(&directory)?;
            let recovered =
                inspect(self.test_store.adapter, &mut helper, &directory, self.options)?;
            self.test_store.check_not_stopped()?;
            if matches!(recovered.answer, Err(ChildFailure::Hangs | ChildFailure::Ended(_))) {
                helper = self.test_store.program.start()?;
            }
            let outcome = acknowledged.judge(recovered);
            let known = self.test_store.adapter.known_cause(&outcome.what);
            found.add(*cut, head_torn, &outcome, known);
            trials.add(*cut, head_torn);
            if let Some(keep) = self.keep
                && (keep.fails)(outcome.class)
                && is_kept(keep, kept, outcome.class)
            {
                let case = Case {
                    store: self.test_store.adapter.name().to_owned(),
                    options: self.options.to_owned(),
                    cut: *cut,
                    fault: keep.fault.map(str::to_owned),
                    acknowledged: acknowledged.clone(),
                    outcome,
                };
                let image = |directory: &Path| image.write_to(directory);
                found.kept.push(case.keep(keep.place, image)?);
            }
            remove(&directory)?;
            (self.progress)(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
        Ok((found, trials))
    }
}
