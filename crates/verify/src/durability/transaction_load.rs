//! The load that reveals losses: what each transaction writes, and what must be there afterwards.
//!
//! Client `c` performs transactions 0, 1, 2, ... in order. Transaction `n` inserts the event (c, n) with a
//! unique payload, deletes the event (c, n - [`EVENTS_KEPT`]), and sets the client's tally to n + 1. So the
//! state after k transactions is known to the byte: a tally of k, and the events from k - [`EVENTS_KEPT`] to
//! k - 1. Anything else is a torn transaction.

use serde::{Deserialize, Serialize};
use syncline_contract::{
    AccessPattern, Bytes, Int, Kind, Limit, Lock, Path, Plan, Range, Read, RequestTracker, Scan,
    Session, Set, Stop, Table, Transaction, Write,
};

/// Events that a client keeps: older ones are deleted, so that pages are freed and used again.
const EVENTS_KEPT: i64 = 300;

/// The longest payload.
const PAYLOAD_BYTES_MAX: usize = 6000;

/// One in this many events has a long payload.
const LONG_EVERY: i64 = 41;

/// The client number of the ballast, which performs no transactions.
const NOBODY: i64 = -1;

/// Ballast events per transaction.
const BALLAST_AT_ONCE: i64 = 20;

/// The plan and its operations.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) plan: Plan,
    new_tally: Write<(Int, Int)>,
    set_tally: Write<(Int, Int)>,
    tally: Read<(Int,), (Int,)>,
    insert: Write<(Int, Int, Bytes)>,
    delete: Write<(Int, Int)>,
    events: Read<(Int,), (Int, Bytes)>,
}

/// The state of one client's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientState {
    /// Number of transactions according to the tally.
    pub commits: i64,
    /// Rows that do not match the tally, one sentence each.
    pub torn: Vec<String>,
}

impl Work {
    pub(super) fn new() -> Work {
        let mut plan = Plan::new();
        let tallies =
            Table::new("syncline_tallies").column("client", Kind::Int).column("commits", Kind::Int);
        let tallies = plan.table(tallies.key(&["client"]));
        let events = Table::new("syncline_events")
            .column("client", Kind::Int)
            .column("number", Kind::Int)
            .bytes("payload", PAYLOAD_BYTES_MAX as u32);
        let events = plan.table(events.key(&["client", "number"]));
        let of_client = Path::by_key(events, 1, Range::All);
        let scan = Scan::ascending(of_client, Limit::None, &["number", "payload"]);
        Work {
            new_tally: plan.insert("new tally", tallies),
            set_tally: plan.update("set tally", tallies, &[("commits", Set::To)]),
            tally: plan.get("tally", tallies, &["commits"], Lock::None),
            insert: plan.insert("new event", events),
            delete: plan.delete("delete event", events),
            events: plan.scan("events", scan),
            plan,
        }
    }

    /// Creates the tallies of all clients in one transaction.
    pub(super) async fn begin<S: Session>(
        &self,
        session: &mut S,
        clients: i64,
    ) -> Result<(), Stop> {
        session.begin(AccessPattern::Several);
        let mut requests = RequestTracker::new(false);
        let mut transaction = Transaction::new(session, &mut requests);
        for client in 0..clients {
            transaction.write(&self.new_tally, (client, 0))?;
        }
        session.commit().await
    }

    /// Inserts `ballast` long events that no client touches.
    pub(super) async fn load<S: Session>(&self, session: &mut S, ballast: i64) -> Result<(), Stop> {
        for first in (0..ballast).step_by(BALLAST_AT_ONCE as usize) {
            session.begin(AccessPattern::Several);
            let mut requests = RequestTracker::new(false);
            let mut transaction = Transaction::new(session, &mut requests);
            for event in first..ballast.min(first + BALLAST_AT_ONCE) {
                let number = LONG_EVERY * event + LONG_EVERY - 1;
                transaction.write(&self.insert, (NOBODY, number, &payload(NOBODY, number)))?;
            }
            session.commit().await?;
        }
        Ok(())
    }

    /// The number of transactions in a client's tally.
    pub(super) async fn commits<S: Session>(
        &self,
        session: &mut S,
        client: i64,
    ) -> Result<i64, Stop> {
        session.begin(AccessPattern::ReadOnly);
        let mut requests = RequestTracker::new(false);
        let mut transaction = Transaction::new(session, &mut requests);
        let (commits,) = transaction.read(&self.tally, (client,)).await?;
        session.commit().await?;
        Ok(commits)
    }

