//! Judges one crash image or process kill: what became of the acknowledged transactions.
//!
//! Client `c` has acknowledged transactions 0 to a - 1, and may have had one more in flight. The store's
//! state is right if it holds at least a and at most a + 1 of them, each whole.
//!
//! A setting that may lose the latest transactions must still leave a prefix of the commits across all
//! clients: if one transaction was acknowledged before another began, the other must not be there without it.
//! A client's next transaction begins when its last has been acknowledged, so the times of acknowledgements
//! show which transaction began after which.

use super::child_process::ChildFailure;
use super::child_protocol::{Answer, StoreState, acknowledgements};
use super::test_store::RecoveryResult;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use syncline_instrument::Nanos;

/// Classes of outcomes, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Everything acknowledged is there, whole, and nothing that was never requested.
    Ok,
    /// More is there than was ever requested.
    Phantom,
    /// Acknowledged transactions are gone.
    Lost,
    /// A transaction is gone although one that began after its acknowledgement is there: the rest is not a
    /// prefix.
    OutOfOrder,
    /// A transaction is there in part.
    Torn,
    /// The store opens, but a read fails or its own check finds damage.
    Unreadable,
    /// The store does not open.
    WillNotOpen,
    /// The store did not open or answer within the time limit.
    Hangs,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 8] = [
        Class::Ok,
        Class::Phantom,
        Class::Lost,
        Class::OutOfOrder,
        Class::Torn,
        Class::Unreadable,
        Class::WillNotOpen,
        Class::Hangs,
    ];

    /// The name in reports.
    pub fn words(self) -> &'static str {
        match self {
            Class::Ok => "ok",
            Class::Phantom => "phantom",
            Class::Lost => "lost",
            Class::OutOfOrder => "out of order",
            Class::Torn => "torn transaction",
            Class::Unreadable => "unreadable",
            Class::WillNotOpen => "will not open",
            Class::Hangs => "hangs",
        }
    }
}

/// The outcome of one image or kill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The worst class found.
    pub class: Class,
    /// Number of acknowledged transactions.
    pub acknowledged: u64,
    /// Acknowledged transactions that are gone; none if the store could not be read.
    pub lost: Option<u64>,
    /// How far back they reach, in milliseconds: from the latest acknowledgement to that of the earliest
    /// transaction that is gone; none if none is gone or the times are unknown.
    #[serde(default)]
    pub reach_ms: Option<u64>,
    /// The details, in words; empty if all is well.
    pub what: String,
}

/// The acknowledged transactions of each client, with the time at which the client received each
/// acknowledgement, by the machine's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Acknowledged {
    times: BTreeMap<i64, BTreeMap<i64, Nanos>>,
}

/// A time, a client and the number of a transaction.
type Timed = (Nanos, i64, i64);

