//! A target: a store under test, from which the runner makes sessions.

use crate::capabilities::{Capabilities, Durability, Isolation};
use crate::commit_path::CommitPaths;
use crate::counter::Counter;
use crate::dry_run_plan::DryRunPlan;
use crate::internal::Internal;
use crate::observation::StoreObservation;
use crate::outcome::{Failure, FailureKind};
use crate::plan::Plan;
use crate::session::Session;
use crate::user_view::UserView;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;
use syncline_instrument::Nanos;

/// The result of a target's operations outside transactions.
pub type TargetResult<T> = Result<T, Failure>;

/// A worker's own part of a target. It is notified when the executor starts and ends a pass over its ready
/// clients, and waits when no client is ready. The engine holds its log between the two ends of a pass, a
/// queue commits its group at the end, and a network store waits for its sockets.
pub trait Worker {
    /// Called before the ready clients run.
    fn pass_started(&self) {}

    /// Called after every ready client has run until it had to wait.
    fn pass_ended(&self) {}

    /// Waits on the worker's own thread until something may have woken a client, until [`waker`] is woken, or
    /// for at most `longest`; may also return early without a reason. A wake-up since the last wait ends the
    /// next one at once. With a length of zero it only polls, so that clients that are always ready do not
    /// starve waiting ones.
    ///
    /// [`waker`]: Worker::waker
    fn wait(&self, longest: Option<Duration>) {
        match longest {
            Some(Duration::ZERO) => {}
            Some(longest) => thread::park_timeout(longest),
            None => thread::park(),
        }
    }

    /// A waker that ends [`Worker::wait`] from any thread; requested on the worker's own thread.
    fn waker(&self) -> Waker {
        Waker::from(Arc::new(Unpark(thread::current())))
    }
}

impl Worker for () {}

/// Unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// A setting in force, and how it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The store's own name for it.
    pub name: String,
    /// Its value, as the store prints it.
    pub value: String,
    /// How it was read back: the statement, call or file.
    pub source: String,
}

/// The settings of a store, read back from it and not assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedSettings {
    /// The product: "SQLite".
    pub product: String,
    /// Its version.
    pub version: String,
    /// The durability in force.
    pub durability: Durability,
    /// How the durability is known: "synchronous=2 (FULL) read back from the connection".
    pub durability_evidence: String,
    /// The isolation in force.
    pub isolation: Isolation,
    /// Settings that affect speed or safety.
    pub settings: Vec<Setting>,
}

/// Where the store's log goes, and so the directory whose sync line is used for comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogLocation {
    /// A directory of this machine.
    Directory(PathBuf),
    /// No directory: the store keeps no log, or keeps it elsewhere. The text is the reason.
    Nowhere(String),
}

/// The segments in which a store's log grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSegments {
    /// The size of a segment.
    pub bytes: u64,
    /// The store's option that sets the size.
    pub set_by: &'static str,
}

/// The process whose system calls are the store's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreProcess {
    /// The store is a library in this process.
    InProcess,
    /// Another process on this machine, with its children.
    Other(u32),
    /// Not on this machine, or unknown; the text is the reason.
    Unknown(&'static str),
}

impl StoreProcess {
    /// A store on another machine.
    pub const REMOTE: StoreProcess =
        StoreProcess::Unknown("the store's process is not on this machine");
}

/// A store under test.
pub trait Target: Sync {
    /// A client's connection.
    type Session: Session;

    /// The state of one worker; `()` if the store needs none.
    type Worker: Worker;

    /// The name in tables and records: "sqlite", "engine".
    fn name(&self) -> String;

    /// The preflight check, called once before anything is created or measured; read-only. It connects to a
    /// server and determines its version, log directory, process, free connections and other users. It
    /// refuses a run that could do harm or whose settings cannot be honoured, and for an embedded store a
    /// place whose contents [`Target::create`] would refuse. For a store in another process,
    /// [`Target::capabilities`], [`Target::log_location`] and [`Target::process`] are valid only afterwards.
    async fn preflight(&self) -> TargetResult<()> {
        Ok(())
    }

    /// Its abilities as opened, after [`Target::preflight`].
    fn capabilities(&self) -> Capabilities;

    /// Where its log goes.
    fn log_location(&self) -> LogLocation;

    /// Where its data goes, if not where the log goes. A local store must not fill either file system. Valid
    /// after [`Target::preflight`].
    fn data_location(&self) -> LogLocation {
        self.log_location()
    }

    /// Further directories that a run is known to write to: tablespaces, a second log. Valid after
    /// [`Target::preflight`].
    fn other_locations(&self) -> Vec<LogLocation> {
        Vec::new()
    }

    /// Why [`Capabilities::clients_max`] is not higher, as a clause: the limit, who uses the connections, and
    /// how to raise it. None if unknown.
    fn clients_max_reason(&self) -> Option<String> {
        None
    }

    /// Why it accepts no writes, as a sentence: it is a replica, or its sessions are read-only. None if it
    /// accepts them, or if that is unknown. Valid after [`Target::preflight`].
    fn read_only_reason(&self) -> Option<String> {
        None
    }

