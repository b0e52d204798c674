//! The whole verification of one setting: kills, images, controls, faults, verdict.

use super::adapter::{Adapter, Expected, Setting};
use super::adapters::{self, ADAPTERS};
use super::child_process::ChildProgram;
use super::crash_images::{Images, Keep, Trial};
use super::fault_injection::faults;
use super::finding::{Control, FORMAT, Finding, Verdict};
use super::live_fault::LiveFault;
use super::outcome::Class;
use super::power_cuts::{Drawn, cuts};
use super::process_kills::kills;
use super::replica::Replica;
use super::test_store::{CLIENTS, TestStore};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What is to be verified, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The store: "sqlite".
    pub store: String,
    /// The options of its URL.
    pub options: String,
    /// Crash images of the setting.
    pub images: u64,
    /// Crash images of each control.
    pub control_images: u64,
    /// Processes killed.
    pub kills: u64,
    /// How long each load runs.
    pub load: Duration,
    /// Judge the setting as one that must hold, whatever it promises.
    pub must_hold: bool,
    /// Whether pages and sectors may be torn; if not, the disk is taken to write pages whole.
    pub tears: bool,
    /// Whether live faults are tried.
    pub faults: bool,
    /// What a recording may hold in bytes: then the power goes. [`RECORDED_BYTES_MAX`] is plenty.
    ///
    /// [`RECORDED_BYTES_MAX`]: super::RECORDED_BYTES_MAX
    pub recorded_bytes_max: u64,
    /// The seed of cuts and losses; the load itself is as the clock has it.
    pub seed: u64,
    /// A folder of our own for stores and images, which is removed by whoever made it.
    pub scratch: PathBuf,
    /// Where failing images are kept.
    pub keep: PathBuf,
    /// The live server whose replica this is, if it is one.
    pub like: Option<Replica>,
}

/// The names of the stores that can be verified.
pub fn stores() -> Vec<&'static str> {
    ADAPTERS.iter().map(|adapter| adapter.name()).collect()
}

/// A directory for a store and its images that is quicker than the current one; none where it makes no
/// difference.
pub fn place(store: &str) -> Option<PathBuf> {
    adapters::of(store).ok()?.place()
}

/// Takes a target apart: a store's name and options; refuses a path, since only a private store is
/// tested: it is killed, and its files are lost. `verb` is who asks, as it was typed.
pub fn parse(verb: &str, target: &str) -> Result<(String, String)> {
    let (place, options) = target.split_once('?').unwrap_or((target, ""));
    let (scheme, path) = place.split_once(':').unwrap_or((place, ""));
    let name = match (scheme, path) {
        ("jdbc", path) => path.split(':').next().unwrap_or_default(),
        (name, _) => name,
    };
    let adapter = adapters::of(name)?;
    if name == place {
        return Ok((place.to_owned(), options.to_owned()));
    }
    let made = format!(
        "{verb} kills its store and loses its files, so it makes a temporary one; say {name}, with its options \
         behind a question mark"
    );
    Err(Error::cannot(match path {
        // Names of stores that others make, and no place at all.
        "private" | "derby" => format!("{target}: {made}"),
        _ if adapter.has_twins() && verb == VERB => {
            format!(
                "{target} names a store that is there: {made}, or --like and the URL of a live server"
            )
        }
        _ => format!("{target} names a store that is there: {made}"),
    }))
}

/// Who offers `--like`.
pub const VERB: &str = "verify durability";

/// Verifies a setting. `progress` is told what is being done, a few words at a time; when `stop` is set
/// it ends soon, with an error.
pub fn verify(
    request: &Request,
    program: &ChildProgram,
    stop: &AtomicBool,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Finding> {
    let mut ground = TestStore::of(&request.store, program, &request.scratch, stop, None)?;
    ground.recorded_bytes_max = request.recorded_bytes_max;
    let check = Check { request, ground, progress };
    check.run()
}

/// Failing images of a class that are kept.
const KEPT_MAX: u64 = 2;

struct Check<'c> {
    request: &'c Request,
    ground: TestStore<'c>,
    progress: &'c (dyn Fn(&str) + Sync),
}

