//! The order of each key's values, derived from reads; and the anomalies of single reads.

use crate::anomaly::Kind;
use crate::history::{History, Operation, Transaction, TransactionStatus};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// An anomaly of a single read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadAnomaly {
    pub(crate) kind: Kind,
    pub(crate) what: String,
}

/// The transaction that appended a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer {
    pub(crate) transaction: usize,
    /// True if this is the last value that the transaction appended to the key.
    is_last: bool,
}

/// The versions of all keys.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    pub(crate) writers: HashMap<(i64, i64), Writer>,
    /// The longest list that was read of each key.
    pub(crate) orders: BTreeMap<i64, Vec<i64>>,
    /// Values that were appended, or may have been, and are in no such list.
    unread: BTreeMap<i64, Vec<i64>>,
    read: HashSet<(i64, i64)>,
    /// The number of leading values of such a list that are sound. A read of no more than these need not be
    /// checked value by value.
    sound: BTreeMap<i64, usize>,
    /// Keys whose order of appends is unknown.
    forked: HashSet<i64>,
    pub(crate) wrong: Vec<ReadAnomaly>,
}

/// A version of a key: the key, the number of values, and the last value.
type Version = (i64, usize, Option<i64>);

impl Versions {
    pub(crate) fn of(history: &History) -> Versions {
        let mut versions = Versions::default();
        for (number, transaction) in history.transactions.iter().enumerate() {
            versions.writers_of(number, transaction);
        }
        for transaction in committed(history) {
            versions.longest_of(transaction);
        }
        let orders = versions.orders.iter();
        versions.read =
            orders.flat_map(|(key, values)| values.iter().map(|value| (*key, *value))).collect();
        for transaction in &history.transactions {
            if transaction.ending != TransactionStatus::Failed {
                versions.unread_of(transaction);
            }
        }
        let orders = versions.orders.iter();
        versions.sound = orders
            .map(|(key, values)| (*key, versions.sound_values(history, *key, values)))
            .collect();
        for (number, transaction) in history.transactions.iter().enumerate() {
            if transaction.ending == TransactionStatus::Committed {
                versions.reads_of(history, number, transaction);
                versions.internal(number, transaction);
            }
        }
        versions.overwritten(history);
        versions
    }

    /// True if the order of a key's versions is known, and so which append followed which.
    pub(crate) fn has_order(&self, key: i64) -> bool {
        !self.forked.contains(&key)
    }

    /// If several transactions appended to the same version, a value that was never read was overwritten, and
    /// its order relative to the others is unknown.
    fn overwritten(&mut self, history: &History) {
        for ((key, ..), by) in replaced(history) {
            let is_gone = |number: &usize| {
                let mut operations = history.transactions[*number].operations.iter();
                operations.any(|one| match one {
                    Operation::Append { key: of, value } => {
                        *of == key && !self.read.contains(&(key, *value))
                    }
                    Operation::Read { .. } => false,
                })
            };
            if by.len() > 1 && by.iter().any(is_gone) {
                self.forked.insert(key);
            }
        }
    }

    /// Values of a key that come after all that were read.
    pub(crate) fn unread_behind(&self, key: i64) -> &[i64] {
        self.unread.get(&key).map_or(&[][..], Vec::as_slice)
    }

    fn writers_of(&mut self, number: usize, transaction: &Transaction) {
        let mut last: HashMap<i64, i64> = HashMap::new();
        for operation in &transaction.operations {
            let Operation::Append { key, value } = operation else {
                continue;
            };
            if let Some(before) = last.insert(*key, *value)
                && let Some(writer) = self.writers.get_mut(&(*key, before))
            {
                writer.is_last = false;
            }
            let writer = Writer { transaction: number, is_last: true };
            self.writers.insert((*key, *value), writer);
        }
    }

    fn longest_of(&mut self, transaction: &Transaction) {
        for (key, values) in reads(transaction) {
            let known = self.orders.entry(key).or_default();
            if values.len() > known.len() {
                values.clone_into(known);
            }
        }
    }

    /// Values that were never read come after those that were, in an unknown order.
    fn unread_of(&mut self, transaction: &Transaction) {
        for operation in &transaction.operations {
            if let Operation::Append { key, value } = operation
                && !self.read.contains(&(*key, *value))
            {
                self.orders.entry(*key).or_default();
                self.unread.entry(*key).or_default().push(*value);
            }
        }
    }

    fn reads_of(&mut self, history: &History, number: usize, transaction: &Transaction) {
        let mut wrong = Vec::new();
        for (key, values) in reads(transaction) {
            let fits = self.orders[&key].starts_with(values);
            if !fits {
                self.forked.insert(key);
                wrong.push(ReadAnomaly {
                    kind: Kind::IncompatibleOrder,
                    what: format!(
                        "T{number} read {values:?} of key {key}, and another read {:?}: no single order of \
                         appends explains both",
                        self.orders[&key]
                    ),
                });
            }
            if !fits || values.len() > self.sound[&key] {
                wrong.extend(self.values_of(history, number, key, values));
            }
            let newest = values.last().and_then(|value| self.writers.get(&(key, *value)));
            if let Some(writer) = newest
                && !writer.is_last
                && writer.transaction != number
            {
                let what = format!(
                    "T{number} read an intermediate value of key {key} that T{} had written",
                    writer.transaction
                );
                wrong.push(ReadAnomaly { kind: Kind::G1b, what });
            }
        }
        self.wrong.extend(wrong);
    }