    /// Performs one transaction; its commit has been acknowledged when this returns.
    pub(super) async fn perform<S: Session>(
        &self,
        session: &mut S,
        client: i64,
        number: i64,
    ) -> Result<(), Stop> {
        session.begin(AccessPattern::Several);
        let mut requests = RequestTracker::new(false);
        let mut transaction = Transaction::new(session, &mut requests);
        let payload = payload(client, number);
        transaction.write(&self.insert, (client, number, &payload))?;
        if number >= EVENTS_KEPT {
            transaction.write(&self.delete, (client, number - EVENTS_KEPT))?;
        }
        transaction.write(&self.set_tally, (client, number + 1))?;
        session.commit().await
    }

    /// Reads back a client's rows and compares them with its tally.
    pub(super) async fn read_back<S: Session>(
        &self,
        session: &mut S,
        client: i64,
    ) -> Result<ClientState, Stop> {
        session.begin(AccessPattern::ReadOnly);
        let mut requests = RequestTracker::new(false);
        let mut transaction = Transaction::new(session, &mut requests);
        let (commits,) = transaction.read(&self.tally, (client,)).await?;
        transaction.ask(&self.events, (client,))?;
        let mut state = ClientState { commits, torn: Vec::new() };
        let mut expected = (commits - EVENTS_KEPT).max(0)..commits;
        for event in transaction.answers(&self.events).await? {
            let (number, bytes) = event?;
            state.compare(client, &mut expected, number, bytes);
        }
        for number in expected {
            state.tear(client, number, "is missing, although the tally counts it");
        }
        session.commit().await?;
        Ok(state)
    }
}

impl ClientState {
    fn compare(
        &mut self,
        client: i64,
        expected: &mut std::ops::Range<i64>,
        number: i64,
        bytes: &[u8],
    ) {
        while expected.start < number && !expected.is_empty() {
            self.tear(client, expected.start, "is missing, although the tally counts it");
            expected.start += 1;
        }
        if !expected.contains(&number) {
            self.tear(client, number, "is there, although the tally rules it out");
            return;
        }
        expected.start += 1;
        if bytes != payload(client, number) {
            self.tear(client, number, "differs from the bytes that were written");
        }
    }

    /// Records only the first few; a damaged store may have hundreds.
    fn tear(&mut self, client: i64, number: i64, what: &str) {
        if self.torn.len() < 5 {
            self.torn.push(format!("event {number} of client {client} {what}"));
        }
    }
}

/// The unique payload of an event; its length depends on the number, so that rows grow and split pages.
fn payload(client: i64, number: i64) -> Vec<u8> {
    let seed = (client as u64) << 40 ^ number as u64;
    let mut random = fastrand::Rng::with_seed(seed);
    let bytes = if number % LONG_EVERY == LONG_EVERY - 1 {
        random.usize(2000..PAYLOAD_BYTES_MAX)
    } else {
        random.usize(20..300)
    };
    (0..bytes).map(|_| random.u8(..)).collect()
}

#[cfg(test)]
mod tests {
    use super::{ClientState, EVENTS_KEPT, payload};

    fn compared(commits: i64, events: impl Iterator<Item = (i64, Vec<u8>)>) -> Vec<String> {
        let mut state = ClientState::default();
        let mut expected = (commits - EVENTS_KEPT).max(0)..commits;
        for (number, bytes) in events {
            state.compare(3, &mut expected, number, &bytes);
        }
        for number in expected {
            state.tear(3, number, "is missing, although the tally counts it");
        }
        state.torn
    }

    fn whole(commits: i64) -> impl Iterator<Item = (i64, Vec<u8>)> {
        ((commits - EVENTS_KEPT).max(0)..commits).map(|number| (number, payload(3, number)))
    }

    #[test]
    fn rows_that_differ_from_the_tally_are_torn() {
        for commits in [0, 1, 7, EVENTS_KEPT, EVENTS_KEPT + 9] {
            assert!(compared(commits, whole(commits)).is_empty(), "{commits}");
        }
        let one_short = compared(7, whole(6));
        assert!(one_short[0].starts_with("event 6 of client 3 is missing"));
        let gap = compared(7, whole(7).filter(|(number, _)| *number != 2));
        assert_eq!(gap.len(), 1, "{gap:?}");
        let beyond = compared(6, whole(7));
        assert!(beyond[0].contains("rules it out"), "{beyond:?}");
        let old = compared(EVENTS_KEPT + 1, (0..=EVENTS_KEPT).map(|n| (n, payload(3, n))));
        assert!(old[0].starts_with("event 0 "), "{old:?}");
        let other = compared(2, whole(2).map(|(number, _)| (number, payload(4, number))));
        assert_eq!(other.len(), 2, "{other:?}");
    }
}
