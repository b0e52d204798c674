//! The results of histories that continue after a crash and end with a read of every list.
//!
//! An acknowledged append that is in no list after the crash is lost. Losses are counted separately, because
//! a store that forgets all of its latest transactions shows no anomaly. If the level permits lost updates,
//! an append that another may have overwritten does not count.
//!
//! Only the latest appends may be lost: if one transaction was acknowledged before another began, the other
//! must not be there without it. Otherwise the rest is out of order, which even a setting that may lose the
//! latest does not excuse.

use crate::isolation::{
    Finding, History, Kind, Operation, Order, Transaction, TransactionStatus, VALUES_MAX, known,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use syncline_contract::Isolation;

/// The client of the last session; replacements of clients with unknown endings have lower numbers.
const LAST: i64 = 1 << 48;

/// The results after all crashes of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveredHistory {
    /// Number of crashes.
    pub crashes: u64,
    /// Transactions committed before the crashes, summed over all histories; one recording has many cuts.
    pub committed: u64,
    /// Transactions with an unknown ending.
    pub unknown: u64,
    /// Crashes after which the store could not be opened or read.
    pub unreadable: u64,
    /// Crashes after which acknowledged appends were gone.
    pub lost: u64,
    /// The most appends lost in one crash.
    pub lost_max: u64,
    /// Crashes after which an append was gone although one that began after its acknowledgement was there.
    #[serde(default)]
    pub out_of_order: u64,
    /// Anomalies that the level forbids, with the number of crashes that showed them.
    pub forbidden: BTreeMap<String, u64>,
    /// The first failure, in words.
    pub example: Option<String>,
    /// Crashes with a failure that has no known cause.
    #[serde(default)]
    pub unexplained: u64,
    /// Known causes of the failures seen, and what to do.
    #[serde(default)]
    pub known: BTreeSet<String>,
}

impl RecoveredHistory {
    /// True for failures that no durability level excuses.
    pub fn is_broken(&self) -> bool {
        self.unreadable > 0 || self.out_of_order > 0 || !self.forbidden.is_empty()
    }

    /// Adds the results of a history that continues after a crash.
    pub(super) fn judge(&mut self, product: &str, claimed: Isolation, history: &History) {
        let lost = lost(history, claimed);
        if !lost.is_empty() {
            self.lost += 1;
            self.lost_max = self.lost_max.max(lost.len() as u64);
        }
        let out_of_order = out_of_order(history, &lost);
        self.out_of_order += u64::from(out_of_order.is_some());
        let found = Finding::of("", product, claimed, history);
        let is_known = |anomaly| known(product, anomaly).is_some();
        let is_explained = found.forbidden.iter().all(is_known) && out_of_order.is_none();
        self.unexplained += u64::from(!is_explained);
        self.known.extend(found.known);
        for anomaly in &found.forbidden {
            let kind = anomaly.kind.words().to_owned();
            *self.forbidden.entry(kind).or_default() += 1;
        }
        let wrong = found.forbidden.first();
        if let Some(anomaly) = wrong {
            let words = format!("{}: {}", anomaly.kind.words(), anomaly.example.join("; "));
            self.example.get_or_insert(words);
        } else if let Some(words) = out_of_order {
            self.example.get_or_insert(words);
        } else if let Some(gone) = lost.first() {
            self.example.get_or_insert(gone.words());
        }
    }
}

impl RecoveredHistory {
    /// The results in one sentence.
    pub(super) fn words(&self, kind: &str) -> String {
        let lost = match self.lost {
            0 => "no acknowledged append gone".to_owned(),
            lost => {
                format!("acknowledged appends gone after {lost}, at most {} at once", self.lost_max)
            }
        };
        let out_of_order = match self.out_of_order {
            0 => String::new(),
            some => format!(", out of order after {some}"),
        };
        let unreadable = match self.unreadable {
            0 => String::new(),
            some => format!(", not openable or readable after {some}"),
        };
        let anomalies = self.forbidden.iter();
        let anomalies: Vec<_> =
            anomalies.map(|(kind, count)| format!("{kind} after {count}")).collect();
        let anomalies = match &*anomalies.join(", ") {
            "" => "no forbidden anomaly".to_owned(),
            some => some.to_owned(),
        };
        let example = self.example.as_ref();
        let example = example.map(|what| format!(" For example: {what}."));
        format!(
            "After {} {kind}, every list was read in a last session of each history ({} transactions committed \
             and {} unknown in all histories): {anomalies}, {lost}{out_of_order}{unreadable}.{}",
            self.crashes,
            self.committed,
            self.unknown,
            example.unwrap_or_default()
        )
    }
}

/// One more than the largest key that was appended to.
pub(super) fn keys(history: &History) -> i64 {
    let appended = appends(history).map(|one| one.key).max();
    assert!(appended.is_none_or(|key| key < i64::MAX / VALUES_MAX), "keys follow values");
    appended.map_or(0, |key| key + 1)
}

/// An append and its transaction.
#[derive(Clone, Copy, Debug)]
struct Append<'h> {
    key: i64,
    value: i64,
    by: &'h Transaction,
}

