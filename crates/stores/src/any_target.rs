//! Every built-in target as one type: an enum for each role, written by one macro, so that the program
//! instantiates runner and workloads once and a call costs one branch.
//!
//! A new target is one line in the table at the end of this file.

use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;
use syncline_contract::{
    AccessPattern, AnsweredWrite, Capabilities, CommitPaths, Counter, DryRunPlan, Internal,
    LogLocation, LogSegments, OperationId, Plan, ReportedSettings, Rows, Session, Stop,
    StoreObservation, StoreProcess, TableId, Target, TargetResult, UserView, Value, Worker,
};
use syncline_instrument::Nanos;

/// A call in progress that moves no rows.
type BoxedAnswer<'a, T> = Pin<Box<dyn Future<Output = TargetResult<T>> + 'a>>;

macro_rules! targets {
    ($($(#[$when:meta])* $name:ident: $target:ty),* $(,)?) => {
        /// One of the built-in targets.
        #[derive(Debug)]
        pub enum AnyTarget {
            $($(#[$when])* #[doc = concat!("See [`", stringify!($target), "`].")] $name($target),)*
        }

        /// A session of one of the built-in targets.
        #[derive(Debug)]
        #[allow(
            clippy::large_enum_variant,
            reason = "a session exists as long as its client and is never moved; a box would add cost to every call"
        )]
        pub enum AnySession {
            $($(#[$when])* #[doc = concat!("Of [`", stringify!($target), "`].")]
            $name(<$target as Target>::Session),)*
        }

        /// A worker of one of the built-in targets.
        #[derive(Debug)]
        pub enum AnyWorker {
            $($(#[$when])* #[doc = concat!("Of [`", stringify!($target), "`].")]
            $name(<$target as Target>::Worker),)*
        }

        impl Worker for AnyWorker {
            #[inline]
            fn pass_started(&self) {
                match self { $($(#[$when])* AnyWorker::$name(worker) => worker.pass_started(),)* }
            }

            #[inline]
            fn pass_ended(&self) {
                match self { $($(#[$when])* AnyWorker::$name(worker) => worker.pass_ended(),)* }
            }

            fn wait(&self, longest: Option<Duration>) {
                match self { $($(#[$when])* AnyWorker::$name(worker) => worker.wait(longest),)* }
            }

            fn waker(&self) -> Waker {
                match self { $($(#[$when])* AnyWorker::$name(worker) => worker.waker(),)* }
            }
        }

        /// The calls that move no rows, boxed: a coroutine is compiled again in every crate that polls
        /// it, and these calls contain most of the code of every store.
        impl AnyTarget {
            #[inline(never)]
            fn boxed_preflight(&self) -> BoxedAnswer<'_, ()> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.preflight()),)* }
            }

            #[inline(never)]
            fn boxed_unfinished_wait(&self) -> BoxedAnswer<'_, Option<String>> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.unfinished_wait()),)* }
            }

            #[inline(never)]
            fn boxed_counters(&self) -> BoxedAnswer<'_, Vec<Counter>> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.counters()),)* }
            }

            #[inline(never)]
            fn boxed_round_trip_ns(&self) -> BoxedAnswer<'_, Option<Nanos>> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.round_trip_ns()),)* }
            }

            #[inline(never)]
            fn boxed_observe(&self) -> BoxedAnswer<'_, StoreObservation> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.observe()),)* }
            }

            #[inline(never)]
            fn boxed_user_view<'a>(&'a self, tables: &'a [String]) -> BoxedAnswer<'a, UserView> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.user_view(tables)),)* }
            }

            #[inline(never)]
            fn boxed_clean(&self) -> BoxedAnswer<'_, Vec<String>> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.clean()),)* }
            }

            #[inline(never)]
            fn boxed_reopen<'a>(&'a self, plan: &'a Plan) -> BoxedAnswer<'a, bool> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.reopen(plan)),)* }
            }

            #[inline(never)]
            fn boxed_keep(&self) -> BoxedAnswer<'_, ()> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.keep()),)* }
            }

            #[inline(never)]
            fn boxed_self_check(&self) -> BoxedAnswer<'_, Option<Vec<String>>> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.self_check()),)* }
            }

            #[inline(never)]
            fn boxed_create<'a>(&'a self, plan: &'a Plan) -> BoxedAnswer<'a, ()> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.create(plan)),)* }
            }

            #[inline(never)]
            fn boxed_reported_settings(&self) -> BoxedAnswer<'_, ReportedSettings> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.reported_settings()),)* }
            }

            #[inline(never)]
            fn boxed_remove(&self) -> BoxedAnswer<'_, ()> {
                match self { $($(#[$when])* AnyTarget::$name(target) => Box::pin(target.remove()),)* }
            }

            #[inline(never)]
            fn boxed_connect<'a>(&'a self, plan: &'a Plan, worker: &'a AnyWorker) -> BoxedAnswer<'a, AnySession> {
                match (self, worker) {
                    $($(#[$when])* (AnyTarget::$name(target), AnyWorker::$name(worker)) => {
                        Box::pin(async move { target.connect(plan, worker).await.map(AnySession::$name) })
                    })*
                    _ => unreachable!("a worker is used with the target that created it"),
                }
            }
        }

        impl Target for AnyTarget {
            type Session = AnySession;
            type Worker = AnyWorker;

            fn name(&self) -> String {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.name(),)* }
            }

            async fn preflight(&self) -> TargetResult<()> {
                self.boxed_preflight().await
            }

            fn capabilities(&self) -> Capabilities {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.capabilities(),)* }
            }

            fn log_location(&self) -> LogLocation {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.log_location(),)* }
            }

            fn data_location(&self) -> LogLocation {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.data_location(),)* }
            }

            fn other_locations(&self) -> Vec<LogLocation> {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.other_locations(),)* }
            }

            fn clients_max_reason(&self) -> Option<String> {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.clients_max_reason(),)* }
            }

            fn read_only_reason(&self) -> Option<String> {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.read_only_reason(),)* }
            }

            async fn unfinished_wait(&self) -> TargetResult<Option<String>> {
                self.boxed_unfinished_wait().await
            }

            fn log_segments(&self) -> Option<LogSegments> {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.log_segments(),)* }
            }

            fn process(&self) -> StoreProcess {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.process(),)* }
            }

            fn synced_writes(&self) -> Option<u64> {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.synced_writes(),)* }
            }

            fn unseen_syncs(&self) -> Option<&'static str> {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.unseen_syncs(),)* }
            }

            fn internals(&self) -> Vec<Internal> {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.internals(),)* }
            }

            fn take_commit_paths(&self) -> Option<CommitPaths> {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.take_commit_paths(),)* }
            }

            async fn counters(&self) -> TargetResult<Vec<Counter>> {
                self.boxed_counters().await
            }

            async fn round_trip_ns(&self) -> TargetResult<Option<Nanos>> {
                self.boxed_round_trip_ns().await
            }

            fn dry_run(&self, plan: &Plan, clients: usize) -> TargetResult<DryRunPlan> {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.dry_run(plan, clients),)* }
            }

            async fn observe(&self) -> TargetResult<StoreObservation> {
                self.boxed_observe().await
            }

            async fn user_view(&self, tables: &[String]) -> TargetResult<UserView> {
                self.boxed_user_view(tables).await
            }

            async fn clean(&self) -> TargetResult<Vec<String>> {
                self.boxed_clean().await
            }

            async fn reopen(&self, plan: &Plan) -> TargetResult<bool> {
                self.boxed_reopen(plan).await
            }

            async fn keep(&self) -> TargetResult<()> {
                self.boxed_keep().await
            }

            async fn self_check(&self) -> TargetResult<Option<Vec<String>>> {
                self.boxed_self_check().await
            }

            async fn create(&self, plan: &Plan) -> TargetResult<()> {
                self.boxed_create(plan).await
            }

            async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
                self.boxed_reported_settings().await
            }

            fn worker(&self) -> TargetResult<AnyWorker> {
                match self { $($(#[$when])* AnyTarget::$name(target) => target.worker().map(AnyWorker::$name),)* }
            }

            async fn connect(&self, plan: &Plan, worker: &AnyWorker) -> TargetResult<AnySession> {
                self.boxed_connect(plan, worker).await
            }

            async fn remove(&self) -> TargetResult<()> {
                self.boxed_remove().await
            }
        }

        impl AnySession {
            #[inline(never)]
            fn boxed_load<'a>(
                &'a mut self,
                table: TableId,
                batch: &'a Rows,
            ) -> Pin<Box<dyn Future<Output = Result<(), Stop>> + 'a>> {
                match self { $($(#[$when])* AnySession::$name(session) => Box::pin(session.load(table, batch)),)* }
            }
        }

        impl Session for AnySession {
            #[inline]
            fn begin(&mut self, pattern: AccessPattern) {
                match self { $($(#[$when])* AnySession::$name(session) => session.begin(pattern),)* }
            }

            #[inline]
            fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
                match self { $($(#[$when])* AnySession::$name(session) => session.send(operation, values),)* }
            }

            #[inline]
            async fn receive(&mut self) -> Result<&Rows, Stop> {
                match self { $($(#[$when])* AnySession::$name(session) => session.receive().await,)* }
            }

            #[inline]
            async fn commit(&mut self) -> Result<(), Stop> {
                match self { $($(#[$when])* AnySession::$name(session) => session.commit().await,)* }
            }

            #[inline]
            async fn abort(&mut self) {
                match self { $($(#[$when])* AnySession::$name(session) => session.abort().await,)* }
            }

            #[inline]
            fn answered_writes(&mut self) -> Option<&mut Vec<AnsweredWrite>> {
                match self { $($(#[$when])* AnySession::$name(session) => session.answered_writes(),)* }
            }

            fn columns(&self, operation: OperationId) -> Option<Vec<String>> {
                match self { $($(#[$when])* AnySession::$name(session) => session.columns(operation),)* }
            }

            async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
                self.boxed_load(table, batch).await
            }
        }
    };
}

targets! {
    Null: crate::null::Null,
    Engine: crate::engine::Engine,
    TransientEngine: crate::engine::TransientEngine,
    Sqlite: crate::sqlite::Sqlite,
    SqliteQueue: crate::sqlite::SqliteQueue,
    Postgres: crate::postgres::Postgres,
    Mysql: crate::mysql::Mysql,
    #[cfg(feature = "lmdb")]
    Lmdb: crate::lmdb::LmdbTarget,
    #[cfg(feature = "redb")]
    Redb: crate::redb::RedbTarget,
    #[cfg(feature = "fjall")]
    Fjall: crate::fjall::FjallTarget,
    #[cfg(feature = "rocksdb")]
    Rocksdb: crate::rocksdb::RocksdbTarget,
    Redis: crate::redis::RedisTarget,
    Etcd: crate::etcd::EtcdTarget,
    #[cfg(feature = "jdbc")]
    Jdbc: crate::jdbc::Jdbc,
}