    /// The number of leading values of a list that appear once and were appended by a transaction that did
    /// not fail.
    fn sound_values(&self, history: &History, key: i64, values: &[i64]) -> usize {
        let mut distinct = HashSet::new();
        let is_sound = |value: &&i64| {
            let writer = self.writers.get(&(key, **value));
            let ending = writer.map(|writer| history.transactions[writer.transaction].ending);
            distinct.insert(**value)
                && ending.is_some_and(|ending| ending != TransactionStatus::Failed)
        };
        values.iter().take_while(is_sound).count()
    }

    /// The anomalies of single values in a list that was read.
    fn values_of(
        &self,
        history: &History,
        number: usize,
        key: i64,
        values: &[i64],
    ) -> Vec<ReadAnomaly> {
        let (mut wrong, mut distinct) = (Vec::new(), HashSet::new());
        let mut report = |kind, what| wrong.push(ReadAnomaly { kind, what });
        for value in values {
            if !distinct.insert(value) {
                let what = format!("T{number} read {values:?} of key {key}, with {value} twice");
                report(Kind::Repeated, what);
            }
            let Some(writer) = self.writers.get(&(key, *value)) else {
                let what = format!(
                    "T{number} read {value} in key {key}, which no transaction had appended"
                );
                report(Kind::Unasked, what);
                continue;
            };
            if history.transactions[writer.transaction].ending == TransactionStatus::Failed {
                let what = format!(
                    "T{number} read {value} in key {key}, which T{} had appended and rolled back",
                    writer.transaction
                );
                report(Kind::G1a, what);
            }
        }
        wrong
    }

    /// Compares each read with what the transaction itself knows: its last read, and its appends since.
    fn internal(&mut self, number: usize, transaction: &Transaction) {
        let mut known: HashMap<i64, (Option<Vec<i64>>, Vec<i64>)> = HashMap::new();
        for operation in &transaction.operations {
            match operation {
                Operation::Append { key, value } => {
                    known.entry(*key).or_default().1.push(*value);
                }
                Operation::Read { key, values: Some(values) } => {
                    let (read, appended) = known.entry(*key).or_default();
                    let fits = match read {
                        Some(read) => {
                            values.starts_with(read) && values[read.len()..] == **appended
                        }
                        None => values.ends_with(appended),
                    };
                    if !fits {
                        let before = read
                            .as_ref()
                            .map_or(String::new(), |read| format!("its own read of {read:?} and "));
                        let what = format!(
                            "T{number} read {values:?} of key {key} after {before}its own appends of \
                             {appended:?}"
                        );
                        self.wrong.push(ReadAnomaly { kind: Kind::Internal, what });
                    }
                    *read = Some(values.clone());
                    appended.clear();
                }
                Operation::Read { values: None, .. } => {}
            }
        }
    }
}

/// Committed transactions that had read a version and appended to its key, by version.
pub(crate) fn replaced(history: &History) -> BTreeMap<Version, Vec<usize>> {
    let mut replaced: BTreeMap<Version, Vec<usize>> = BTreeMap::new();
    for (number, transaction) in history.transactions.iter().enumerate() {
        if transaction.ending != TransactionStatus::Committed {
            continue;
        }
        let operations = transaction.operations.iter();
        let appended: BTreeSet<i64> = operations
            .filter_map(|one| match one {
                Operation::Append { key, .. } => Some(*key),
                Operation::Read { .. } => None,
            })
            .collect();
        for (key, values) in external_reads(transaction) {
            if appended.contains(&key) {
                let version = (key, values.len(), values.last().copied());
                let by = replaced.entry(version).or_default();
                if by.last() != Some(&number) {
                    by.push(number);
                }
            }
        }
    }
    replaced
}

/// The committed transactions.
fn committed(history: &History) -> impl Iterator<Item = &Transaction> {
    let all = history.transactions.iter();
    all.filter(|transaction| transaction.ending == TransactionStatus::Committed)
}

/// The lists that a transaction read, without the values that it had appended itself: the state that others
/// had left. A read that lacks its own values is internally inconsistent and is skipped.
pub(crate) fn external_reads(transaction: &Transaction) -> Vec<(i64, &[i64])> {
    let mut own: HashMap<i64, Vec<i64>> = HashMap::new();
    let mut reads_of_others = Vec::new();
    for operation in &transaction.operations {
        match operation {
            Operation::Append { key, value } => own.entry(*key).or_default().push(*value),
            Operation::Read { key, values: Some(values) } => {
                let own = own.get(key).map_or(&[][..], Vec::as_slice);
                reads_of_others.extend(values.strip_suffix(own).map(|values| (*key, values)));
            }
            Operation::Read { values: None, .. } => {}
        }
    }
    reads_of_others
}

fn reads(transaction: &Transaction) -> impl Iterator<Item = (i64, &[i64])> {
    transaction.operations.iter().filter_map(|one| match one {
        Operation::Read { key, values: Some(values) } => Some((*key, &**values)),
        _ => None,
    })
}
