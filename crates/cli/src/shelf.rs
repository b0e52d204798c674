//! The targets that a verb can open by name: the built-in ones, and a stranger's own beside them.
//!
//! The verbs are generic over a shelf, hence over one target type, so that the program is compiled
//! once with the enum of built-in targets, and a stranger's program once with its own store added.

use crate::exit::CannotRun;
use crate::interrupt;
use crate::privates::Privates;
use crate::recorded;
use syncline_contract::{
    AnsweredWrite, Capabilities, CommitPaths, Counter, Evidence, Intent, Internal, LogPlace,
    LogSegments, Observed, OperationId, Plan, Rows, Session, Shape, Stop, StoreProcess, TableId,
    Target, TargetResult, UserView, Value, Worker,
};
use syncline_metering::Nanos;
use syncline_targets::AnyTarget;

/// Where a verb takes its targets from.
pub(crate) trait Shelf: Sync {
    /// The type of all of them.
    type Target: Target;

    /// Opens a target by URL or name; touches nothing.
    fn open(&self, url: &str) -> Result<Self::Target, CannotRun>;

    /// Opens a target that is to be measured and asks it what it is, so that what it refuses shows before
    /// anything runs.
    fn meet(&self, url: &str) -> Result<Self::Target, CannotRun> {
        // A server that says nothing is left at the first Ctrl-C.
        interrupt::stop_flag();
        let target = self.open(url)?;
        syncline_runner::ask(target.meet())?;
        if let LogPlace::Directory(directory) = target.log_place() {
            recorded::must_not_be(&directory)?;
        }
        Ok(target)
    }

    /// The name of the stranger's own store, if there is one.
    fn own(&self) -> Option<&str>;
}

/// The built-in targets.
#[derive(Debug, Default)]
pub(crate) struct BuiltIn {
    privates: Privates,
}

impl Shelf for BuiltIn {
    type Target = AnyTarget;

    fn open(&self, url: &str) -> Result<AnyTarget, CannotRun> {
        AnyTarget::open(&self.privates.resolve(url)?).map_err(CannotRun::because)
    }

    fn own(&self) -> Option<&str> {
        None
    }
}

/// The built-in targets, and one more by its name.
#[derive(Debug)]
pub(crate) struct WithOwn<'a, T> {
    pub(crate) name: &'a str,
    pub(crate) store: &'a T,
    pub(crate) privates: Privates,
}

impl<'a, T: Target> Shelf for WithOwn<'a, T> {
    type Target = OneOf<'a, T>;

    fn open(&self, url: &str) -> Result<OneOf<'a, T>, CannotRun> {
        if url == self.name {
            return Ok(OneOf::Own(self.store));
        }
        AnyTarget::open(&self.privates.resolve(url)?)
            .map(|target| OneOf::BuiltIn(Box::new(target)))
            .map_err(CannotRun::because)
    }

    fn own(&self) -> Option<&str> {
        Some(self.name)
    }
}

/// A stranger's own target, or a built-in one.
#[derive(Debug)]
pub(crate) enum OneOf<'a, T> {
    Own(&'a T),
    BuiltIn(Box<AnyTarget>),
}

/// A part that belongs to one or the other: its session, its worker part.
#[derive(Debug)]
pub(crate) enum PartOf<A, B> {
    Own(A),
    BuiltIn(B),
}

