//! The one transaction, "task", and the client that performs it.

use super::schema::GroupCommit;
use crate::outcomes::Outcomes;
use syncline_contract::{AccessPattern, Client, Ending, Int, Session, Stop, Transaction, Write};

/// What the check needs from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The client's number.
    pub client: u64,
    /// How many clients there were.
    pub clients: u64,
    /// How its tasks ended.
    pub(super) tasks: Outcomes,
}

/// A client. Its task `t` has the key `t * clients + client`.
#[derive(Debug)]
pub struct GroupCommitClient {
    insert: Write<(Int, Int, Int)>,
    ninsert: i64,
    tally: Tally,
}

/// The value of a row.
#[inline]
pub(super) fn value(task: i64, item: i64) -> i64 {
    task.wrapping_mul(1_000_003) ^ item
}

impl GroupCommitClient {
    pub(super) fn new(of: &GroupCommit, number: usize, clients: usize) -> GroupCommitClient {
        GroupCommitClient {
            insert: of.insert,
            ninsert: of.options.ninsert as i64,
            tally: Tally {
                client: number as u64,
                clients: clients as u64,
                tasks: Outcomes::default(),
            },
        }
    }
}

impl Client for GroupCommitClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        0
    }

    #[inline]
    fn access_pattern(&self, _kind: usize) -> AccessPattern {
        if self.ninsert == 1 { AccessPattern::Single } else { AccessPattern::Several }
    }

    #[inline]
    async fn perform<S: Session>(
        &mut self,
        _kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let task = (self.tally.tasks.count() * self.tally.clients + self.tally.client) as i64;
        for item in 0..self.ninsert {
            transaction.write(&self.insert, (task, item, value(task, item)))?;
        }
        Ok(())
    }

    #[inline]
    fn ended(&mut self, _kind: usize, ending: Ending) {
        self.tally.tasks.record(ending);
    }

    fn tally(self) -> Tally {
        self.tally
    }
}
