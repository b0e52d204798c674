//! What became of what was acknowledged: one image or one kill, judged.
//!
//! Client `c` has acknowledged transactions 0 to a - 1, and may have had one more under way. What is
//! there is right if it holds at least a and at most a + 1 of them, each whole.
//!
//! A setting that may lose the latest still has to leave a prefix of what was committed, across all
//! clients: if a transaction was acknowledged before another began, the other is not there without it. A
//! client's next transaction begins when its last has been acknowledged, so the times of acknowledgements
//! say which began after which.

use super::child_process::ChildFailure;
use super::child_protocol::{Answer, Seen, acknowledgements};
use super::test_store::RecoveryResult;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use syncline_instrument::Nanos;

/// Classes of what may be found, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Everything acknowledged is there, whole, and nothing that was never asked for.
    Ok,
    /// More is there than was ever asked for.
    Phantom,
    /// Acknowledged transactions are gone.
    Lost,
    /// One is gone, and another that began after its acknowledgement is there: what is left is no prefix.
    OutOfOrder,
    /// A transaction is there in part.
    Torn,
    /// The store opens, and a read fails or its own check finds damage.
    Unreadable,
    /// The store does not open.
    WillNotOpen,
    /// The store opened or answered within no limit.
    Hangs,
}

impl Class {
    /// Every class.
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

    /// The words in reports.
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

/// What was found, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The worst that was found.
    pub class: Class,
    /// Transactions that had been acknowledged.
    pub acknowledged: u64,
    /// Those of them that are gone; none where the store could not be read.
    pub lost: Option<u64>,
    /// How far back these reach: from the latest acknowledgement to that of the earliest that is gone,
    /// in milliseconds; none where none is gone, or where that is not known.
    #[serde(default)]
    pub reach_ms: Option<u64>,
    /// What was found, in words; empty if all is well.
    pub what: String,
}

/// Which transactions of each client were acknowledged, and when each was heard, by the clock of the
/// machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Acknowledged {
    times: BTreeMap<i64, BTreeMap<i64, Nanos>>,
}

/// A transaction of a client, with a time.
type Timed = (Nanos, i64, i64);

