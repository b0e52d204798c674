//! The targets that a command can open by name: the built-in ones, and optionally a third-party store.
//!
//! The commands are generic over a registry, and so over one target type: the program is compiled once with
//! the enum of built-in targets, and a third-party program once with its own store added.

use crate::interrupt;
use crate::private_servers::PrivateServers;
use crate::recording_mount;
use syncline_benchmark::Benchmark;
use syncline_console::CannotRun;
use syncline_contract::{
    AccessPattern, AnsweredWrite, Capabilities, CommitPaths, Counter, DryRunPlan, Internal,
    LogLocation, LogSegments, OperationId, Plan, ReportedSettings, Rows, Session, Stop,
    StoreObservation, StoreProcess, TableId, Target, TargetResult, UserView, Value, Worker,
};
use syncline_instrument::Nanos;
use syncline_stores::AnyTarget;

/// Opens the targets of a command.
pub(crate) trait TargetRegistry: Sync {
    /// The type of all targets.
    type Target: Benchmark;

    /// Opens a target by URL or name, without connecting to it.
    fn open(&self, url: &str) -> Result<Self::Target, CannotRun>;

    /// Opens a target to be measured and runs its preflight check, so that a refusal shows before anything
    /// runs.
    fn open_checked(&self, url: &str) -> Result<Self::Target, CannotRun> {
        // Ctrl-C must work at once while a server does not answer.
        interrupt::stop_flag();
        let target = self.open(url)?;
        syncline_runner::block_on(target.preflight())?;
        if let LogLocation::Directory(directory) = target.log_location() {
            recording_mount::refuse_recording_mount(&directory)?;
        }
        Ok(target)
    }

    /// The name of the third-party store, if there is one.
    fn own(&self) -> Option<&str>;
}

/// The built-in targets.
#[derive(Debug, Default)]
pub(crate) struct BuiltIn {
    private_servers: PrivateServers,
}

impl TargetRegistry for BuiltIn {
    type Target = AnyTarget;

    fn open(&self, url: &str) -> Result<AnyTarget, CannotRun> {
        AnyTarget::open(&self.private_servers.resolve(url)?).map_err(CannotRun::because)
    }

    fn own(&self) -> Option<&str> {
        None
    }
}

/// The built-in targets and one third-party store.
#[derive(Debug)]
pub(crate) struct WithThirdParty<'a, T> {
    pub(crate) name: &'a str,
    pub(crate) store: &'a T,
    pub(crate) private_servers: PrivateServers,
}

impl<'a, T: Target> TargetRegistry for WithThirdParty<'a, T> {
    type Target = EitherTarget<'a, T>;

    fn open(&self, url: &str) -> Result<EitherTarget<'a, T>, CannotRun> {
        if url == self.name {
            return Ok(EitherTarget::Own(self.store));
        }
        AnyTarget::open(&self.private_servers.resolve(url)?)
            .map(|target| EitherTarget::BuiltIn(Box::new(target)))
            .map_err(CannotRun::because)
    }

    fn own(&self) -> Option<&str> {
        Some(self.name)
    }
}

/// A third-party target, or a built-in one.
#[derive(Debug)]
pub(crate) enum EitherTarget<'a, T> {
    Own(&'a T),
    BuiltIn(Box<AnyTarget>),
}

/// A session or worker part of either target.
#[derive(Debug)]
pub(crate) enum EitherPart<A, B> {
    Own(A),
    BuiltIn(B),
}

impl<T: Target> Benchmark for EitherTarget<'_, T> {}