impl<T: Target> Target for OneOf<'_, T> {
    type Session = PartOf<T::Session, <AnyTarget as Target>::Session>;
    type Worker = PartOf<T::Worker, <AnyTarget as Target>::Worker>;

    fn name(&self) -> String {
        match self {
            OneOf::Own(target) => target.name(),
            OneOf::BuiltIn(target) => target.name(),
        }
    }

    async fn meet(&self) -> TargetResult<()> {
        match self {
            OneOf::Own(target) => target.meet().await,
            OneOf::BuiltIn(target) => target.meet().await,
        }
    }

    fn capabilities(&self) -> Capabilities {
        match self {
            OneOf::Own(target) => target.capabilities(),
            OneOf::BuiltIn(target) => target.capabilities(),
        }
    }

    fn log_place(&self) -> LogPlace {
        match self {
            OneOf::Own(target) => target.log_place(),
            OneOf::BuiltIn(target) => target.log_place(),
        }
    }

    fn data_place(&self) -> LogPlace {
        match self {
            OneOf::Own(target) => target.data_place(),
            OneOf::BuiltIn(target) => target.data_place(),
        }
    }

    fn further_places(&self) -> Vec<LogPlace> {
        match self {
            OneOf::Own(target) => target.further_places(),
            OneOf::BuiltIn(target) => target.further_places(),
        }
    }

    fn log_segments(&self) -> Option<LogSegments> {
        match self {
            OneOf::Own(target) => target.log_segments(),
            OneOf::BuiltIn(target) => target.log_segments(),
        }
    }

    fn clients_max_reason(&self) -> Option<String> {
        match self {
            OneOf::Own(target) => target.clients_max_reason(),
            OneOf::BuiltIn(target) => target.clients_max_reason(),
        }
    }

    fn takes_no_writes(&self) -> Option<String> {
        match self {
            OneOf::Own(target) => target.takes_no_writes(),
            OneOf::BuiltIn(target) => target.takes_no_writes(),
        }
    }

    async fn unfinished_wait(&self) -> TargetResult<Option<String>> {
        match self {
            OneOf::Own(target) => target.unfinished_wait().await,
            OneOf::BuiltIn(target) => target.unfinished_wait().await,
        }
    }

    fn process(&self) -> StoreProcess {
        match self {
            OneOf::Own(target) => target.process(),
            OneOf::BuiltIn(target) => target.process(),
        }
    }

    fn synced_writes(&self) -> Option<u64> {
        match self {
            OneOf::Own(target) => target.synced_writes(),
            OneOf::BuiltIn(target) => target.synced_writes(),
        }
    }

    fn unseen_syncs(&self) -> Option<&'static str> {
        match self {
            OneOf::Own(target) => target.unseen_syncs(),
            OneOf::BuiltIn(target) => target.unseen_syncs(),
        }
    }

    fn internals(&self) -> Vec<Internal> {
        match self {
            OneOf::Own(target) => target.internals(),
            OneOf::BuiltIn(target) => target.internals(),
        }
    }

    fn take_commit_paths(&self) -> Option<CommitPaths> {
        match self {
            OneOf::Own(target) => target.take_commit_paths(),
            OneOf::BuiltIn(target) => target.take_commit_paths(),
        }
    }

    async fn counters(&self) -> TargetResult<Vec<Counter>> {
        match self {
            OneOf::Own(target) => target.counters().await,
            OneOf::BuiltIn(target) => target.counters().await,
        }
    }

    async fn round_trip_ns(&self) -> TargetResult<Option<Nanos>> {
        match self {
            OneOf::Own(target) => target.round_trip_ns().await,
            OneOf::BuiltIn(target) => target.round_trip_ns().await,
        }
    }

    fn intent(&self, plan: &Plan, clients: usize) -> TargetResult<Intent> {
        match self {
            OneOf::Own(target) => target.intent(plan, clients),
            OneOf::BuiltIn(target) => target.intent(plan, clients),
        }
    }

    async fn observe(&self) -> TargetResult<Observed> {
        match self {
            OneOf::Own(target) => target.observe().await,
            OneOf::BuiltIn(target) => target.observe().await,
        }
    }

    async fn user_view(&self, tables: &[String]) -> TargetResult<UserView> {
        match self {
            OneOf::Own(target) => target.user_view(tables).await,
            OneOf::BuiltIn(target) => target.user_view(tables).await,
        }
    }

    async fn clean(&self) -> TargetResult<Vec<String>> {
        match self {
            OneOf::Own(target) => target.clean().await,
            OneOf::BuiltIn(target) => target.clean().await,
        }
    }

    async fn reopen(&self, plan: &Plan) -> TargetResult<bool> {
        match self {
            OneOf::Own(target) => target.reopen(plan).await,
            OneOf::BuiltIn(target) => target.reopen(plan).await,
        }
    }

    async fn keep(&self) -> TargetResult<()> {
        match self {
            OneOf::Own(target) => target.keep().await,
            OneOf::BuiltIn(target) => target.keep().await,
        }
    }

    async fn create(&self, plan: &Plan) -> TargetResult<()> {
        match self {
            OneOf::Own(target) => target.create(plan).await,
            OneOf::BuiltIn(target) => target.create(plan).await,
        }
    }

    async fn self_check(&self) -> TargetResult<Option<Vec<String>>> {
        match self {
            OneOf::Own(target) => target.self_check().await,
            OneOf::BuiltIn(target) => target.self_check().await,
        }
    }

    async fn evidence(&self) -> TargetResult<Evidence> {
        match self {
            OneOf::Own(target) => target.evidence().await,
            OneOf::BuiltIn(target) => target.evidence().await,
        }
    }

    fn worker(&self) -> TargetResult<Self::Worker> {
        match self {
            OneOf::Own(target) => target.worker().map(PartOf::Own),
            OneOf::BuiltIn(target) => target.worker().map(PartOf::BuiltIn),
        }
    }

    async fn connect(&self, plan: &Plan, worker: &Self::Worker) -> TargetResult<Self::Session> {
        match (self, worker) {
            (OneOf::Own(target), PartOf::Own(worker)) => {
                target.connect(plan, worker).await.map(PartOf::Own)
            }
            (OneOf::BuiltIn(target), PartOf::BuiltIn(worker)) => {
                target.connect(plan, worker).await.map(PartOf::BuiltIn)
            }
            _ => unreachable!("a worker part is used with the target that made it"),
        }
    }

    async fn remove(&self) -> TargetResult<()> {
        match self {
            OneOf::Own(target) => target.remove().await,
            OneOf::BuiltIn(target) => target.remove().await,
        }
    }
}