impl Acknowledged {
    /// Takes in acknowledgements as they were written.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        for heard in acknowledgements(bytes) {
            let of_client = self.times.entry(heard.client).or_default();
            of_client.insert(heard.number, heard.at);
        }
    }

    /// All of them.
    pub(super) fn total(&self) -> u64 {
        self.times.keys().map(|client| self.of(*client) as u64).sum()
    }

    /// How many transactions a client was told to have committed.
    fn of(&self, client: i64) -> i64 {
        let last = self.times.get(&client).and_then(|of| of.last_key_value());
        last.map_or(0, |(number, _)| number + 1)
    }

    /// When a transaction was heard to have committed.
    fn heard(&self, client: i64, number: i64) -> Option<Nanos> {
        self.times.get(&client)?.get(&number).copied()
    }

    /// The transaction that was acknowledged first of those that are gone, and when.
    fn first_gone(&self, seen: &Seen) -> Option<Timed> {
        let gone = (0..).zip(&seen.clients).filter_map(|(client, state)| {
            Some((self.heard(client, state.commits)?, client, state.commits))
        });
        gone.min()
    }

    /// The transaction that began last of those that are there, and a moment at which it had not yet begun.
    fn last_there(&self, seen: &Seen) -> Option<Timed> {
        let there = (0..).zip(&seen.clients).filter_map(|(client, state)| {
            Some((self.heard(client, state.commits - 2)?, client, state.commits - 1))
        });
        there.max()
    }

    /// How far what is gone reaches back; see [`Outcome::reach_ms`].
    fn reach_ms(&self, seen: &Seen) -> Option<u64> {
        let (earliest, ..) = self.first_gone(seen)?;
        let of_clients = self.times.values().filter_map(|of| of.values().next_back());
        Some((of_clients.max()? - earliest) / 1_000_000)
    }

    /// Why what is left is no prefix of what was committed, in words.
    fn out_of_order(&self, seen: &Seen) -> Option<String> {
        let (gone_at, gone_client, gone) = self.first_gone(seen)?;
        let (began, client, number) = self.last_there(seen)?;
        (began > gone_at).then(|| {
            format!(
                "transaction {gone} of client {gone_client} is gone, and transaction {number} of client \
                 {client} is there, which began after that was acknowledged"
            )
        })
    }

    /// Holds what a child has seen against what was acknowledged.
    pub(super) fn judge(&self, found: RecoveryResult) -> Outcome {
        let gravest = found.gravest;
        let mut outcome = self.judge_answer(found.answer);
        if let (true, Some(line)) = (outcome.class != Class::Ok, gravest) {
            outcome.what.push_str(&format!("; the store's log says \"{line}\""));
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
        let seen = match answer {
            Ok(Answer::Seen(seen)) => seen,
            Ok(Answer::NotOpened(why)) => return bad(Class::WillNotOpen, why),
            Ok(Answer::Unreadable(why)) => return bad(Class::Unreadable, why),
            Ok(Answer::Prepared(_) | Answer::Stopped(_) | Answer::Lists(_)) => {
                return bad(Class::WillNotOpen, "another task was answered".to_owned());
            }
            Err(ChildFailure::Ended(how)) => return bad(Class::WillNotOpen, how),
            Err(ChildFailure::Hangs) => return bad(Class::Hangs, "no answer in time".to_owned()),
        };
        let counts = (0..).zip(&seen.clients);
        let lost = counts.clone().map(|(client, state)| {
            let missing = self.of(client) - state.commits;
            missing.max(0) as u64
        });
        let lost = lost.sum::<u64>();
        let beyond =
            |(client, state): &(i64, &super::ClientState)| state.commits > self.of(*client) + 1;
        let mut found = Vec::new();
        if lost > 0 {
            found.push((Class::Lost, format!("{lost} of {} acknowledged are gone", self.total())));
        }
        if let Some(what) = self.out_of_order(&seen) {
            found.push((Class::OutOfOrder, what));
        }
        if let Some((client, state)) = counts.clone().find(beyond) {
            let (there, acknowledged) = (state.commits, self.of(client));
            let what = format!(
                "client {client} has {there} where it had acknowledged {acknowledged} and asked for one more"
            );
            found.push((Class::Phantom, what));
        }
        if let Some(torn) = counts.clone().find_map(|(_, state)| state.torn.first()) {
            found.push((Class::Torn, torn.clone()));
        }
        if let Some(damage) = seen.damage.iter().flatten().next() {
            let what = format!("the store's own check says: {damage}");
            found.push((Class::Unreadable, what));
        }
        let worst = found.iter().map(|(class, _)| *class).max();
        let what: Vec<_> = found.into_iter().map(|(_, what)| what).collect();
        Outcome {
            class: worst.unwrap_or(Class::Ok),
            acknowledged: self.total(),
            lost: Some(lost),
            reach_ms: self.reach_ms(&seen),
            what: what.join("; "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Acknowledged, Class};
    use crate::durability::child_process::ChildFailure;
    use crate::durability::child_protocol::{Answer, ChildReport, Seen};
    use crate::durability::test_store::RecoveryResult;
    use crate::durability::transaction_load::ClientState;

    fn judged(commits: [i64; 2], torn: &[&str], damage: &[&str]) -> (Class, Option<u64>) {
        let mut heard = Acknowledged::default();
        let one =
            |client, number| ChildReport { client, number, at: 1_000_000 * (10 + number as u64) };
        for number in 0..5 {
            heard.hear(&one(0, number).bytes());
        }
        heard.hear(&one(1, 0).bytes()[..9]);
        let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let clients = commits.map(|commits| ClientState { commits, torn: own(torn) });
        let outcome = heard.judge(RecoveryResult::of(Ok(Answer::Seen(Seen {
            clients: clients.into(),
            damage: Some(own(damage)),
        }))));
        assert_eq!(outcome.acknowledged, 5);
        // From the fifth, heard last, back to the first that is gone.
        let reach = (commits[0] < 5).then(|| 4 - commits[0] as u64);
        assert_eq!(outcome.reach_ms, reach);
        (outcome.class, outcome.lost)
    }

    #[test]
    fn what_was_acknowledged_and_one_more_are_right_and_nothing_else_is() {
        assert_eq!(judged([5, 0], &[], &[]), (Class::Ok, Some(0)));
        assert_eq!(judged([6, 1], &[], &[]), (Class::Ok, Some(0)));
        assert_eq!(judged([3, 0], &[], &[]), (Class::Lost, Some(2)));
        assert_eq!(judged([7, 0], &[], &[]), (Class::Phantom, Some(0)));
        assert_eq!(judged([5, 2], &[], &[]), (Class::Phantom, Some(0)));
        assert_eq!(judged([4, 0], &["x"], &[]), (Class::Torn, Some(1)));
        assert_eq!(judged([5, 0], &[], &["x"]), (Class::Unreadable, Some(0)));
    }

    #[test]
    fn a_store_that_does_not_answer_is_told_apart_from_one_that_lost() {
        let judge = |answer| Acknowledged::default().judge(RecoveryResult::of(answer)).class;
        assert_eq!(judge(Err(ChildFailure::Hangs)), Class::Hangs);
        let ended = ChildFailure::Ended("signal 11".to_owned());
        assert_eq!(judge(Err(ended)), Class::WillNotOpen);
        let unreadable = Answer::Unreadable("checksum".to_owned());
        assert_eq!(judge(Ok(unreadable)), Class::Unreadable);
    }

    /// Two clients of three transactions each, acknowledged in turn: client 0 at 10, 30 and 50 ms, client 1
    /// at 20, 40 and 60 ms. What is found where so many of each are there.
    fn in_turn(commits: [i64; 2]) -> (Class, String) {
        let mut heard = Acknowledged::default();
        for (client, number) in (0..3).flat_map(|number| [(0, number), (1, number)]) {
            let at = 10_000_000 * (1 + client as u64 + 2 * number as u64);
            heard.hear(&ChildReport { client, number, at }.bytes());
        }
        let clients = commits.map(|commits| ClientState { commits, torn: Vec::new() });
        let outcome = heard.judge(RecoveryResult::of(Ok(Answer::Seen(Seen {
            clients: clients.into(),
            damage: None,
        }))));
        (outcome.class, outcome.what)
    }

    #[test]
    fn what_is_left_is_a_prefix_across_clients_or_out_of_order() {
        assert_eq!(in_turn([3, 3]).0, Class::Ok);
        // The latest are gone, whichever of two that were under way at once.
        for prefix in [[3, 2], [2, 2], [2, 1], [3, 1], [1, 2], [0, 0], [2, 3]] {
            assert_eq!(in_turn(prefix).0, Class::Lost, "{prefix:?}");
        }
        // Client 0's third began at 30 ms at the earliest; client 1's first had been heard at 20 ms.
        let (class, what) = in_turn([3, 0]);
        assert_eq!(class, Class::OutOfOrder, "{what}");
        assert!(
            what.contains(
                "transaction 0 of client 1 is gone, and transaction 2 of client 0 is there"
            ),
            "{what}"
        );
        // One under way when the power went began after all that its client had heard.
        assert_eq!(in_turn([4, 2]).0, Class::Lost);
        assert_eq!(in_turn([4, 1]).0, Class::OutOfOrder);
        assert_eq!(in_turn([1, 4]).0, Class::OutOfOrder);
    }

    #[test]
    fn what_the_store_logged_stands_beside_what_is_wrong_and_nowhere_else() {
        let log = Some("ERROR: page 0".to_owned());
        let judged = |answer| {
            let gravest = log.clone();
            Acknowledged::default().judge(RecoveryResult { answer, gravest }).what
        };
        let bad = judged(Ok(Answer::Unreadable("no".to_owned())));
        assert_eq!(bad, "no; the store's log says \"ERROR: page 0\"");
        let seen = Seen { clients: Vec::new(), damage: None };
        assert_eq!(judged(Ok(Answer::Seen(seen))), "");
    }
}