impl Append<'_> {
    fn words(&self) -> String {
        let (value, key) = (self.value, self.key);
        format!("{value} was appended to key {key}, acknowledged, and is gone")
    }
}

fn appends(history: &History) -> impl Iterator<Item = Append<'_>> {
    history.transactions.iter().flat_map(|by| {
        by.operations.iter().filter_map(move |operation| match operation {
            Operation::Append { key, value } => Some(Append { key: *key, value: *value, by }),
            Operation::Read { .. } => None,
        })
    })
}

/// Appends the last session to the history: all lists, by key, read in one transaction.
pub(super) fn end_with(history: &mut History, lists: Vec<Vec<i64>>) {
    let events = history.transactions.iter();
    let last = events.map(|one| one.invoked.max(one.completed.unwrap_or(0)));
    let now = last.max().map_or(0, |last| last + 1);
    let reads = (0..).zip(lists).map(|(key, values)| Operation::Read { key, values: Some(values) });
    history.transactions.push(Transaction {
        process: LAST,
        invoked: now,
        completed: Some(now + 1),
        ending: TransactionStatus::Committed,
        operations: reads.collect(),
    });
}

/// The lists that the last session read, by key.
fn last_lists(history: &History) -> BTreeMap<i64, &[i64]> {
    let last = history.transactions.last();
    let reads = last.iter().flat_map(|last| &last.operations);
    let lists = reads.filter_map(|one| match one {
        Operation::Read { key, values: Some(values) } => Some((*key, &**values)),
        _ => None,
    });
    lists.collect()
}

/// Committed appends that the last session did not read. If the level permits lost updates, only those that
/// cannot have been overwritten: the writer of the final list had ended before they were requested.
fn lost(history: &History, claimed: Isolation) -> Vec<Append<'_>> {
    let lists = last_lists(history);
    let there: BTreeSet<(i64, i64)> =
        lists.iter().flat_map(|(key, values)| values.iter().map(|value| (*key, *value))).collect();
    let newest = |key| lists.get(&key).and_then(|values| values.last().copied());
    let newest_ends: BTreeMap<i64, Option<usize>> = appends(history)
        .filter(|one| newest(one.key) == Some(one.value))
        .map(|one| (one.key, one.by.completed))
        .collect();
    let may_be_overwritten = !Kind::LostUpdate.is_forbidden(claimed, Order::Plain);
    let is_overwritten = |one: &Append<'_>| {
        let end = newest_ends.get(&one.key);
        may_be_overwritten && end.is_some_and(|end| end.is_none_or(|end| one.by.invoked < end))
    };
    appends(history)
        .filter(|one| one.by.ending == TransactionStatus::Committed)
        .filter(|one| !there.contains(&(one.key, one.value)) && !is_overwritten(one))
        .collect()
}