impl Acknowledged {
    /// Adds acknowledgements in encoded form.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for acknowledged_at in acknowledgements(bytes) {
            let of_client = self.times.entry(acknowledged_at.client).or_default();
            of_client.insert(acknowledged_at.number, acknowledged_at.at);
        }
    }

    /// Number of acknowledged transactions.
    pub(super) fn total(&self) -> u64 {
        self.times.keys().map(|client| self.of(*client) as u64).sum()
    }

    /// Number of acknowledged transactions of a client.
    fn of(&self, client: i64) -> i64 {
        let last = self.times.get(&client).and_then(|of| of.last_key_value());
        last.map_or(0, |(number, _)| number + 1)
    }

    /// When a transaction was acknowledged.
    fn acknowledged_at(&self, client: i64, number: i64) -> Option<Nanos> {
        self.times.get(&client)?.get(&number).copied()
    }

    /// The missing transaction that was acknowledged first, and when.
    fn first_gone(&self, state_read: &StoreState) -> Option<Timed> {
        let gone = (0..).zip(&state_read.clients).filter_map(|(client, state)| {
            Some((self.acknowledged_at(client, state.commits)?, client, state.commits))
        });
        gone.min()
    }

    /// The present transaction that began last, and a time at which it had not begun yet.
    fn last_there(&self, state_read: &StoreState) -> Option<Timed> {
        let there = (0..).zip(&state_read.clients).filter_map(|(client, state)| {
            Some((self.acknowledged_at(client, state.commits - 2)?, client, state.commits - 1))
        });
        there.max()
    }

    /// How far back the missing transactions reach; see [`Outcome::reach_ms`].
    fn reach_ms(&self, state_read: &StoreState) -> Option<u64> {
        let (earliest, ..) = self.first_gone(state_read)?;
        let of_clients = self.times.values().filter_map(|of| of.values().next_back());
        Some((of_clients.max()? - earliest) / 1_000_000)
    }

    /// Why the rest is not a prefix of the commits, in words.
    fn out_of_order(&self, state_read: &StoreState) -> Option<String> {
        let (gone_at, gone_client, gone) = self.first_gone(state_read)?;
        let (began, client, number) = self.last_there(state_read)?;
        (began > gone_at).then(|| {
            format!(
                "transaction {gone} of client {gone_client} is gone, but transaction {number} of client \
                 {client}, which began after it was acknowledged, is there"
            )
        })
    }

    /// Compares the state that a child has read back with the acknowledgements.
    pub(super) fn judge(&self, found: RecoveryResult) -> Outcome {
        let most_severe_line = found.most_severe_line;
        let mut outcome = self.judge_answer(found.answer);
        if let (true, Some(line)) = (outcome.class != Class::Ok, most_severe_line) {
            outcome.what.push_str(&format!("; the store's log has \"{line}\""));
        }
        outcome
    }

    fn judge_answer(&self, answer: Result<Answer, ChildFailure>) -> Outcome {
        let bad = |class, what: String| Outcome {
            class,
            acknowledged: self.total(),
            lost: None,
            reach_ms: None,
            what,
        };
        let state_read = match answer {
            Ok(Answer::StoreState(state_read)) => state_read,
            Ok(Answer::NotOpened(why)) => return bad(Class::WillNotOpen, why),
            Ok(Answer::Unreadable(why)) => return bad(Class::Unreadable, why),
            Ok(Answer::Prepared(_) | Answer::Stopped(_) | Answer::Lists(_)) => {
                return bad(Class::WillNotOpen, "the child answered another task".to_owned());
            }
            Err(ChildFailure::Ended(how)) => return bad(Class::WillNotOpen, how),
            Err(ChildFailure::Hangs) => return bad(Class::Hangs, "no answer in time".to_owned()),
        };
        let counts = (0..).zip(&state_read.clients);
        let lost = counts.clone().map(|(client, state)| {
            let missing = self.of(client) - state.commits;
            missing.max(0) as u64
        });
        let lost = lost.sum::<u64>();
        let beyond =
            |(client, state): &(i64, &super::ClientState)| state.commits > self.of(*client) + 1;
        let mut found = Vec::new();
        if lost > 0 {
            found.push((
                Class::Lost,
                format!("{lost} of {} acknowledged transactions are gone", self.total()),
            ));
        }
        if let Some(what) = self.out_of_order(&state_read) {
            found.push((Class::OutOfOrder, what));
        }
        if let Some((client, state)) = counts.clone().find(beyond) {
            let (there, acknowledged) = (state.commits, self.of(client));
            let what = format!(
                "client {client} has {there} transactions, but {acknowledged} were acknowledged and one more requested"
            );
            found.push((Class::Phantom, what));
        }
        if let Some(torn) = counts.clone().find_map(|(_, state)| state.torn.first()) {
            found.push((Class::Torn, torn.clone()));
        }
        if let Some(damage) = state_read.damage.iter().flatten().next() {
            let what = format!("the store's own check reports: {damage}");
            found.push((Class::Unreadable, what));
        }
        let worst = found.iter().map(|(class, _)| *class).max();
        let what: Vec<_> = found.into_iter().map(|(_, what)| what).collect();
        Outcome {
            class: worst.unwrap_or(Class::Ok),
            acknowledged: self.total(),
            lost: Some(lost),
            reach_ms: self.reach_ms(&state_read),
            what: what.join("; "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Acknowledged, Class};
    use crate::durability::child_process::ChildFailure;
    use crate::durability::child_protocol::{Answer, ChildReport, StoreState};
    use crate::durability::test_store::RecoveryResult;
    use crate::durability::transaction_load::ClientState;

    fn judged(commits: [i64; 2], torn: &[&str], damage: &[&str]) -> (Class, Option<u64>) {
        let mut acknowledged_at = Acknowledged::default();
        let one =
            |client, number| ChildReport { client, number, at: 1_000_000 * (10 + number as u64) };
        for number in 0..5 {
            acknowledged_at.add(&one(0, number).bytes());
        }
        acknowledged_at.add(&one(1, 0).bytes()[..9]);
        let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let clients = commits.map(|commits| ClientState { commits, torn: own(torn) });
        let outcome =
            acknowledged_at.judge(RecoveryResult::of(Ok(Answer::StoreState(StoreState {
                clients: clients.into(),
                damage: Some(own(damage)),
            }))));
        assert_eq!(outcome.acknowledged, 5);
        // From the fifth, acknowledged last, back to the first that is gone.
        let reach = (commits[0] < 5).then(|| 4 - commits[0] as u64);
        assert_eq!(outcome.reach_ms, reach);
        (outcome.class, outcome.lost)
    }

    #[test]
    fn only_the_acknowledged_transactions_and_one_more_are_right() {
        assert_eq!(judged([5, 0], &[], &[]), (Class::Ok, Some(0)));
        assert_eq!(judged([6, 1], &[], &[]), (Class::Ok, Some(0)));
        assert_eq!(judged([3, 0], &[], &[]), (Class::Lost, Some(2)));
        assert_eq!(judged([7, 0], &[], &[]), (Class::Phantom, Some(0)));
        assert_eq!(judged([5, 2], &[], &[]), (Class::Phantom, Some(0)));
        assert_eq!(judged([4, 0], &["x"], &[]), (Class::Torn, Some(1)));
        assert_eq!(judged([5, 0], &[], &["x"]), (Class::Unreadable, Some(0)));
    }

    #[test]
    fn failures_to_answer_have_their_own_classes() {
        let judge = |answer| Acknowledged::default().judge(RecoveryResult::of(answer)).class;
        assert_eq!(judge(Err(ChildFailure::Hangs)), Class::Hangs);
        let ended = ChildFailure::Ended("signal 11".to_owned());
        assert_eq!(judge(Err(ended)), Class::WillNotOpen);
        let unreadable = Answer::Unreadable("checksum".to_owned());
        assert_eq!(judge(Ok(unreadable)), Class::Unreadable);
    }

    /// Two clients with three transactions each, acknowledged in turn: client 0 at 10, 30 and 50 ms, client 1
    /// at 20, 40 and 60 ms. Returns the outcome if `commits` transactions of each are there.
    fn in_turn(commits: [i64; 2]) -> (Class, String) {
        let mut acknowledged_at = Acknowledged::default();
        for (client, number) in (0..3).flat_map(|number| [(0, number), (1, number)]) {
            let at = 10_000_000 * (1 + client as u64 + 2 * number as u64);
            acknowledged_at.add(&ChildReport { client, number, at }.bytes());
        }
        let clients = commits.map(|commits| ClientState { commits, torn: Vec::new() });
        let outcome =
            acknowledged_at.judge(RecoveryResult::of(Ok(Answer::StoreState(StoreState {
                clients: clients.into(),
                damage: None,
            }))));
        (outcome.class, outcome.what)
    }

    #[test]
    fn a_rest_that_is_not_a_prefix_across_clients_is_out_of_order() {
        assert_eq!(in_turn([3, 3]).0, Class::Ok);
        // The latest are gone; of two in flight at once, either may be.
        for prefix in [[3, 2], [2, 2], [2, 1], [3, 1], [1, 2], [0, 0], [2, 3]] {
            assert_eq!(in_turn(prefix).0, Class::Lost, "{prefix:?}");
        }
        // Client 0's third began at 30 ms at the earliest; client 1's first was acknowledged at 20 ms.
        let (class, what) = in_turn([3, 0]);
        assert_eq!(class, Class::OutOfOrder, "{what}");
        assert!(
            what.contains("transaction 0 of client 1 is gone, but transaction 2 of client 0"),
            "{what}"
        );
        // A transaction in flight when the power was cut began after all acknowledgements of its client.
        assert_eq!(in_turn([4, 2]).0, Class::Lost);
        assert_eq!(in_turn([4, 1]).0, Class::OutOfOrder);
        assert_eq!(in_turn([1, 4]).0, Class::OutOfOrder);
    }

    #[test]
    fn the_stores_log_line_is_quoted_only_with_failures() {
        let log = Some("ERROR: page 0".to_owned());
        let judged = |answer| {
            let most_severe_line = log.clone();
            Acknowledged::default().judge(RecoveryResult { answer, most_severe_line }).what
        };
        let bad = judged(Ok(Answer::Unreadable("no".to_owned())));
        assert_eq!(bad, "no; the store's log has \"ERROR: page 0\"");
        let state_read = StoreState { clients: Vec::new(), damage: None };
        assert_eq!(judged(Ok(Answer::StoreState(state_read))), "");
    }
}