impl<T: Target> Target for EitherTarget<'_, T> {
    type Session = EitherPart<T::Session, <AnyTarget as Target>::Session>;
    type Worker = EitherPart<T::Worker, <AnyTarget as Target>::Worker>;

    fn name(&self) -> String {
        match self {
            EitherTarget::Own(target) => target.name(),
            EitherTarget::BuiltIn(target) => target.name(),
        }
    }

    async fn preflight(&self) -> TargetResult<()> {
        match self {
            EitherTarget::Own(target) => target.preflight().await,
            EitherTarget::BuiltIn(target) => target.preflight().await,
        }
    }

    fn capabilities(&self) -> Capabilities {
        match self {
            EitherTarget::Own(target) => target.capabilities(),
            EitherTarget::BuiltIn(target) => target.capabilities(),
        }
    }

    fn log_location(&self) -> LogLocation {
        match self {
            EitherTarget::Own(target) => target.log_location(),
            EitherTarget::BuiltIn(target) => target.log_location(),
        }
    }

    fn data_location(&self) -> LogLocation {
        match self {
            EitherTarget::Own(target) => target.data_location(),
            EitherTarget::BuiltIn(target) => target.data_location(),
        }
    }

    fn other_locations(&self) -> Vec<LogLocation> {
        match self {
            EitherTarget::Own(target) => target.other_locations(),
            EitherTarget::BuiltIn(target) => target.other_locations(),
        }
    }

    fn log_segments(&self) -> Option<LogSegments> {
        match self {
            EitherTarget::Own(target) => target.log_segments(),
            EitherTarget::BuiltIn(target) => target.log_segments(),
        }
    }

    fn clients_max_reason(&self) -> Option<String> {
        match self {
            EitherTarget::Own(target) => target.clients_max_reason(),
            EitherTarget::BuiltIn(target) => target.clients_max_reason(),
        }
    }

    fn read_only_reason(&self) -> Option<String> {
        match self {
            EitherTarget::Own(target) => target.read_only_reason(),
            EitherTarget::BuiltIn(target) => target.read_only_reason(),
        }
    }

    async fn unfinished_wait(&self) -> TargetResult<Option<String>> {
        match self {
            EitherTarget::Own(target) => target.unfinished_wait().await,
            EitherTarget::BuiltIn(target) => target.unfinished_wait().await,
        }
    }

    fn process(&self) -> StoreProcess {
        match self {
            EitherTarget::Own(target) => target.process(),
            EitherTarget::BuiltIn(target) => target.process(),
        }
    }

    fn synced_writes(&self) -> Option<u64> {
        match self {
            EitherTarget::Own(target) => target.synced_writes(),
            EitherTarget::BuiltIn(target) => target.synced_writes(),
        }
    }

    fn unseen_syncs(&self) -> Option<&'static str> {
        match self {
            EitherTarget::Own(target) => target.unseen_syncs(),
            EitherTarget::BuiltIn(target) => target.unseen_syncs(),
        }
    }

    fn internals(&self) -> Vec<Internal> {
        match self {
            EitherTarget::Own(target) => target.internals(),
            EitherTarget::BuiltIn(target) => target.internals(),
        }
    }

    fn take_commit_paths(&self) -> Option<CommitPaths> {
        match self {
            EitherTarget::Own(target) => target.take_commit_paths(),
            EitherTarget::BuiltIn(target) => target.take_commit_paths(),
        }
    }

    async fn counters(&self) -> TargetResult<Vec<Counter>> {
        match self {
            EitherTarget::Own(target) => target.counters().await,
            EitherTarget::BuiltIn(target) => target.counters().await,
        }
    }

    async fn round_trip_ns(&self) -> TargetResult<Option<Nanos>> {
        match self {
            EitherTarget::Own(target) => target.round_trip_ns().await,
            EitherTarget::BuiltIn(target) => target.round_trip_ns().await,
        }
    }

    fn dry_run(&self, plan: &Plan, clients: usize) -> TargetResult<DryRunPlan> {
        match self {
            EitherTarget::Own(target) => target.dry_run(plan, clients),
            EitherTarget::BuiltIn(target) => target.dry_run(plan, clients),
        }
    }

    async fn observe(&self) -> TargetResult<StoreObservation> {
        match self {
            EitherTarget::Own(target) => target.observe().await,
            EitherTarget::BuiltIn(target) => target.observe().await,
        }
    }

    async fn user_view(&self, tables: &[String]) -> TargetResult<UserView> {
        match self {
            EitherTarget::Own(target) => target.user_view(tables).await,
            EitherTarget::BuiltIn(target) => target.user_view(tables).await,
        }
    }

    async fn clean(&self) -> TargetResult<Vec<String>> {
        match self {
            EitherTarget::Own(target) => target.clean().await,
            EitherTarget::BuiltIn(target) => target.clean().await,
        }
    }

    async fn reopen(&self, plan: &Plan) -> TargetResult<bool> {
        match self {
            EitherTarget::Own(target) => target.reopen(plan).await,
            EitherTarget::BuiltIn(target) => target.reopen(plan).await,
        }
    }

    async fn keep(&self) -> TargetResult<()> {
        match self {
            EitherTarget::Own(target) => target.keep().await,
            EitherTarget::BuiltIn(target) => target.keep().await,
        }
    }

    async fn create(&self, plan: &Plan) -> TargetResult<()> {
        match self {
            EitherTarget::Own(target) => target.create(plan).await,
            EitherTarget::BuiltIn(target) => target.create(plan).await,
        }
    }

    async fn self_check(&self) -> TargetResult<Option<Vec<String>>> {
        match self {
            EitherTarget::Own(target) => target.self_check().await,
            EitherTarget::BuiltIn(target) => target.self_check().await,
        }
    }

    async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        match self {
            EitherTarget::Own(target) => target.reported_settings().await,
            EitherTarget::BuiltIn(target) => target.reported_settings().await,
        }
    }

    fn worker(&self) -> TargetResult<Self::Worker> {
        match self {
            EitherTarget::Own(target) => target.worker().map(EitherPart::Own),
            EitherTarget::BuiltIn(target) => target.worker().map(EitherPart::BuiltIn),
        }
    }

    async fn connect(&self, plan: &Plan, worker: &Self::Worker) -> TargetResult<Self::Session> {
        match (self, worker) {
            (EitherTarget::Own(target), EitherPart::Own(worker)) => {
                target.connect(plan, worker).await.map(EitherPart::Own)
            }
            (EitherTarget::BuiltIn(target), EitherPart::BuiltIn(worker)) => {
                target.connect(plan, worker).await.map(EitherPart::BuiltIn)
            }
            _ => unreachable!("a worker part is used with the target that made it"),
        }
    }

    async fn remove(&self) -> TargetResult<()> {
        match self {
            EitherTarget::Own(target) => target.remove().await,
            EitherTarget::BuiltIn(target) => target.remove().await,
        }
    }
}

