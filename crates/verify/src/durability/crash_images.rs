//! Crash images of one recording: chosen, built, recovered by the store, judged, and kept if they fail.

use super::child_process::ChildFailure;
use super::failing_images::Case;
use super::independent_trials::{IndependentTrials, Trials};
use super::outcome::{Acknowledged, Class, Outcome};
use super::power_cuts::Cut;
use super::test_store::{Loaded, TestStore, look, recovery_workers, remove};
use crate::error::Result;
use crate::power::{Class as PathClass, Image, Metadata, Replay, Step};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// How many of each class were kept by now.
type Kept = Mutex<BTreeMap<Class, u64>>;

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
    /// At how many steps the power went.
    #[serde(default)]
    pub places: u64,
    /// How many of these are trials of their own, by what was taken there.
    #[serde(default)]
    pub independent: IndependentTrials,
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
    /// In which pages may have been torn: images, and those that are not ok.
    #[serde(default)]
    pub torn: (u64, u64),
    /// In which a write of a data file's first bytes arrived in part: images, and those that are not ok.
    #[serde(default)]
    pub heads: (u64, u64),
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

    /// Counts what was taken; true if a write of a data file's first bytes arrived in part.
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

/// Where failing images go, and which they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keep<'t> {
    pub(super) place: &'t Path,
    /// Which classes fail.
    pub(super) fails: fn(Class) -> bool,
    /// The most that are kept of a class.
    pub(super) of_class_max: u64,
    /// The fault that had struck before the power went, in words.
    pub(super) fault: Option<&'t str>,
}

/// True if one more image of that class is to be kept.
fn is_wanted(keep: Keep<'_>, kept: &Kept, class: Class) -> bool {
    let mut kept = kept.lock();
    let of_class = kept.entry(class).or_default();
    *of_class += 1;
    *of_class <= keep.of_class_max
}

/// Every image of a loaded store.
pub(super) struct Trial<'t> {
    pub(super) ground: &'t TestStore<'t>,
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
        let mut heard = Acknowledged::default();
        recording.acknowledged(recording.steps.len()).for_each(|bytes| heard.hear(bytes));
        let mut all = Images {
            places: cuts.chunk_by(|one, next| one.step == next.step).count() as u64,
            steps: recording.steps.len() as u64,
            acknowledged: heard.total(),
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
        let classify = self.ground.adapter.classify();
        let mut machines = [
            Replay::new(&recording.base, Metadata::OrderedJournal),
            Replay::new(&recording.base, Metadata::Strict),
        ];
        let (mut found, mut trials) = (Images::default(), Trials::default());
        let mut heard = Acknowledged::default();
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
            let head_torn = found.exercise(&image, classify) && cut.loss.tears();
            let directory = self.ground.folder(&format!("image-{number}"))?;
            image.write_to(&directory)?;
            let looked = look(self.ground.adapter, &mut helper, &directory, self.options)?;
            self.ground.go_on()?;
            if matches!(looked.answer, Err(ChildFailure::Hangs | ChildFailure::Ended(_))) {
                helper = self.ground.program.start()?;
            }
            let outcome = heard.judge(looked);
            let known = self.ground.adapter.known(&outcome.what);
            found.add(*cut, head_torn, &outcome, known);
            trials.add(*cut, head_torn);
            if let Some(keep) = self.keep
                && (keep.fails)(outcome.class)
                && is_wanted(keep, kept, outcome.class)
            {
                let case = Case {
                    store: self.ground.adapter.name().to_owned(),
                    options: self.options.to_owned(),
                    cut: *cut,
                    fault: keep.fault.map(str::to_owned),
                    acknowledged: heard.clone(),
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
