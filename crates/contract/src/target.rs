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

/// The result of what a target does outside transactions.
pub type TargetResult<T> = Result<T, Failure>;

/// A worker's own part of a target: told when a pass of the executor over its ready clients starts
/// and when it ends, and asked to wait when no client is ready. The engine holds its log back between
/// the two ends of a pass, a queue commits its group, a network store waits for its sockets.
pub trait Worker {
    /// Some clients are ready and will now run.
    fn pass_started(&self) {}

    /// Every ready client has run as far as it could.
    fn pass_ended(&self) {}

    /// Waits on the worker's own thread until something may have woken a client, until [`waker`] is
    /// woken, or for at most that long; may also end early for no reason. A wake of the waker since the
    /// last wait ends the next one at once. A length of zero only looks what has happened: clients that
    /// are always ready must not starve those who wait.
    ///
    /// [`waker`]: Worker::waker
    fn wait(&self, longest: Option<Duration>) {
        match longest {
            Some(Duration::ZERO) => {}
            Some(longest) => thread::park_timeout(longest),
            None => thread::park(),
        }
    }

    /// What ends [`Worker::wait`] from any thread; asked for on the worker's own thread.
    fn waker(&self) -> Waker {
        Waker::from(Arc::new(Unpark(thread::current())))
    }
}

impl Worker for () {}

/// Ends a thread's park.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// One setting in force, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The store's own name for it.
    pub name: String,
    /// Its value, as the store prints it.
    pub value: String,
    /// How it was read back: the statement, call or file.
    pub said_by: String,
}

/// What a store says of itself, read back from it and not assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedSettings {
    /// The product: "SQLite".
    pub product: String,
    /// Its version.
    pub version: String,
    /// The durability in force.
    pub durability: Durability,
    /// Why that word is true, in words: "synchronous=2 (FULL) read back from the connection".
    pub durability_evidence: String,
    /// The isolation in force.
    pub isolation: Isolation,
    /// Settings that bear on speed or safety.
    pub settings: Vec<Setting>,
}

/// Where the store's log goes, hence whose sync line it is judged by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogLocation {
    /// A directory of this machine.
    Directory(PathBuf),
    /// No line: the store keeps no log, or keeps it elsewhere. The reason, in words.
    Nowhere(String),
}

/// The segments by which a store's log grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSegments {
    /// The size of each.
    pub bytes: u64,
    /// The option of the store that sets the size.
    pub set_by: &'static str,
}