impl<A: Worker, B: Worker> Worker for EitherPart<A, B> {
    fn pass_started(&self) {
        match self {
            EitherPart::Own(worker) => worker.pass_started(),
            EitherPart::BuiltIn(worker) => worker.pass_started(),
        }
    }

    fn pass_ended(&self) {
        match self {
            EitherPart::Own(worker) => worker.pass_ended(),
            EitherPart::BuiltIn(worker) => worker.pass_ended(),
        }
    }
}

impl<A: Session, B: Session> Session for EitherPart<A, B> {
    fn begin(&mut self, pattern: AccessPattern) {
        match self {
            EitherPart::Own(session) => session.begin(pattern),
            EitherPart::BuiltIn(session) => session.begin(pattern),
        }
    }

    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        match self {
            EitherPart::Own(session) => session.send(operation, values),
            EitherPart::BuiltIn(session) => session.send(operation, values),
        }
    }

    async fn receive(&mut self) -> Result<&Rows, Stop> {
        match self {
            EitherPart::Own(session) => session.receive().await,
            EitherPart::BuiltIn(session) => session.receive().await,
        }
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        match self {
            EitherPart::Own(session) => session.commit().await,
            EitherPart::BuiltIn(session) => session.commit().await,
        }
    }

    fn answered_writes(&mut self) -> Option<&mut Vec<AnsweredWrite>> {
        match self {
            EitherPart::Own(session) => session.answered_writes(),
            EitherPart::BuiltIn(session) => session.answered_writes(),
        }
    }

    async fn abort(&mut self) {
        match self {
            EitherPart::Own(session) => session.abort().await,
            EitherPart::BuiltIn(session) => session.abort().await,
        }
    }

    fn columns(&self, operation: OperationId) -> Option<Vec<String>> {
        match self {
            EitherPart::Own(session) => session.columns(operation),
            EitherPart::BuiltIn(session) => session.columns(operation),
        }
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        match self {
            EitherPart::Own(session) => session.load(table, batch).await,
            EitherPart::BuiltIn(session) => session.load(table, batch).await,
        }
    }
}
