//! The verification of one setting: kills, crash images, controls, faults, verdict.

use super::adapter::{Adapter, Expected, Setting};
use super::adapters::{self, ADAPTERS};
use super::child_process::ChildProgram;
use super::crash_images::{Images, Keep, Trial};
use super::fault_injection::faults;
use super::finding::{Control, FORMAT, Finding, Verdict};
use super::live_fault::LiveFault;
use super::outcome::Class;
use super::power_cuts::{LossSelection, cuts};
use super::process_kills::kills;
use super::replica::Replica;
use super::test_store::{CLIENTS, TestStore};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The parameters of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The store: "sqlite".
    pub store: String,
    /// The options of its URL.
    pub options: String,
    /// Number of crash images of the setting.
    pub images: u64,
    /// Number of crash images per control.
    pub control_images: u64,
    /// Number of processes to kill.
    pub kills: u64,
    /// Duration of each load.
    pub load: Duration,
    /// Judges the setting as one that must hold, whatever it promises.
    pub must_hold: bool,
    /// Whether pages and sectors may be torn; if not, the disk is assumed to write pages atomically.
    pub tears: bool,
    /// Whether live faults are tried.
    pub faults: bool,
    /// The most bytes that a recording may hold before the power goes off. [`RECORDED_BYTES_MAX`] is plenty.
    ///
    /// [`RECORDED_BYTES_MAX`]: super::RECORDED_BYTES_MAX
    pub recorded_bytes_max: u64,
    /// Seed of cuts and losses. The load itself depends on timing.
    pub seed: u64,
    /// A scratch folder for stores and images; the caller removes it.
    pub scratch: PathBuf,
    /// The directory where failing images are kept.
    pub keep: PathBuf,
    /// The live server that this is a replica of, if any.
    pub like: Option<Replica>,
}

/// The names of the supported stores.
pub fn stores() -> Vec<&'static str> {
    ADAPTERS.iter().map(|adapter| adapter.name()).collect()
}

/// A faster directory for a store and its images than the current one; none if there is no faster one.
pub fn place(store: &str) -> Option<PathBuf> {
    adapters::of(store).ok()?.fast_directory()
}

/// Splits a target into the store's name and options. Refuses a path, because verification kills its store
/// and loses the files: only a private store is tested. `verb` is the command, as typed.
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
        "{verb} kills its store and loses its files, so it makes a temporary one; give only {name}, with its options \
         after a question mark"
    );
    Err(Error::cannot(match path {
        // Names of stores that this program would make itself, not paths.
        "private" | "derby" => format!("{target}: {made}"),
        _ if adapter.supports_replicas() && verb == VERB => {
            format!(
                "{target} names an existing store: {made}, or use --like with the URL of a live server"
            )
        }
        _ => format!("{target} names an existing store: {made}"),
    }))
}

/// The command that offers `--like`.
pub const VERB: &str = "verify durability";

/// Verifies a setting. Passes short descriptions of the current work to `progress`. When `stop` is set, ends
/// soon with an error.
pub fn verify(
    request: &Request,
    program: &ChildProgram,
    stop: &AtomicBool,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Finding> {
    let mut test_store = TestStore::of(&request.store, program, &request.scratch, stop, None)?;
    test_store.recorded_bytes_max = request.recorded_bytes_max;
    let check = Check { request, test_store, progress };
    check.run()
}

/// The most failing images of a class that are kept.
const KEPT_MAX: u64 = 2;

struct Check<'c> {
    request: &'c Request,
    test_store: TestStore<'c>,
    progress: &'c (dyn Fn(&str) + Sync),
}

impl Check<'_> {
    fn run(&self) -> Result<Finding> {
        let (request, adapter) = (self.request, self.test_store.adapter);
        let options = self.options();
        let prepared = self.test_store.folder("prepared")?;
        let settings = self.test_store.prepare(&prepared, options)?;
        if let Some(replica) = &request.like {
            replica.must_fit(&settings)?;
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
            kills: kills(
                &self.test_store,
                &prepared,
                options,
                request.kills,
                request.seed,
                &progress,
            )?,
            images: None,
            no_images: self.test_store.no_power()?,
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
        for setting in self.test_store.adapter.settings() {
            let is_exercised =
                request.tears || !self.test_store.adapter.needs_tears(setting.options);
            if setting.options != options && is_exercised && is_needed(setting, finding) {
                finding.controls.push(self.control(setting)?);
            }
        }
        if request.faults {
            let progress = |what: &str| (self.progress)(what);
            finding.faults = Some(faults(&self.test_store, prepared, options, keep, &progress)?);
        }
        Ok(())
    }

    fn window_ms(&self, options: &str) -> Option<u64> {
        let window = self.test_store.adapter.window(options)?;
        Some(window.as_millis() as u64)
    }

    fn control(&self, setting: &Setting) -> Result<Control> {
        let prepared = self.test_store.folder("control")?;
        self.test_store.prepare(&prepared, setting.options)?;
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
        let loaded = self.test_store.load(prepared, options, "load", load, LiveFault::None)?;
        if !loaded.stopped.is_empty() {
            return Err(Error::cannot(format!(
                "the load of {name} stopped before the power was cut: {}",
                loaded.stopped
            )));
        }
        let trial = Trial {
            test_store: &self.test_store,
            options,
            loaded: &loaded,
            keep,
            progress: &|done| {
                if done % 10 == 0 {
                    (self.progress)(&format!("{name}: {done} of {count} images"));
                }
            },
        };
        let classify = self.test_store.adapter.classify();
        let (seed, tears) = (self.request.seed, self.request.tears);
        trial.run(&cuts(&loaded.recording, classify, LossSelection { images: count, seed, tears }))
    }

    /// The load's duration: longer than the setting's window, otherwise a loss of everything would be within
    /// what it may lose.
    fn load(&self, options: &str) -> Duration {
        let window = self.test_store.adapter.window(options).unwrap_or_default();
        self.request.load.max(window * 5 / 2)
    }

    /// The requested options, or those of the store's first setting.
    fn options(&self) -> &str {
        if self.request.options.is_empty() {
            self.test_store.adapter.settings()[0].options
        } else {
            &self.request.options
        }
    }
}

/// One control that must hold is enough, and the tested setting itself may be one.
fn is_needed(setting: &Setting, finding: &Finding) -> bool {
    setting.expected != Expected::Hold
        || (finding.expected != Expected::Hold
            && !finding.controls.iter().any(|one| one.expected == Expected::Hold))
}

/// The expected behaviour of a setting: from its adapter, or by its durability level.
pub(super) fn expected(adapter: &dyn Adapter, options: &str, durability: &str) -> Expected {
    let known = adapter.settings().iter().find(|one| one.options == options);
    match (known, durability) {
        (Some(setting), _) => setting.expected,
        (None, "data" | "full") => Expected::Hold,
        (None, _) => Expected::Lose,
    }
}