/// The process whose system calls are the store's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreProcess {
    /// The store is a library in this process.
    InProcess,
    /// Another process of this machine, with its children.
    Other(u32),
    /// Not on this machine, or not known: the reason, in words.
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

    /// A worker's own part; `()` where the store needs none.
    type Worker: Worker;

    /// The name in tables and records: "sqlite", "engine".
    fn name(&self) -> String;

    /// Asked once, before anything is made or measured. A server is asked for its version, its log
    /// directory, its process, its free connections and whoever else works there; refused is what the
    /// run could harm and what the settings cannot honour; of an embedded store, a place in which something
    /// stands that [`Target::create`] would refuse. Only reads. Of a store in another process,
    /// [`Target::capabilities`], [`Target::log_place`] and [`Target::process`] hold after it.
    async fn meet(&self) -> TargetResult<()> {
        Ok(())
    }

    /// What it can do as opened, and met.
    fn capabilities(&self) -> Capabilities;

    /// Where its log goes.
    fn log_place(&self) -> LogLocation;

    /// Where its data goes, if that is not where the log goes. A local store must not fill the file systems
    /// under the two. Holds after [`Target::meet`].
    fn data_place(&self) -> LogLocation {
        self.log_place()
    }

    /// Further directories that a run writes to, as far as they are known: tablespaces, a log beside the log.
    /// Holds after [`Target::meet`].
    fn further_places(&self) -> Vec<LogLocation> {
        Vec::new()
    }

    /// Why [`Capabilities::clients_max`] is no more than it is, a clause: the limit, who holds the
    /// connections, and how to raise it. None if nobody says.
    fn clients_max_reason(&self) -> Option<String> {
        None
    }

    /// Why it takes no writes, a sentence: it follows another server, or its sessions are read-only. None if
    /// it takes them, or if that is not known. Holds after [`Target::meet`].
    fn takes_no_writes(&self) -> Option<String> {
        None
    }

    /// What sessions wait for whose transactions did not end in the drain, by the store's word. None if none
    /// waits, or if it does not say.
    async fn unfinished_wait(&self) -> TargetResult<Option<String>> {
        Ok(None)
    }

    /// The segments by which its log grows; none if it does not grow by segments, or if that is not known.
    /// Holds after [`Target::meet`].
    fn log_segments(&self) -> Option<LogSegments> {
        None
    }

    /// Whose system calls are counted as the store's.
    fn process(&self) -> StoreProcess {
        StoreProcess::InProcess
    }

    /// Writes that were syncs themselves (to a file opened with `O_DSYNC`, or by io_uring), by the
    /// store's own count since it was opened; none if it keeps no such count. Sync system calls are
    /// counted from outside and do not belong here.
    fn synced_writes(&self) -> Option<u64> {
        None
    }

    /// Why its syncs are not among the sync system calls of its process: it writes its log to files opened
    /// with `O_DSYNC` or `O_SYNC`, which calls do not show. None where it syncs by calls. Holds after
    /// [`Target::meet`].
    fn unseen_syncs(&self) -> Option<&'static str> {
        None
    }

    /// What it counts and times inside itself, since it was opened; nothing if it does not.
    fn internals(&self) -> Vec<Internal> {
        Vec::new()
    }

    /// The ways of commits through the store since this was last asked; none if it does not time them.
    fn take_commit_paths(&self) -> Option<CommitPaths> {
        None
    }

    /// The store's own running counters, by its own account; nothing if it keeps none. Asked when no
    /// session of a run is open: before the clients connect, and after the last has gone, so that a
    /// store whose sessions report late has heard of all of them when it answers.
    async fn counters(&self) -> TargetResult<Vec<Counter>> {
        Ok(Vec::new())
    }

    /// How long an empty request takes there and back, where the store is another process: the least
    /// of a few hundred, on a session of its own; none for a store in this process.
    async fn round_trip_ns(&self) -> TargetResult<Option<Nanos>> {
        Ok(None)
    }

    /// What it would do for that plan and so many clients. Touches nothing, so it also holds before
    /// [`Target::meet`].
    fn intent(&self, _plan: &Plan, _clients: usize) -> TargetResult<DryRunPlan> {
        Ok(DryRunPlan::default())
    }

    /// Looks at the store as it runs, read-only, on a session that stays open for the next look.
    async fn observe(&self) -> TargetResult<StoreObservation> {
        let what =
            format!("{} cannot be observed: it is no server with counters of its own", self.name());
        Err(Failure::new(FailureKind::Limit, what))
    }

    /// What a session of the user's own finds: which of these tables it has without us, and whether its
    /// commits wait for their log. A store that no other program shares has nothing to show.
    async fn user_view(&self, _tables: &[String]) -> TargetResult<UserView> {
        Ok(UserView::default())
    }

    /// Removes what earlier runs of this laboratory have left in the store, and nothing else; says what
    /// it removed, a line each.
    async fn clean(&self) -> TargetResult<Vec<String>> {
        let what = format!(
            "{} is no server, so nothing of ours stays in it: remove the files that the run named",
            self.name()
        );
        Err(Failure::new(FailureKind::Limit, what))
    }

    /// Makes the plan's tables, empty; refuses what is there and is not ours.
    async fn create(&self, plan: &Plan) -> TargetResult<()>;

    /// Opens the plan's tables as an earlier run has left them, in place of [`Target::create`]; refuses
    /// others. `false` if there are none. A plan without tables takes whatever of ours stands there as it
    /// is, and in a server needs nothing of ours. Needs [`Capabilities::reopens`].
    async fn reopen(&self, _plan: &Plan) -> TargetResult<bool> {
        let what = format!("{} cannot be opened again", self.name());
        Err(Failure::new(FailureKind::Limit, what))
    }

    /// Lets go of what it made or opened, so that [`Target::remove`] and the end of the target leave it
    /// for a later run. Needs [`Capabilities::reopens`].
    async fn keep(&self) -> TargetResult<()> {
        let what = format!("{} cannot be kept", self.name());
        Err(Failure::new(FailureKind::Limit, what))
    }

    /// What the store's own check of its files finds wrong, a sentence each; nothing if they are whole.
    /// None where it offers no such check. Asked of an open store in which nothing runs.
    async fn self_check(&self) -> TargetResult<Option<Vec<String>>> {
        Ok(None)
    }

    /// What it says of itself, after [`Target::create`].
    async fn evidence(&self) -> TargetResult<ReportedSettings>;

    /// Makes a worker's own part, on that worker's thread.
    fn worker(&self) -> TargetResult<Self::Worker>;

    /// Opens a session and prepares every operation of the plan, on the worker's thread.
    async fn connect(&self, plan: &Plan, worker: &Self::Worker) -> TargetResult<Self::Session>;

    /// Removes what [`Target::create`] made. Safe to call twice, and after a failed `create`.
    async fn remove(&self) -> TargetResult<()>;
}
