//! A fresh store for one case, with its clients, and two of them running concurrently.

use super::block_on::{block_on, both};
use super::outcome::CaseFailure;
use super::test_schema::TestSchema;
use crate::capabilities::ClientModel;
use crate::operation::OperationId;
use crate::outcome::{FailureKind, Stop};
use crate::session::{AccessPattern, Session};
use crate::target::Target;
use crate::transaction::{RequestTracker, Transaction};
use std::panic;
use std::thread;

/// A created store, a worker on it, and the plan.
pub(super) struct Fixture<'g, T: Target> {
    pub(super) target: &'g T,
    pub(super) worker: &'g T::Worker,
    pub(super) scene: &'g TestSchema,
}

impl<T: Target> Fixture<'_, T> {
    /// Runs a future on this fixture's worker.
    pub(super) fn run<R>(&self, case: impl Future<Output = R>) -> R {
        block_on(self.worker, case)
    }

    /// A new client.
    pub(super) async fn client(&self) -> Result<TestClient<T::Session>, CaseFailure> {
        let session = self.target.connect(&self.scene.plan, self.worker).await?;
        Ok(TestClient { session, requests: RequestTracker::new(false) })
    }

    /// Runs two clients concurrently: on two threads if clients block their threads, otherwise on this one.
    pub(super) fn side_by_side<A, B: Send>(
        &self,
        one: impl AsyncFnOnce(&Fixture<'_, T>) -> Result<A, CaseFailure>,
        other: impl AsyncFnOnce(&Fixture<'_, T>) -> Result<B, CaseFailure> + Send,
    ) -> Result<(A, B), CaseFailure> {
        if self.target.capabilities().client_model != ClientModel::Threads {
            let (one, other) = self.run(both(one(self), other(self)));
            return Ok((one?, other?));
        }
        let (target, scene) = (self.target, self.scene);
        thread::scope(|scope| {
            let other = scope.spawn(move || {
                let worker = &target.worker()?;
                let fixture = Fixture { target, worker, scene };
                block_on(worker, other(&fixture))
            });
            let one = self.run(one(self));
            let other = other.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
            Ok((one?, other?))
        })
    }
}

/// A client with its session.
pub(super) struct TestClient<S> {
    pub(super) session: S,
    requests: RequestTracker,
}

impl<S: Session> TestClient<S> {
    /// Begins a transaction that the case itself ends.
    pub(super) fn begin(&mut self, pattern: AccessPattern) -> Transaction<'_, S> {
        self.session.begin(pattern);
        self.resume()
    }

    /// The current transaction.
    pub(super) fn resume(&mut self) -> Transaction<'_, S> {
        self.requests.clear();
        Transaction::new(&mut self.session, &mut self.requests)
    }

    /// Performs a transaction and commits it; aborts it if either step stops.
    pub(super) async fn commits<R>(
        &mut self,
        pattern: AccessPattern,
        perform: impl AsyncFnOnce(&mut Transaction<'_, S>) -> Result<R, Stop>,
    ) -> Result<R, Stop> {
        let performed = perform(&mut self.begin(pattern)).await;
        let ended = match performed {
            Ok(done) => self.session.commit().await.map(|()| done),
            Err(stop) => Err(stop),
        };
        if ended.is_err() {
            self.session.abort().await;
        }
        ended
    }

    /// Performs a transaction and aborts it.
    pub(super) async fn aborts(
        &mut self,
        perform: impl AsyncFnOnce(&mut Transaction<'_, S>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let performed = perform(&mut self.begin(AccessPattern::Several)).await;
        self.session.abort().await;
        performed
    }

    /// Performs a transaction that must fail as a refused statement of this operation, at its commit at the
    /// latest.
    pub(super) async fn is_refused(
        &mut self,
        pattern: AccessPattern,
        operation: OperationId,
        what: &str,
        perform: impl AsyncFnOnce(&mut Transaction<'_, S>) -> Result<(), Stop>,
    ) -> Result<(), CaseFailure> {
        let wrong = match self.commits(pattern, perform).await {
            Err(Stop::Failed(failure)) if failure.kind != FailureKind::Statement => {
                format!("fails with kind {} instead of statement", failure.kind.name())
            }
            Err(Stop::Failed(failure)) if failure.operation == Some(operation) => return Ok(()),
            Err(Stop::Failed(failure)) => {
                format!("fails without naming its operation: {failure}")
            }
            Err(Stop::Conflict(_)) => {
                "is reported as a conflict, which a retry would repeat".to_owned()
            }
            Err(Stop::Unknown(_)) => "leaves the outcome unknown".to_owned(),
            Err(Stop::Abort) => "is reported as the workload's own abort".to_owned(),
            Ok(()) => "commits".to_owned(),
        };
        Err(CaseFailure(format!("{what} {wrong}")))
    }
}
