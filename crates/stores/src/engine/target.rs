//! The engine as a target, and the settings that it reports.

use super::database_directory::DatabaseDirectory;
use super::failure::failure;
use super::session::{Begins, EngineSession};
use super::settings::{LISTING, Settings, word_of};
use super::store::{EngineDisk, Store};
use super::worker::EngineWorker;
use crate::error::Error;
use crate::path;
use crate::url::Url;
use parking_lot::{Mutex, MutexGuard};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syncline_contract::{
    Capabilities, ClientModel, CommitPath, CommitPaths, Failure, FailureKind, Internal, Isolation,
    LogLocation, LogSegments, Plan, ReportedSettings, Setting, TIME_CLASSES, Target, TargetResult,
};
use syncline_engine::{
    Begin, CLASSES, Database, Distribution, PathStep, SAMPLED_ONE_IN, Stats, log,
};
use syncline_vfs::{NullDisk, RealDisk};

/// The engine on a disk.
pub type Engine = EngineTarget<RealDisk>;

/// The engine in memory only.
pub type TransientEngine = EngineTarget<NullDisk>;

/// The engine as a target, on that disk.
#[derive(Debug)]
pub struct EngineTarget<D: EngineDisk> {
    pub(super) settings: Settings,
    store: Mutex<Option<Store<D>>>,
    // After the store, so that its files are closed before a private directory is removed. None in
    // memory alone.
    place: Option<DatabaseDirectory>,
}

/// The engine in the mode that a URL sets.
#[derive(Debug)]
pub(crate) enum OpenedEngine {
    /// On a disk.
    OnDisk(Engine),
    /// In memory only.
    Transient(TransientEngine),
}

/// Opens the target that an `engine:` URL names, without touching the disk.
pub(crate) fn open(url: &Url) -> Result<OpenedEngine, Error> {
    let settings = Settings::parse(&url.option_args(LISTING)?)?;
    if settings.is_transient {
        if url.path.is_some() {
            return Err(Error::Malformed {
                url: url.text.clone(),
                why: "a transient database is not stored, so it has no path",
                form: "engine?mode=transient",
            });
        }
        return Ok(OpenedEngine::Transient(EngineTarget::new(settings, None)));
    }
    let (log, archive) =
        (settings.options.log_directory.clone(), settings.options.log.archive.clone());
    let place = place(url, (log, archive))?;
    Ok(OpenedEngine::OnDisk(EngineTarget::new(settings, Some(place))))
}

/// The directory of the database, and those of its log and its archive if they are elsewhere.
fn place(
    url: &Url,
    elsewhere: (Option<PathBuf>, Option<PathBuf>),
) -> Result<DatabaseDirectory, Error> {
    for other in [&elsewhere.0, &elsewhere.1].into_iter().flatten() {
        let directory = other.parent().unwrap_or(Path::new("/")).to_owned();
        if !directory.is_dir() {
            return Err(Error::DirectoryAbsent { directory });
        }
    }
    let Some(path) = &url.path else {
        return Ok(DatabaseDirectory::new(path::private("engine")?, elsewhere, true));
    };
    if path.is_empty() || path.contains('\0') {
        return Err(Error::Malformed {
            url: url.text.clone(),
            why: "its path does not name a directory",
            form: LISTING.form,
        });
    }
    let path = path::absolute(Path::new(path))?;
    let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
    if !directory.is_dir() {
        return Err(Error::DirectoryAbsent { directory });
    }
    Ok(DatabaseDirectory::new(path, elsewhere, false))
}

impl<D: EngineDisk> EngineTarget<D> {
    fn new(settings: Settings, place: Option<DatabaseDirectory>) -> EngineTarget<D> {
        EngineTarget { settings, store: Mutex::new(None), place }
    }

    /// The database's statistics since it was created or opened; `None` before that.
    pub fn stats(&self) -> Option<Stats> {
        self.store().as_ref().map(|store| store.database.stats())
    }

    /// Makes a checkpoint now.
    pub fn checkpoint(&self) -> TargetResult<()> {
        self.with(|store| store.database.checkpoint().map(drop))
    }