impl Check<'_> {
    fn run(&self) -> Result<Finding> {
        let (request, adapter) = (self.request, self.ground.adapter);
        let options = self.options();
        let prepared = self.ground.folder("prepared")?;
        let settings = self.ground.prepare(&prepared, options)?;
        if let Some(twin) = &request.like {
            twin.must_fit(&settings)?;
        }
        let expected = if request.must_hold {
            Expected::Hold
        } else {
            expected(adapter, options, &settings.durability)
        };
        let progress = |what: &str| (self.progress)(what);
        let mut finding = Finding {
            format: FORMAT,
            store: request.store.clone(),
            options: options.to_owned(),
            like: request.like.clone(),
            settings,
            expected,
            window_ms: self.window_ms(options),
            seed: request.seed,
            tears: request.tears,
            clients: CLIENTS,
            kills: kills(&self.ground, &prepared, options, request.kills, request.seed, &progress)?,
            images: None,
            no_images: self.ground.no_power()?,
            controls: Vec::new(),
            faults: None,
            fault_verdict: None,
            verdict: Verdict::Unknown(String::new()),
        };
        if finding.no_images.is_none() {
            self.lose_power(&mut finding, &prepared)?;
        }
        finding.verdict = finding.judge();
        finding.fault_verdict = finding.judge_faults();
        Ok(finding)
    }

    fn lose_power(&self, finding: &mut Finding, prepared: &Path) -> Result<()> {
        let (request, options) = (self.request, self.options());
        let fails: fn(Class) -> bool = match finding.expected {
            Expected::Hold => |class| class != Class::Ok,
            Expected::LoseLatest => |class| !matches!(class, Class::Ok | Class::Lost),
            Expected::Lose => |_| false,
        };
        let keep = Keep { place: &request.keep, fails, of_class_max: KEPT_MAX, fault: None };
        let count = request.images;
        let images = self.images("this setting", prepared, options, count, Some(keep))?;
        finding.images = Some(images);
        for setting in self.ground.adapter.settings() {
            let is_exercised = request.tears || !self.ground.adapter.needs_tears(setting.options);
            if setting.options != options && is_exercised && is_wanted(setting, finding) {
                finding.controls.push(self.control(setting)?);
            }
        }
        if request.faults {
            let progress = |what: &str| (self.progress)(what);
            finding.faults = Some(faults(&self.ground, prepared, options, keep, &progress)?);
        }
        Ok(())
    }

    fn window_ms(&self, options: &str) -> Option<u64> {
        let window = self.ground.adapter.window(options)?;
        Some(window.as_millis() as u64)
    }

    fn control(&self, setting: &Setting) -> Result<Control> {
        let prepared = self.ground.folder("control")?;
        self.ground.prepare(&prepared, setting.options)?;
        let count = self.request.control_images;
        let images = self.images(setting.name, &prepared, setting.options, count, None)?;
        Ok(Control {
            name: setting.name.to_owned(),
            options: setting.options.to_owned(),
            expected: setting.expected,
            window_ms: self.window_ms(setting.options),
            images,
        })
    }

    fn images(
        &self,
        name: &str,
        prepared: &Path,
        options: &str,
        count: u64,
        keep: Option<Keep<'_>>,
    ) -> Result<Images> {
        (self.progress)(&format!("loading {name}"));
        let load = self.load(options);
        let loaded = self.ground.load(prepared, options, "load", load, LiveFault::None)?;
        if !loaded.stopped.is_empty() {
            return Err(Error::cannot(format!(
                "the load of {name} stopped before the power went: {}",
                loaded.stopped
            )));
        }
        let trial = Trial {
            ground: &self.ground,
            options,
            loaded: &loaded,
            keep,
            progress: &|done| {
                if done % 10 == 0 {
                    (self.progress)(&format!("{name}: {done} of {count} images"));
                }
            },
        };
        let classify = self.ground.adapter.classify();
        let (seed, tears) = (self.request.seed, self.request.tears);
        trial.run(&cuts(&loaded.recording, classify, Drawn { images: count, seed, tears }))
    }

    /// How long a setting is loaded: longer than what it may lose reaches back, else a loss of all would
    /// be no more than it may lose.
    fn load(&self, options: &str) -> Duration {
        let window = self.ground.adapter.window(options).unwrap_or_default();
        self.request.load.max(window * 5 / 2)
    }

    /// As asked for, or the store's first setting.
    fn options(&self) -> &str {
        if self.request.options.is_empty() {
            self.ground.adapter.settings()[0].options
        } else {
            &self.request.options
        }
    }
}

/// One control that must hold is enough, and the tested setting may be it.
fn is_wanted(setting: &Setting, finding: &Finding) -> bool {
    setting.expected != Expected::Hold
        || (finding.expected != Expected::Hold
            && !finding.controls.iter().any(|one| one.expected == Expected::Hold))
}

/// What a setting is expected to do: as its adapter says, or by its word.
pub(super) fn expected(adapter: &dyn Adapter, options: &str, durability: &str) -> Expected {
    let known = adapter.settings().iter().find(|one| one.options == options);
    match (known, durability) {
        (Some(setting), _) => setting.expected,
        (None, "data" | "full") => Expected::Hold,
        (None, _) => Expected::Lose,
    }
}
