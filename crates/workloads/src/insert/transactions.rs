//! The one transaction, "insert", and the client that performs it.
//!
//! A client remembers a counter and the transactions with unknown outcomes, never its rows.

use super::body::Body;
use super::keys::random_key;
use super::schema::{Insert, InsertRow};
use crate::outcomes::Outcomes;
use syncline_contract::{AccessPattern, Client, Ending, Session, Stop, Transaction};

/// What the check needs from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Its number.
    pub client: u32,
    /// How many clients there were.
    pub clients: u64,
    /// The seed of keys and bodies.
    pub seed: u64,
    /// How its transactions ended.
    pub(super) transactions: Outcomes,
}

/// A client.
#[derive(Debug)]
pub struct InsertClient {
    insert: InsertRow,
    commit_every: u64,
    tally: Tally,
    body: Body,
}

impl InsertClient {
    pub(super) fn new(insert: &Insert, number: usize, clients: usize, seed: u64) -> InsertClient {
        InsertClient {
            insert: insert.new_row,
            commit_every: insert.options.commit_every,
            tally: Tally {
                client: u32::try_from(number).expect("clients are counted in 32 bits"),
                clients: clients as u64,
                seed,
                transactions: Outcomes::default(),
            },
            body: Body::new(seed),
        }
    }
}

impl Client for InsertClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        0
    }

    #[inline]
    fn access_pattern(&self, _kind: usize) -> AccessPattern {
        if self.commit_every == 1 { AccessPattern::Single } else { AccessPattern::Several }
    }

    #[inline]
    async fn perform<S: Session>(
        &mut self,
        _kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let first = self.tally.transactions.count() * self.commit_every;
        for row in first..first + self.commit_every {
            let text = self.body.write(self.tally.client, row);
            let number = row * self.tally.clients + u64::from(self.tally.client);
            match &self.insert {
                InsertRow::Ascending(insert) => transaction.write(insert, (number as i64, text))?,
                InsertRow::Random(insert) => {
                    transaction.write(insert, (random_key(number, self.tally.seed), text))?;
                }
                InsertRow::ByServer(insert) => transaction.write(insert, (text,))?,
            }
        }
        Ok(())
    }

    #[inline]
    fn ended(&mut self, _kind: usize, ending: Ending) {
        self.tally.transactions.record(ending);
    }

    fn tally(self) -> Tally {
        self.tally
    }
}