    /// What the sessions are waiting for whose transactions did not end in the drain, as reported by the
    /// store. None if none is waiting, or if the store does not report it.
    async fn unfinished_wait(&self) -> TargetResult<Option<String>> {
        Ok(None)
    }

    /// The segments in which its log grows; none if it does not grow in segments, or if that is unknown.
    /// Valid after [`Target::preflight`].
    fn log_segments(&self) -> Option<LogSegments> {
        None
    }

    /// The process whose system calls count as the store's.
    fn process(&self) -> StoreProcess {
        StoreProcess::InProcess
    }

    /// Synced writes (to a file opened with `O_DSYNC`, or through io_uring), counted by the store since it
    /// was opened; none if it does not count them. Sync system calls are counted from outside and not
    /// included.
    fn synced_writes(&self) -> Option<u64> {
        None
    }

    /// Why its syncs do not appear as sync system calls of its process: it writes its log to files opened
    /// with `O_DSYNC` or `O_SYNC`. None if it syncs by system calls. Valid after [`Target::preflight`].
    fn unseen_syncs(&self) -> Option<&'static str> {
        None
    }

    /// Its internal counts and times since it was opened; empty if it keeps none.
    fn internals(&self) -> Vec<Internal> {
        Vec::new()
    }

    /// The commit paths since the last call; none if the store does not time them.
    fn take_commit_paths(&self) -> Option<CommitPaths> {
        None
    }

    /// The store's own cumulative counters; empty if it keeps none. Called while no session of the run is
    /// open: before the clients connect, and after the last has disconnected, so that a store whose sessions
    /// report late has received all reports.
    async fn counters(&self) -> TargetResult<Vec<Counter>> {
        Ok(Vec::new())
    }

    /// The round trip of an empty request to a store in another process: the minimum of a few hundred, on a
    /// separate session; none for an embedded store.
    async fn round_trip_ns(&self) -> TargetResult<Option<Nanos>> {
        Ok(None)
    }

    /// What it would do for this plan and number of clients. Touches nothing, so it also works before
    /// [`Target::preflight`].
    fn dry_run(&self, _plan: &Plan, _clients: usize) -> TargetResult<DryRunPlan> {
        Ok(DryRunPlan::default())
    }

    /// Observes the running store, read-only, on a session that stays open for the next observation.
    async fn observe(&self) -> TargetResult<StoreObservation> {
        let what =
            format!("{} cannot be observed, because it is not a server with counters", self.name());
        Err(Failure::new(FailureKind::Limit, what))
    }

    /// What a user's own session sees: which of these tables exist outside Syncline's management, and whether
    /// commits wait for their log. Empty for a store that no other program shares.
    async fn user_view(&self, _tables: &[String]) -> TargetResult<UserView> {
        Ok(UserView::default())
    }

    /// Removes what earlier runs of Syncline have left in the store, and nothing else; returns one line per
    /// removed object.
    async fn clean(&self) -> TargetResult<Vec<String>> {
        let what = format!(
            "{} is not a server, so runs leave nothing in it; remove the files that the run named",
            self.name()
        );
        Err(Failure::new(FailureKind::Limit, what))
    }

    /// Creates the plan's tables, empty; refuses existing unmanaged objects.
    async fn create(&self, plan: &Plan) -> TargetResult<()>;

    /// Opens the plan's tables as an earlier run has left them, instead of [`Target::create`]; refuses other
    /// tables. `false` if there are none. A plan without tables accepts whatever managed tables exist, and in
    /// a server needs none. Needs [`Capabilities::reopens`].
    async fn reopen(&self, _plan: &Plan) -> TargetResult<bool> {
        let what = format!("{} cannot reopen the tables of an earlier run", self.name());
        Err(Failure::new(FailureKind::Limit, what))
    }

    /// Releases the tables, so that [`Target::remove`] and the end of the target leave them for a later run.
    /// Needs [`Capabilities::reopens`].
    async fn keep(&self) -> TargetResult<()> {
        let what = format!("{} cannot keep tables for a later run", self.name());
        Err(Failure::new(FailureKind::Limit, what))
    }

    /// The damage that the store's own check of its files finds, one sentence each; empty if there is none.
    /// None if the store has no such check. Called on an open store without load.
    async fn self_check(&self) -> TargetResult<Option<Vec<String>>> {
        Ok(None)
    }

    /// The settings that it reports, after [`Target::create`].
    async fn reported_settings(&self) -> TargetResult<ReportedSettings>;

    /// Makes a worker's state, on that worker's thread.
    fn worker(&self) -> TargetResult<Self::Worker>;

    /// Opens a session and prepares every operation of the plan, on the worker's thread.
    async fn connect(&self, plan: &Plan, worker: &Self::Worker) -> TargetResult<Self::Session>;

    /// Removes what [`Target::create`] made. Safe to call twice, and after a failed `create`.
    async fn remove(&self) -> TargetResult<()>;
}
