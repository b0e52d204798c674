//! The check: makes every transaction again and compares what it may have left with the table; which
//! words those are, and which keys are compared, stands in `mod.rs`.

use super::operations::{KEY_BYTES_MAX, Key, Operations, Origin, TransactionSize};
use super::schema::{ConcurrentTx, PAGE_ROWS};
use super::transactions::Tally;
use crate::check_reader::CheckReader;
use crate::distributions::mixed;
use crate::violations::Violations;
use std::collections::{BTreeMap, HashMap};
use syncline_contract::{Check, Ending, Session, Stop};

const VALUES: &str =
    "every row holds what a transaction that was not undone put last under its key";
const PRESENT: &str = "no acknowledged put is missing that nobody may have removed";

/// Operations that are remembered at most, about.
const REMEMBERED_MAX: u64 = 4_000_000;

/// The names of the checks.
pub(super) fn names() -> [&'static str; 2] {
    [VALUES, PRESENT]
}

/// Runs both.
pub(super) async fn check<S: Session>(
    of: &ConcurrentTx,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut found = CheckState::new(of, tallies, REMEMBERED_MAX);
    let mut reader = CheckReader::new(session);
    let key_bytes = of.options.key_len as usize;
    let mut from = Some([0; KEY_BYTES_MAX]);
    while let Some(first) = from {
        let mut last = None;
        let given = (&first[..key_bytes],);
        let rows = reader
            .each(&of.page, given, |(key, value)| {
                last = found.row(key, value);
            })
            .await?;
        from = last.filter(|_| rows == PAGE_ROWS).and_then(|key| after(key, key_bytes));
    }
    Ok(found.checks())
}

/// The next key of that length; none behind the last.
fn after(mut key: Key, key_bytes: usize) -> Option<Key> {
    let place = key[..key_bytes].iter().rposition(|byte| *byte < u8::MAX)?;
    key[place] += 1;
    key[place + 1..].fill(0);
    Some(key)
}

/// What one client may have left under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PossibleValue {
    client: u32,
    transaction: u64,
    /// The operation that put; none if the key was removed.
    put: Option<u32>,
    committed: bool,
}

struct CheckState<'a> {
    shape: TransactionSize,
    tallies: HashMap<u32, &'a Tally>,
    /// Keys whose hash is a multiple of this are compared with what may be left under them.
    one_in: u64,
    left: BTreeMap<Key, Vec<PossibleValue>>,
    values: Violations,
}

impl<'a> CheckState<'a> {
    fn new(of: &ConcurrentTx, tallies: &'a [Tally], remembered_max: u64) -> CheckState<'a> {
        let shape = of.options.shape();
        let transactions: u64 = tallies.iter().map(Tally::transactions).sum();
        let mut found = CheckState {
            shape,
            tallies: tallies.iter().map(|tally| (tally.client, tally)).collect(),
            one_in: (transactions * shape.nops).div_ceil(remembered_max).max(1),
            left: BTreeMap::new(),
            values: Violations::default(),
        };
        for tally in tallies {
            found.remember(tally);
        }
        found
    }

    fn is_compared(&self, key: &Key) -> bool {
        let (high, low) = key.split_at(8);
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        mixed(mixed(word(high)) ^ word(low)).is_multiple_of(self.one_in)
    }

    /// Adds what a client's transactions may have left, in their order.
    fn remember(&mut self, tally: &Tally) {
        for number in 0..tally.transactions() {
            let committed = match tally.ending(number) {
                Ending::Committed => true,
                Ending::Unknown => false,
                Ending::Undone => continue,
            };
            for (key, put) in last_operations(tally, number, self.shape) {
                if !self.is_compared(&key) {
                    continue;
                }
                let left = self.left.entry(key).or_default();
                if committed {
                    left.retain(|before| before.client != tally.client);
                }
                left.push(PossibleValue {
                    client: tally.client,
                    transaction: number,
                    put,
                    committed,
                });
            }
        }
    }

    /// Takes a row of the table; answers its key.
    fn row(&mut self, key: &[u8], value: &[u8]) -> Option<Key> {
        let mut whole = [0; KEY_BYTES_MAX];
        if key.len() != self.shape.key_bytes {
            self.values.add(|| format!("key {key:02x?} is none that was put"));
            return None;
        }
        whole[..key.len()].copy_from_slice(key);
        let is_right = match Origin::of_value(value) {
            None => false,
            Some(origin) if self.is_compared(&whole) => {
                let left = self.left.remove(&whole).unwrap_or_default();
                left.iter().any(|left| left.is(&origin))
            }
            Some(origin) => self.may_have_put(&origin, &whole),
        };
        self.values.unless(is_right, || {
            let origin = Origin::of_value(value);
            format!("key {key:02x?} holds {value:02x?}, of {origin:?}")
        });
        Some(whole)
    }

    /// True if that operation was the last under a key of a transaction that was not undone.
    fn may_have_put(&self, origin: &Origin, key: &Key) -> bool {
        let Some(tally) = self.tallies.get(&origin.client) else {
            return false;
        };
        if tally.ending(origin.transaction) == Ending::Undone {
            return false;
        }
        let last = last_operations(tally, origin.transaction, self.shape);
        last.get(key) == Some(&Some(origin.operation))
    }

    fn checks(self) -> Vec<Check> {
        let mut missing = Violations::default();
        // Those that had a row were taken out.
        for (key, left) in &self.left {
            let may_be_absent = left.iter().any(|left| left.put.is_none())
                || left.iter().all(|left| !left.committed);
            missing.unless(may_be_absent, || {
                let key = &key[..self.shape.key_bytes];
                format!("key {key:02x?} is gone, under which may be {left:?}")
            });
        }
        vec![self.values.check(VALUES), missing.check(PRESENT)]
    }
}

impl PossibleValue {
    fn is(&self, origin: &Origin) -> bool {
        self.put == Some(origin.operation)
            && self.client == origin.client
            && self.transaction == origin.transaction
    }
}

/// The last operation of a transaction under each of its keys: the number of one that put, or none.
fn last_operations(
    tally: &Tally,
    number: u64,
    shape: TransactionSize,
) -> BTreeMap<Key, Option<u32>> {
    let operations = Operations::of(tally.seed, tally.client, number, shape);
    let numbered = (0..).zip(operations);
    numbered.map(|(operation, one)| (one.key, one.puts.then_some(operation))).collect()
}

#[cfg(test)]
mod tests {
    use super::{CheckState, PRESENT, VALUES, after, last_operations};
    use crate::concurrent_tx::operations::{Key, Origin};
    use crate::concurrent_tx::transactions::Tally;
    use crate::concurrent_tx::{ConcurrentTx, Options};
    use std::collections::BTreeMap;
    use syncline_contract::{CheckOutcome, Ending};

