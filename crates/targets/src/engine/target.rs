//! The engine's log as a target, and what it says of itself.

use super::place::Place;
use super::session::EngineSession;
use super::settings::{LISTING, Settings, word_of};
use super::store::{Store, failure};
use crate::any::AnyTarget;
use crate::error::Error;
use crate::path;
use crate::url::Url;
use std::cell::OnceCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use syncline_contract::{
    Capabilities, ClientModel, Evidence, Failure, FailureKind, Isolation, LogPlace, Plan, Setting,
    Target, TargetResult,
};
use syncline_disk::RealDisk;
use syncline_engine::log;

/// The engine's log under tables in memory.
#[derive(Debug)]
pub struct EngineLog {
    settings: Settings,
    store: Mutex<Option<Arc<Store>>>,
    // After the store, so that its files are closed before a private directory is removed.
    place: Place,
}

/// Opens what an `engine:` URL names; touches nothing yet.
pub(crate) fn open(url: &Url) -> Result<AnyTarget, Error> {
    let settings = Settings::parse(&url.given(LISTING)?)?;
    let place = place(url)?;
    Ok(AnyTarget::Engine(EngineLog {
        settings,
        store: Mutex::new(None),
        place,
    }))
}

fn place(url: &Url) -> Result<Place, Error> {
    let Some(path) = &url.path else {
        return Ok(Place::new(path::private("engine")?, true));
    };
    if path.is_empty() || path.contains('\0') {
        return Err(Error::Malformed {
            url: url.text.clone(),
            why: "its path names no directory",
            form: LISTING.form,
        });
    }
    let path = path::absolute(Path::new(path))?;
    let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
    if !directory.is_dir() {
        return Err(Error::DirectoryAbsent { directory });
    }
    Ok(Place::new(path, false))
}

impl EngineLog {
    /// Opens a log that is there, and replays it into the plan's tables; in place of `create`.
    pub fn reopen(&self, plan: &Plan) -> TargetResult<()> {
        let mut store = self.store();
        *store = None;
        let options = self.settings.log_options();
        *store = Some(Arc::new(Store::open(
            self.place.directory(),
            &options,
            plan,
        )?));
        self.place.adopt();
        Ok(())
    }

    /// What the log has done since it was created or opened; none before.
    pub fn log_stats(&self) -> Option<log::Stats> {
        self.store().as_ref().map(|store| store.log.stats())
    }

    fn store(&self) -> MutexGuard<'_, Option<Arc<Store>>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn created(&self) -> TargetResult<Arc<Store>> {
        let not_created = || Failure::new(FailureKind::Storage, "the store was not created yet");
        self.store().clone().ok_or_else(not_created)
    }
}

/// A worker's part: corks the log while its executor makes a pass. Where clients block their threads
/// it does nothing.
#[derive(Debug, Default)]
pub struct EngineWorker {
    cork: OnceCell<Rc<log::Worker<RealDisk>>>,
}

impl syncline_contract::Worker for EngineWorker {
    #[inline]
    fn pass_started(&self) {
        if let Some(cork) = self.cork.get() {
            cork.cork();
        }
    }

    #[inline]
    fn pass_ended(&self) {
        if let Some(cork) = self.cork.get() {
            cork.uncork();
        }
    }
}

impl Target for EngineLog {
    type Session = EngineSession;
    type Worker = EngineWorker;

    fn name(&self) -> String {
        "engine (log only)".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            client_model: self.settings.client,
            scans: true,
            keys_by_server: true,
            loads: true,
            ..Capabilities::least()
        }
    }

    fn log_place(&self) -> LogPlace {
        LogPlace::Directory(self.place.parent())
    }

    /// Frames are written to files opened with `O_DSYNC` or `O_SYNC`; sync calls are seen from outside.
    fn synced_writes(&self) -> Option<u64> {
        let stats = self.log_stats()?;
        stats.syncs.checked_sub(stats.sync_ns.count)
    }

    async fn create(&self, plan: &Plan) -> TargetResult<()> {
        let mut store = self.store();
        *store = None;
        self.place.claim()?;
        let options = self.settings.log_options();
        *store = Some(Arc::new(Store::create(
            self.place.directory(),
            options,
            plan,
        )?));
        Ok(())
    }

    async fn evidence(&self) -> TargetResult<Evidence> {
        let in_force = self
            .created()?
            .log
            .settings()
            .map_err(|error| failure(&error))?;
        let durability = word_of(in_force.durability);
        let of_header = |name: &str, value: String| Setting {
            name: name.to_owned(),
            value,
            said_by: "the header of the newest log segment".to_owned(),
        };
        let of_log = |name: &str, value: String| Setting {
            name: name.to_owned(),
            value,
            said_by: "the open log".to_owned(),
        };
        Ok(Evidence {
            product: "syncline-engine, log only".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            durability,
            durability_evidence: format!(
                "durability {} read back from the header of the newest log segment; groups are made \
                 stable by {}",
                durability.word(),
                in_force.sync_method
            ),
            isolation: Isolation::NoneClaimed,
            settings: vec![
                of_header("database", in_force.database.to_string()),
                of_header("segment_bytes", in_force.segment_bytes.to_string()),
                of_header("frame_unit_bytes", in_force.frame_unit_bytes.to_string()),
                of_log("direct", in_force.direct.to_string()),
                of_log("sync_method", in_force.sync_method.to_owned()),
            ],
        })
    }

    fn worker(&self) -> TargetResult<EngineWorker> {
        Ok(EngineWorker::default())
    }

    async fn connect(&self, plan: &Plan, worker: &EngineWorker) -> TargetResult<EngineSession> {
        let store = self.created()?;
        let cork = (self.settings.client == ClientModel::Futures)
            .then(|| Rc::clone(worker.cork.get_or_init(|| Rc::new(store.log.worker()))));
        Ok(EngineSession::new(store, cork, plan))
    }

    async fn remove(&self) -> TargetResult<()> {
        *self.store() = None;
        self.place.remove()
    }
}
