//! A fresh store for one case: its clients, and two of them side by side.

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

/// A created store and a worker on it.
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
        Ok(TestClient { session, asked: RequestTracker::new(false) })
    }

    /// Runs two at once: on two threads where clients block their threads, else on this one.
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

/// A client in its seat.
pub(super) struct TestClient<S> {
    pub(super) session: S,
    asked: RequestTracker,
}

impl<S: Session> TestClient<S> {
    /// Begins a transaction that the case ends itself.
    pub(super) fn begin(&mut self, shape: AccessPattern) -> Transaction<'_, S> {
        self.session.begin(shape);
        self.resume()
    }

    /// The transaction that was begun.
    pub(super) fn resume(&mut self) -> Transaction<'_, S> {
        self.asked.clear();
        Transaction::new(&mut self.session, &mut self.asked)
    }

    /// Performs a transaction and commits it; aborts it if either stops.
    pub(super) async fn commits<R>(
        &mut self,
        shape: AccessPattern,
        perform: impl AsyncFnOnce(&mut Transaction<'_, S>) -> Result<R, Stop>,
    ) -> Result<R, Stop> {
        let performed = perform(&mut self.begin(shape)).await;
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

    /// Performs a transaction that must fail as a refused statement of that operation, by its commit
    /// at the latest.
    pub(super) async fn is_refused(
        &mut self,
        shape: AccessPattern,
        operation: OperationId,
        what: &str,
        perform: impl AsyncFnOnce(&mut Transaction<'_, S>) -> Result<(), Stop>,
    ) -> Result<(), CaseFailure> {
        let wrong = match self.commits(shape, perform).await {
            Err(Stop::Failed(failure)) if failure.kind != FailureKind::Statement => {
                format!("is a failure of kind {} instead of statement", failure.kind.name())
            }
            Err(Stop::Failed(failure)) if failure.operation == Some(operation) => return Ok(()),
            Err(Stop::Failed(failure)) => {
                format!("fails without naming its operation: {failure}")
            }
            Err(Stop::Conflict(_)) => "comes as a conflict, which a retry would repeat".to_owned(),
            Err(Stop::Unknown(_)) => "leaves the outcome unknown".to_owned(),
            Err(Stop::Abort) => "comes as the workload's own abort".to_owned(),
            Ok(()) => "commits".to_owned(),
        };
        Err(CaseFailure(format!("{what} {wrong}")))
    }
}