    const SEED: u64 = 9;

    fn workload() -> ConcurrentTx {
        // Keys of one byte: every key is touched by many.
        ConcurrentTx::new(Options { key_len: 1, nops: 10, aborts: 0 })
    }

    fn tallies(endings: &[&[Ending]]) -> Vec<Tally> {
        let of = |(client, endings): (u32, &&[Ending])| {
            let mut tally = Tally::new(client, SEED);
            for ending in *endings {
                tally.add(*ending);
            }
            tally
        };
        (0..).zip(endings).map(of).collect()
    }

    /// What is left if those transactions happen in that order.
    fn table(order: &[(u32, u64)]) -> BTreeMap<Key, Origin> {
        let mut rows = BTreeMap::new();
        for (client, transaction) in order {
            let shape = workload().options.shape();
            let tally = Tally::new(*client, SEED);
            for (key, put) in last_operations(&tally, *transaction, shape) {
                match put {
                    None => rows.remove(&key),
                    Some(operation) => rows.insert(
                        key,
                        Origin { client: *client, transaction: *transaction, operation },
                    ),
                };
            }
        }
        rows
    }

    fn violated(
        tallies: &[Tally],
        rows: &BTreeMap<Key, Origin>,
        remembered_max: u64,
    ) -> Vec<String> {
        let of = workload();
        let mut found = CheckState::new(&of, tallies, remembered_max);
        for (key, origin) in rows {
            found.row(&key[..1], &origin.value());
        }
        let checks = found.checks().into_iter();
        let violated = checks.filter(|check| check.outcome != CheckOutcome::Held);
        violated.map(|check| check.name).collect()
    }

    const C: Ending = Ending::Committed;

    #[test]
    fn every_order_of_two_clients_holds() {
        let tallies = tallies(&[&[C, C], &[C, Ending::Unknown]]);
        for order in [
            vec![(0, 0), (0, 1), (1, 0), (1, 1)],
            vec![(1, 0), (1, 1), (0, 0), (0, 1)],
            vec![(0, 0), (1, 0), (0, 1), (1, 1)],
            // The unknown one need not have happened.
            vec![(0, 0), (1, 0), (0, 1)],
        ] {
            for remembered_max in [1, 10, 1_000] {
                let found = violated(&tallies, &table(&order), remembered_max);
                assert!(found.is_empty(), "{order:?}: {found:?}");
            }
        }
    }

    #[test]
    fn a_lost_transaction_is_found() {
        let tallies = tallies(&[&[C, C], &[C]]);
        let found = violated(&tallies, &table(&[(0, 0), (1, 0)]), 1_000);
        assert!(found.contains(&PRESENT.to_owned()), "{found:?}");
    }

    #[test]
    fn what_was_undone_and_stayed_is_found() {
        let tallies = tallies(&[&[C, Ending::Undone], &[C]]);
        for remembered_max in [1, 1_000] {
            let rows = table(&[(0, 0), (1, 0), (0, 1)]);
            let found = violated(&tallies, &rows, remembered_max);
            assert!(found.contains(&VALUES.to_owned()), "{found:?}");
        }
    }

    #[test]
    fn transactions_of_one_client_in_the_wrong_order_are_found() {
        let tallies = tallies(&[&[C; 40]]);
        let mut order: Vec<_> = (0..40).map(|number| (0, number)).collect();
        assert!(violated(&tallies, &table(&order), 1_000).is_empty());
        order.reverse();
        let found = violated(&tallies, &table(&order), 1_000);
        assert!(found.contains(&VALUES.to_owned()), "{found:?}");
    }

    #[test]
    fn keys_are_counted_up() {
        let mut key = [0; 16];
        key[1] = 255;
        let next = after(key, 2).unwrap();
        assert_eq!(next[..3], [1, 0, 0]);
        assert_eq!(after([255; 16], 16), None);
        assert_eq!(after(key, 1).unwrap()[0], 1);
    }
}
