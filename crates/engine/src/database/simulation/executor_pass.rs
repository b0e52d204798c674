//! The pass of an executor: it holds the log's batch, its clients commit, and it releases the batch and polls
//! a ticket without waiting.

use super::episode::{EpisodeEnd, broken};
use super::harness::SimulatedEngine;
use crate::log::{Ticket, Worker};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use syncline_vfs::SimulatedDisk;

/// A pass in progress.
pub(super) struct Pass {
    worker: Worker<SimulatedDisk>,
}

impl Pass {
    pub(super) fn begin(engine: &SimulatedEngine) -> Pass {
        let worker = engine.core.log.worker();
        worker.begin_pass();
        Pass { worker }
    }

    /// Ends it. Afterwards the given ticket must be complete or, without one, everything that was published.
    pub(super) fn end(
        self,
        engine: &SimulatedEngine,
        ticket: Option<Ticket>,
    ) -> Result<(), EpisodeEnd> {
        let log = &engine.core.log;
        let Some(ticket) = ticket else {
            self.worker.end_pass();
            log.check()?;
            if log.durable_lsn() < log.published() {
                return Err(broken("the end of a pass left commits unwritten"));
            }
            return Ok(());
        };
        let mut completion = pin!(self.worker.completion(ticket));
        let mut context = Context::from_waker(Waker::noop());
        let early = completion.as_mut().poll(&mut context);
        self.worker.end_pass();
        let outcome = match early {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => match completion.poll(&mut context) {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => {
                    return Err(broken(format!(
                        "{} is not complete after the end_pass",
                        ticket.csn
                    )));
                }
            },
        };
        outcome.map_err(EpisodeEnd::from)
    }
}
