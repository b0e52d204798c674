//! The client: draws and performs transactions.

use super::input::{Input, Subscribers};
use super::population::{sub_nbr, text};
use super::schema::{Operations, Tatp};
use crate::distributions::Stream;
use syncline_contract::{AccessPattern, Client, Ending, Session, Stop, Transaction};

/// The transactions.
pub(super) const NAMES: [&str; 7] = [
    "get subscriber data",
    "get new destination",
    "get access data",
    "update subscriber data",
    "update location",
    "insert call forwarding",
    "delete call forwarding",
];
/// The percentage of each transaction.
const WEIGHTS: [u64; 7] = [35, 10, 35, 2, 14, 2, 2];

const GET_SUBSCRIBER: usize = 0;
const GET_DESTINATION: usize = 1;
const GET_ACCESS: usize = 2;
const UPDATE_SUBSCRIBER: usize = 3;
const UPDATE_LOCATION: usize = 4;
const INSERT_FORWARDING: usize = 5;
const DELETE_FORWARDING: usize = 6;

/// What the check needs from a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Committed inserts of call forwardings.
    pub inserted: u64,
    /// Committed deletes of call forwardings.
    pub deleted: u64,
    /// Inserts with unknown outcomes.
    pub unknown_inserts: u64,
    /// Deletes with unknown outcomes.
    pub unknown_deletes: u64,
}

/// A client.
#[derive(Debug)]
pub struct TatpClient {
    operations: Operations,
    subscribers: Subscribers,
    stream: Stream,
    input: Input,
    tally: Tally,
}

impl TatpClient {
    pub(super) fn new(of: &Tatp, number: usize, seed: u64) -> TatpClient {
        TatpClient {
            operations: of.operations,
            subscribers: Subscribers::new(of.options.subscribers, of.options.distribution),
            stream: Stream::of_client(seed, number, "tatp"),
            input: Input::default(),
            tally: Tally::default(),
        }
    }

    #[inline]
    fn draw_kind(&mut self) -> usize {
        let mut left = self.stream.below(100);
        for (kind, weight) in WEIGHTS.into_iter().enumerate() {
            if left < weight {
                return kind;
            }
            left -= weight;
        }
        unreachable!("the weights sum to a hundred")
    }

    /// Finds the subscriber by number.
    #[inline]
    async fn find<S: Session>(&self, transaction: &mut Transaction<'_, S>) -> Result<i64, Stop> {
        let digits = sub_nbr(self.input.s_id);
        let (s_id,) = transaction.read(&self.operations.find, (text(&digits),)).await?;
        Ok(s_id)
    }

    async fn get_destination<S: Session>(
        &self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (input, operations) = (&self.input, &self.operations);
        let facility = (input.s_id, input.kind);
        transaction.ask(&operations.is_active, facility)?;
        transaction.ask(&operations.forwardings, facility)?;
        let active = transaction.answer_if_any(&operations.is_active).await?;
        let is_active = active.is_some_and(|(active,)| active == 1);
        let mut found = false;
        for row in transaction.answers(&operations.forwardings).await? {
            let (start, end, _) = row?;
            found |= start <= input.start && input.end < end;
        }
        if is_active && found { Ok(()) } else { Err(Stop::Abort) }
    }

    async fn get_access<S: Session>(
        &self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let parameters = (self.input.s_id, self.input.kind);
        let found = transaction.read_if_any(&self.operations.access, parameters).await?;
        found.map(drop).ok_or(Stop::Abort)
    }

    async fn update_subscriber<S: Session>(
        &self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (input, operations) = (&self.input, &self.operations);
        transaction.write(&operations.set_bit, (input.s_id, input.bit))?;
        let facility = (input.s_id, input.kind);
        let found = transaction.read_if_any(&operations.facility, facility).await?;
        if found.is_none() {
            return Err(Stop::Abort);
        }
        transaction.write(&operations.set_data, (input.s_id, input.kind, input.data))
    }

    async fn insert_forwarding<S: Session>(
        &self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (input, operations) = (&self.input, &self.operations);
        let s_id = self.find(transaction).await?;
        transaction.ask(&operations.facilities, (s_id,))?;
        transaction.ask(&operations.forwarding, (s_id, input.kind, input.start))?;
        let mut has_facility = false;
        for row in transaction.answers(&operations.facilities).await? {
            let (sf_type,) = row?;
            has_facility |= sf_type == input.kind;
        }
        let there = transaction.answer_if_any(&operations.forwarding).await?;
        if there.is_some() || !has_facility {
            return Err(Stop::Abort);
        }
        let number = text(&input.number);
        let row = (s_id, input.kind, input.start, input.end, number);
        transaction.write(&operations.new_forwarding, row)
    }

    async fn delete_forwarding<S: Session>(
        &self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (input, operations) = (&self.input, &self.operations);
        let s_id = self.find(transaction).await?;
        let key = (s_id, input.kind, input.start);
        let there = transaction.read_if_any(&operations.forwarding, key).await?;
        if there.is_none() {
            return Err(Stop::Abort);
        }
        transaction.write(&operations.delete_forwarding, key)
    }
}

impl Client for TatpClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        let kind = self.draw_kind();
        self.input = Input::draw(&self.subscribers, &mut self.stream);
        kind
    }

    #[inline]
    fn access_pattern(&self, kind: usize) -> AccessPattern {
        match kind {
            GET_SUBSCRIBER | GET_ACCESS => AccessPattern::Single,
            GET_DESTINATION => AccessPattern::ReadOnly,
            _ => AccessPattern::Several,
        }
    }

    #[inline]
    async fn perform<S: Session>(
        &mut self,
        kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        match kind {
            GET_SUBSCRIBER => {
                transaction.read(&self.operations.subscriber, (self.input.s_id,)).await?;
                Ok(())
            }
            GET_DESTINATION => self.get_destination(transaction).await,
            GET_ACCESS => self.get_access(transaction).await,
            UPDATE_SUBSCRIBER => self.update_subscriber(transaction).await,
            UPDATE_LOCATION => {
                let s_id = self.find(transaction).await?;
                let parameters = (s_id, self.input.location);
                transaction.write(&self.operations.set_location, parameters)
            }
            INSERT_FORWARDING => self.insert_forwarding(transaction).await,
            _ => self.delete_forwarding(transaction).await,
        }
    }

    #[inline]
    fn ended(&mut self, kind: usize, ending: Ending) {
        let tally = &mut self.tally;
        match (kind, ending) {
            (INSERT_FORWARDING, Ending::Committed) => tally.inserted += 1,
            (DELETE_FORWARDING, Ending::Committed) => tally.deleted += 1,
            (INSERT_FORWARDING, Ending::Unknown) => tally.unknown_inserts += 1,
            (DELETE_FORWARDING, Ending::Unknown) => tally.unknown_deletes += 1,
            _ => {}
        }
    }

    fn tally(self) -> Tally {
        self.tally
    }
}