/// Why the rest is not a prefix of the commits, in words.
fn out_of_order(history: &History, lost: &[Append<'_>]) -> Option<String> {
    let gone = lost.iter().min_by_key(|one| one.by.completed)?;
    let lists = last_lists(history);
    let there = appends(history).filter(|one| {
        let list = lists.get(&one.key);
        list.is_some_and(|values| values.contains(&one.value))
    });
    let newest = there.max_by_key(|one| one.by.invoked)?;
    (Some(newest.by.invoked) > gone.by.completed).then(|| {
        format!(
            "{}, but {}, requested after that acknowledgement, is in key {}",
            gone.words(),
            newest.value,
            newest.key
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{RecoveredHistory, end_with, keys, lost, out_of_order};
    use crate::isolation::{History, elle};
    use syncline_contract::Isolation;

    /// Client 0 appends 1 to keys 0 and 1, acknowledged; client 1 appends 2 to both, without an answer.
    const TEXT: &str = r#"{"type":"invoke","process":0,"f":"txn","value":[["append",0,1],["append",1,1]]}
{"type":"ok","process":0,"f":"txn","value":[["r",0,[]],["append",0,1],["r",1,[]],["append",1,1]]}
{"type":"invoke","process":1,"f":"txn","value":[["append",0,2],["append",1,2]]}
"#;

    fn results(lists: [&[i64]; 2]) -> (RecoveredHistory, History) {
        let mut history = elle::read(TEXT.as_bytes()).unwrap();
        assert_eq!(keys(&history), 2);
        end_with(&mut history, lists.map(<[i64]>::to_vec).into());
        let mut results = RecoveredHistory::default();
        results.judge("", Isolation::Serializable, &history);
        (results, history)
    }

    #[test]
    fn unknown_appends_are_there_whole_or_not_at_all() {
        for lists in [[&[1][..], &[1][..]], [&[1, 2], &[1, 2]]] {
            let (results, _) = results(lists);
            assert!(!results.is_broken() && results.lost == 0, "{results:?}");
        }
        let (halves, _) = results([&[1, 2], &[1]]);
        assert!(halves.is_broken(), "{halves:?}");
        assert_eq!(halves.lost, 0);
    }

    /// Client 1 sees client 0's append before client 0 gets its answer, and does not see that of client 2.
    const SKEW: &str = r#"{"type":"invoke","process":2,"f":"txn","value":[["append",0,1]]}
{"type":"invoke","process":0,"f":"txn","value":[["append",1,2]]}
{"type":"invoke","process":1,"f":"txn","value":[["append",2,3]]}
{"type":"ok","process":2,"f":"txn","value":[["r",1,[]],["r",0,[]],["append",0,1]]}
{"type":"ok","process":0,"f":"txn","value":[["r",1,[]],["append",1,2]]}
{"type":"ok","process":1,"f":"txn","value":[["r",1,[2]],["r",0,[]],["r",2,[]],["append",2,3]]}
"#;

    #[test]
    fn a_known_cause_explains_a_failure_without_excusing_it() {
        let results = |product, lists: [&[i64]; 3]| {
            let mut history = elle::read(SKEW.as_bytes()).unwrap();
            end_with(&mut history, lists.map(<[i64]>::to_vec).into());
            let mut results = RecoveredHistory::default();
            results.judge(product, Isolation::Serializable, &history);
            assert!(results.is_broken(), "{results:?}");
            (results.unexplained, results.known.len(), results.lost)
        };
        let whole: [&[i64]; 3] = [&[1], &[2], &[3]];
        assert_eq!(results("PostgreSQL", whole), (0, 1, 0));
        assert_eq!(results("SQLite", whole), (1, 0, 0));
        // A known cause does not hide a lost append.
        assert_eq!(results("PostgreSQL", [&[1], &[2], &[]]).2, 1);
    }

    #[test]
    fn lost_appends_are_counted_and_half_a_transaction_is_an_anomaly() {
        let (gone, history) = results([&[], &[]]);
        let found = lost(&history, Isolation::Serializable);
        let found: Vec<_> = found.iter().map(|one| (one.key, one.value)).collect();
        assert_eq!(found, [(0, 1), (1, 1)]);
        assert_eq!((gone.lost, gone.lost_max, gone.is_broken()), (1, 2, false));
        let words = gone.example.unwrap();
        assert!(words.contains("1 was appended to key 0, acknowledged"), "{words}");
        let (half, _) = results([&[1], &[]]);
        assert_eq!(half.lost, 1);
        assert!(half.is_broken(), "{half:?}");
    }

    /// Client 0 appends 1 to key 0 and gets its answer; then client 1 appends 2 to key 1.
    const IN_TURN: &str = r#"{"type":"invoke","process":0,"f":"txn","value":[["append",0,1]]}
{"type":"ok","process":0,"f":"txn","value":[["r",0,[]],["append",0,1]]}
{"type":"invoke","process":1,"f":"txn","value":[["append",1,2]]}
{"type":"ok","process":1,"f":"txn","value":[["r",1,[]],["append",1,2]]}
"#;

    #[test]
    fn only_the_latest_appends_may_be_lost() {
        let results = |lists: [&[i64]; 2]| {
            let mut history = elle::read(IN_TURN.as_bytes()).unwrap();
            end_with(&mut history, lists.map(<[i64]>::to_vec).into());
            let mut results = RecoveredHistory::default();
            results.judge("", Isolation::Serializable, &history);
            results
        };
        let latest = results([&[1], &[]]);
        assert_eq!((latest.lost, latest.out_of_order), (1, 0), "{latest:?}");
        assert!(!latest.is_broken());
        let gap = results([&[], &[2]]);
        assert_eq!((gap.lost, gap.out_of_order), (1, 1), "{gap:?}");
        assert!(gap.is_broken());
        let words = gap.example.unwrap();
        assert!(words.contains("2, requested after that acknowledgement, is in key 1"), "{words}");
    }

    /// Two clients read key 0 as empty and both append; the second's list replaces the first's. A third
    /// append follows.
    const OVERWRITTEN: &str = r#"{"type":"invoke","process":0,"f":"txn","value":[["append",0,1]]}
{"type":"invoke","process":1,"f":"txn","value":[["append",0,2]]}
{"type":"ok","process":0,"f":"txn","value":[["r",0,[]],["append",0,1]]}
{"type":"ok","process":1,"f":"txn","value":[["r",0,[]],["append",0,2]]}
{"type":"invoke","process":0,"f":"txn","value":[["append",0,3]]}
{"type":"ok","process":0,"f":"txn","value":[["r",0,[2]],["append",0,3]]}
"#;

    #[test]
    fn with_lost_updates_an_overwritten_append_does_not_count_as_lost() {
        let found = |list: &[i64], claimed| {
            let mut history = elle::read(OVERWRITTEN.as_bytes()).unwrap();
            end_with(&mut history, vec![list.to_vec()]);
            let gone = lost(&history, claimed);
            let values: Vec<_> = gone.iter().map(|one| one.value).collect();
            (values, out_of_order(&history, &gone).is_some())
        };
        let weak = Isolation::ReadCommitted;
        assert_eq!(found(&[2, 3], weak), (vec![], false));
        assert_eq!(found(&[2], weak), (vec![3], false));
        assert_eq!(found(&[], weak), (vec![1, 2, 3], false));
        let (gone, _) = found(&[2, 3], Isolation::Snapshot);
        assert_eq!(gone, [1]);
    }
}