    fn store(&self) -> MutexGuard<'_, Option<Store<D>>> {
        self.store.lock()
    }

    /// Applies a function to the open store.
    fn with<R>(
        &self,
        read: impl FnOnce(&Store<D>) -> syncline_engine::Result<R>,
    ) -> TargetResult<R> {
        let store = self.store();
        let not_created =
            || Failure::new(FailureKind::Storage, "the store has not been created yet");
        read(store.as_ref().ok_or_else(not_created)?).map_err(|error| failure(&error))
    }

    fn begins(&self) -> Begins {
        Begins {
            reading: match self.settings.options.log.durability {
                log::Durability::None => Begin::Snapshot,
                log::Durability::Data | log::Durability::Full => Begin::ReadOnly,
            },
            writing: match self.settings.isolation {
                Isolation::Snapshot => Begin::Snapshot,
                _ => Begin::Serializable,
            },
        }
    }
}

impl<D: EngineDisk> Target for EngineTarget<D> {
    type Session = EngineSession<D>;
    type Worker = EngineWorker<D>;

    fn name(&self) -> String {
        match self.place {
            Some(_) => "engine".to_owned(),
            None => "engine (transient)".to_owned(),
        }
    }

    async fn preflight(&self) -> TargetResult<()> {
        self.place.as_ref().map_or(Ok(()), DatabaseDirectory::check)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            client_model: self.settings.client,
            scans: true,
            indexes: true,
            joins: true,
            aggregates: true,
            keys_by_server: true,
            loads: true,
            reopens: self.place.as_ref().is_some_and(|place| !place.is_private()),
            ..Capabilities::least()
        }
    }

    fn log_location(&self) -> LogLocation {
        match &self.place {
            Some(place) => LogLocation::Directory(place.log_location()),
            None => LogLocation::Nowhere("in transient mode nothing is stored".to_owned()),
        }
    }

    fn log_segments(&self) -> Option<LogSegments> {
        self.place.as_ref()?;
        let bytes = self.settings.options.log.segment_bytes;
        let set_by = "segment_kib";
        Some(LogSegments { bytes, set_by })
    }

    /// Frames are written to files opened with `O_DSYNC` or `O_SYNC`; explicit sync calls are counted
    /// from outside.
    fn synced_writes(&self) -> Option<u64> {
        self.place.as_ref()?;
        let log = self.stats()?.log;
        log.syncs.checked_sub(log.sync_ns.count)
    }

    fn internals(&self) -> Vec<Internal> {
        self.stats().map_or_else(Vec::new, |stats| of_stats(&stats))
    }

    fn take_commit_paths(&self) -> Option<CommitPaths> {
        let store = self.store();
        let taken = store.as_ref()?.database.take_commit_paths();
        let path =
            |path: &syncline_engine::CommitPath| CommitPath { step_ns: path.step_ns.to_vec() };
        Some(CommitPaths {
            steps: PathStep::ALL.map(PathStep::name).to_vec(),
            one_in: SAMPLED_ONE_IN.into(),
            timed: taken.timed,
            sample: taken.sample.iter().map(path).collect(),
            slowest: taken.slowest.iter().map(path).collect(),
        })
    }

    async fn create(&self, plan: &Plan) -> TargetResult<()> {
        let mut store = self.store();
        *store = None;
        let mut directory = Path::new("");
        if let Some(place) = &self.place {
            place.claim()?;
            directory = place.directory();
        }
        let options = self.settings.options.clone();
        *store = Some(Store::create(directory, options, plan)?);
        Ok(())
    }

    async fn reopen(&self, plan: &Plan) -> TargetResult<bool> {
        let mut store = self.store();
        *store = None;
        let Some(place) = self.place.as_ref().filter(|place| place.holds_database()) else {
            return Ok(false);
        };
        let options = self.settings.options.clone();
        *store = Some(Store::open(place.directory(), options, plan)?);
        place.adopt();
        Ok(true)
    }

    async fn keep(&self) -> TargetResult<()> {
        let Some(store) = self.store().take() else {
            return Ok(());
        };
        let closed = store.database.close();
        closed.map_err(|error| failure(&error))?;
        if let Some(place) = &self.place {
            place.release();
        }
        Ok(())
    }

    async fn self_check(&self) -> TargetResult<Option<Vec<String>>> {
        self.with(|store| store.database.verify().map(Some))
    }

    async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        let in_force = |store: &Store<D>| match self.place {
            Some(_) => of_files(&store.database),
            None => Ok(of_nothing(&store.database)),
        };
        Ok(ReportedSettings { isolation: self.settings.isolation, ..self.with(in_force)? })
    }

    fn worker(&self) -> TargetResult<EngineWorker<D>> {
        Ok(EngineWorker::new())
    }

    async fn connect(
        &self,
        plan: &Plan,
        worker: &EngineWorker<D>,
    ) -> TargetResult<EngineSession<D>> {
        if let Some(why) = plan.refusal(&self.capabilities()) {
            return Err(Failure::new(FailureKind::Limit, why));
        }
        self.with(|store| {
            let is_future = self.settings.client == ClientModel::Futures;
            let part = is_future.then(|| worker.part(&store.database));
            let operations = store.operations(plan);
            let (session, tables) = (store.database.session()?, Arc::clone(&store.tables));
            Ok(EngineSession::new(session, tables, operations, self.begins(), part))
        })
    }

    async fn remove(&self) -> TargetResult<()> {
        *self.store() = None;
        self.place.as_ref().map_or(Ok(()), DatabaseDirectory::remove)
    }
}

