//! What became of what was acknowledged: one image or one kill, judged.
//!
//! Client `c` has acknowledged transactions 0 to a - 1, and may have had one more under way. What is
//! there is right if it holds at least a and at most a + 1 of them, each whole.

use super::program::Silence;
use super::task::{Answer, Seen, acknowledgements};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use syncline_metering::Nanos;

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
    pub const ALL: [Class; 7] = [
        Class::Ok,
        Class::Phantom,
        Class::Lost,
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

/// How many transactions of each client were acknowledged, from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Acknowledged {
    counts: BTreeMap<i64, i64>,
    /// When each was heard; not known of a case that was kept.
    #[serde(skip)]
    times: BTreeMap<(i64, i64), Nanos>,
}

impl Acknowledged {
    /// Takes in acknowledgements as they were written.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        for heard in acknowledgements(bytes) {
            let count = self.counts.entry(heard.client).or_default();
            *count = (*count).max(heard.number + 1);
            self.times.insert((heard.client, heard.number), heard.at);
        }
    }

    /// All of them.
    pub(super) fn total(&self) -> u64 {
        self.counts.values().map(|count| *count as u64).sum()
    }

    fn of(&self, client: usize) -> i64 {
        self.counts.get(&(client as i64)).copied().unwrap_or(0)
    }

    /// How far what is gone reaches back; see [`Outcome::reach_ms`].
    fn reach_ms(&self, seen: &Seen) -> Option<u64> {
        let gone = seen
            .clients
            .iter()
            .enumerate()
            .filter_map(|(client, state)| {
                let is_gone = self.of(client) > state.commits;
                let first = (client as i64, state.commits);
                is_gone.then(|| self.times.get(&first).copied()).flatten()
            });
        let (earliest, latest) = (gone.min()?, self.times.values().max()?);
        Some((latest - earliest) / 1_000_000)
    }

    /// Holds what a child has seen against what was acknowledged.
    pub(super) fn judge(&self, answer: Result<Answer, Silence>) -> Outcome {
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
            Err(Silence::Ended(how)) => return bad(Class::WillNotOpen, how),
            Err(Silence::Hangs) => return bad(Class::Hangs, "no answer in time".to_owned()),
        };
        let counts = seen.clients.iter().enumerate();
        let lost = counts.clone().map(|(client, state)| {
            let missing = self.of(client) - state.commits;
            missing.max(0) as u64
        });
        let lost = lost.sum::<u64>();
        let beyond =
            |(client, state): &(usize, &super::ClientState)| state.commits > self.of(*client) + 1;
        let mut found = Vec::new();
        if lost > 0 {
            found.push((
                Class::Lost,
                format!("{lost} of {} acknowledged are gone", self.total()),
            ));
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
    use crate::durability::program::Silence;
    use crate::durability::task::{Answer, Heard, Seen};
    use crate::durability::work::ClientState;

    fn judged(commits: [i64; 2], torn: &[&str], damage: &[&str]) -> (Class, Option<u64>) {
        let mut heard = Acknowledged::default();
        let one = |client, number| Heard {
            client,
            number,
            at: 1_000_000 * (10 + number as u64),
        };
        for number in 0..5 {
            heard.hear(&one(0, number).bytes());
        }
        heard.hear(&one(1, 0).bytes()[..9]);
        let own = |list: &[&str]| {
            list.iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        let clients = commits.map(|commits| ClientState {
            commits,
            torn: own(torn),
        });
        let outcome = heard.judge(Ok(Answer::Seen(Seen {
            clients: clients.into(),
            damage: Some(own(damage)),
        })));
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
        let judge = |answer| Acknowledged::default().judge(answer).class;
        assert_eq!(judge(Err(Silence::Hangs)), Class::Hangs);
        let ended = Silence::Ended("signal 11".to_owned());
        assert_eq!(judge(Err(ended)), Class::WillNotOpen);
        let unreadable = Answer::Unreadable("checksum".to_owned());
        assert_eq!(judge(Ok(unreadable)), Class::Unreadable);
    }
}