impl<A: Worker, B: Worker> Worker for PartOf<A, B> {
    fn pass_started(&self) {
        match self {
            PartOf::Own(worker) => worker.pass_started(),
            PartOf::BuiltIn(worker) => worker.pass_started(),
        }
    }

    fn pass_ended(&self) {
        match self {
            PartOf::Own(worker) => worker.pass_ended(),
            PartOf::BuiltIn(worker) => worker.pass_ended(),
        }
    }
}

impl<A: Session, B: Session> Session for PartOf<A, B> {
    fn begin(&mut self, shape: Shape) {
        match self {
            PartOf::Own(session) => session.begin(shape),
            PartOf::BuiltIn(session) => session.begin(shape),
        }
    }

    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        match self {
            PartOf::Own(session) => session.send(operation, values),
            PartOf::BuiltIn(session) => session.send(operation, values),
        }
    }

    async fn receive(&mut self) -> Result<&Rows, Stop> {
        match self {
            PartOf::Own(session) => session.receive().await,
            PartOf::BuiltIn(session) => session.receive().await,
        }
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        match self {
            PartOf::Own(session) => session.commit().await,
            PartOf::BuiltIn(session) => session.commit().await,
        }
    }

    fn answered_writes(&mut self) -> Option<&mut Vec<AnsweredWrite>> {
        match self {
            PartOf::Own(session) => session.answered_writes(),
            PartOf::BuiltIn(session) => session.answered_writes(),
        }
    }

    async fn abort(&mut self) {
        match self {
            PartOf::Own(session) => session.abort().await,
            PartOf::BuiltIn(session) => session.abort().await,
        }
    }

    fn columns(&self, operation: OperationId) -> Option<Vec<String>> {
        match self {
            PartOf::Own(session) => session.columns(operation),
            PartOf::BuiltIn(session) => session.columns(operation),
        }
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        match self {
            PartOf::Own(session) => session.load(table, batch).await,
            PartOf::BuiltIn(session) => session.load(table, batch).await,
        }
    }
}