/// The parts that the engine times in a sample of its transactions; the log times every flush.
fn of_stats(stats: &Stats) -> Vec<Internal> {
    let of = |name, times: &Distribution, one_in| {
        let mut classes = [0; TIME_CLASSES];
        classes[..CLASSES].copy_from_slice(&times.classes);
        Internal { name, classes, sum_ns: times.sum, one_in }
    };
    let sampled = |name, times| of(name, times, SAMPLED_ONE_IN.into());
    let (parts, log) = (&stats.latencies, &stats.log);
    vec![
        sampled("read", &parts.read_ns),
        sampled("scan", &parts.scan_ns),
        sampled("write", &parts.write_ns),
        sampled("lock", &parts.lock_ns),
        sampled("timestamp", &parts.timestamp_ns),
        sampled("validate", &parts.validate_ns),
        sampled("apply", &parts.apply_ns),
        of("log write", &log.write_ns, 1),
        of("log sync call", &log.sync_ns, 1),
        of("wait for log room", &log.room_wait_ns, 1),
    ]
}

/// The settings of a database on disk, read back from its files where possible.
fn of_files<D: EngineDisk>(database: &Database<D>) -> syncline_engine::Result<ReportedSettings> {
    let in_force = database.settings()?;
    let durability = word_of(in_force.durability);
    let of_header = |name, value| setting(name, value, "the header of the newest log segment");
    let of_log = |name, value| setting(name, value, "the open log");
    let mut settings = vec![
        setting("mode", database.options().buffer_mode.name().to_owned(), "the open database"),
        of_header("database", in_force.database.to_string()),
        of_log("segment_bytes", database.options().log.segment_bytes.to_string()),
        of_header("frame_unit_bytes", in_force.frame_unit_bytes.to_string()),
        of_log("direct", in_force.direct.to_string()),
        of_log("sync_method", in_force.sync_method.to_owned()),
    ];
    if let Some(archive) = &database.options().log.archive {
        settings.push(of_log("archive", archive.display().to_string()));
    }
    settings.extend(of_memory(database));
    Ok(ReportedSettings {
        durability,
        durability_evidence: format!(
            "durability {} read back from the header of the newest log segment; groups are made stable \
             by {}",
            durability.word(),
            in_force.sync_method
        ),
        settings,
        ..of_nothing(database)
    })
}

/// The settings of a database in memory only.
fn of_nothing<D: EngineDisk>(database: &Database<D>) -> ReportedSettings {
    let mut settings = vec![setting("mode", "transient".to_owned(), "the open database")];
    settings.extend(of_memory(database));
    ReportedSettings {
        product: "syncline-engine".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        durability: word_of(log::Durability::None),
        durability_evidence: "transient mode: no data is passed to the operating system".to_owned(),
        isolation: Isolation::NoneClaimed,
        settings,
    }
}

fn of_memory<D: EngineDisk>(database: &Database<D>) -> [Setting; 4] {
    let options = database.options();
    let of_database = |name, value: u64| setting(name, value.to_string(), "the open database");
    [
        of_database("page_bytes", options.page_bytes.into()),
        of_database("resident_bytes_max", options.resident_bytes_max),
        of_database("checkpoint_log_bytes", options.checkpoint_log_bytes),
        of_database("checkpoint_segment_bytes", options.checkpoint_segment_bytes),
    ]
}

fn setting(name: &str, value: String, source: &str) -> Setting {
    Setting { name: name.to_owned(), value, source: source.to_owned() }
}
