//! The check: regenerates every transaction and compares its possible results with the table; `mod.rs`
//! describes which values are possible and which keys are compared.

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

/// The approximate limit of remembered operations.
const REMEMBERED_MAX: u64 = 4_000_000;

/// The names of the checks.
pub(super) fn names() -> [&'static str; 2] {
    [VALUES, PRESENT]
}

/// Runs both checks.
pub(super) async fn check<S: Session>(
    of: &ConcurrentTx,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut state = CheckState::new(of, tallies, REMEMBERED_MAX);
    let mut reader = CheckReader::new(session);
    let key_bytes = of.options.key_len as usize;
    let mut from = Some([0; KEY_BYTES_MAX]);
    while let Some(first) = from {
        let mut last = None;
        let given = (&first[..key_bytes],);
        let rows = reader
            .each(&of.page, given, |(key, value)| {
                last = state.row(key, value);
            })
            .await?;
        from = last.filter(|_| rows == PAGE_ROWS).and_then(|key| after(key, key_bytes));
    }
    Ok(state.checks())
}

/// The next key of this length; none after the last.
fn after(mut key: Key, key_bytes: usize) -> Option<Key> {
    let place = key[..key_bytes].iter().rposition(|byte| *byte < u8::MAX)?;
    key[place] += 1;
    key[place + 1..].fill(0);
    Some(key)
}

/// A value that one client may have left under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PossibleValue {
    client: u32,
    transaction: u64,
    /// The number of the put; none if the key was removed.
    put: Option<u32>,
    committed: bool,
}

struct CheckState<'a> {
    size: TransactionSize,
    tallies: HashMap<u32, &'a Tally>,
    /// Keys whose hash is a multiple of this are compared with the possible values.
    one_in: u64,
    left: BTreeMap<Key, Vec<PossibleValue>>,
    values: Violations,
}

impl<'a> CheckState<'a> {
    fn new(of: &ConcurrentTx, tallies: &'a [Tally], remembered_max: u64) -> CheckState<'a> {
        let size = of.options.transaction_size();
        let transactions: u64 = tallies.iter().map(Tally::transactions).sum();
        let mut state = CheckState {
            size,
            tallies: tallies.iter().map(|tally| (tally.client, tally)).collect(),
            one_in: (transactions * size.nops).div_ceil(remembered_max).max(1),
            left: BTreeMap::new(),
            values: Violations::default(),
        };
        for tally in tallies {
            state.remember(tally);
        }
        state
    }

    fn is_compared(&self, key: &Key) -> bool {
        let (high, low) = key.split_at(8);
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        mixed(mixed(word(high)) ^ word(low)).is_multiple_of(self.one_in)
    }

    /// Adds the possible results of a client's transactions, in order.
    fn remember(&mut self, tally: &Tally) {
        for number in 0..tally.transactions() {
            let committed = match tally.ending(number) {
                Ending::Committed => true,
                Ending::Unknown => false,
                Ending::Undone => continue,
            };
            for (key, put) in last_operations(tally, number, self.size) {
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

    /// Checks a row of the table; returns its key.
    fn row(&mut self, key: &[u8], value: &[u8]) -> Option<Key> {
        let mut padded = [0; KEY_BYTES_MAX];
        if key.len() != self.size.key_bytes {
            self.values.add(|| format!("key {key:02x?} was never put"));
            return None;
        }
        padded[..key.len()].copy_from_slice(key);
        let is_right = match Origin::of_value(value) {
            None => false,
            Some(origin) if self.is_compared(&padded) => {
                let left = self.left.remove(&padded).unwrap_or_default();
                left.iter().any(|left| left.is(&origin))
            }
            Some(origin) => self.may_have_put(&origin, &padded),
        };
        self.values.unless(is_right, || {
            let origin = Origin::of_value(value);
            format!("key {key:02x?} holds {value:02x?}, written by {origin:?}")
        });
        Some(padded)
    }

    /// True if this operation was the last one on its key in a transaction that was not rolled back.
    fn may_have_put(&self, origin: &Origin, key: &Key) -> bool {
        let Some(tally) = self.tallies.get(&origin.client) else {
            return false;
        };
        if tally.ending(origin.transaction) == Ending::Undone {
            return false;
        }
        let last = last_operations(tally, origin.transaction, self.size);
        last.get(key) == Some(&Some(origin.operation))
    }

    fn checks(self) -> Vec<Check> {
        let mut missing = Violations::default();
        // Keys with a row have been removed from `left`.
        for (key, left) in &self.left {
            let may_be_absent = left.iter().any(|left| left.put.is_none())
                || left.iter().all(|left| !left.committed);
            missing.unless(may_be_absent, || {
                let key = &key[..self.size.key_bytes];
                format!("key {key:02x?} is gone, but may only hold {left:?}")
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

/// The last operation of a transaction on each of its keys: the number of a put, or none for a removal.
fn last_operations(
    tally: &Tally,
    number: u64,
    size: TransactionSize,
) -> BTreeMap<Key, Option<u32>> {
    let operations = Operations::of(tally.seed, tally.client, number, size);
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
        // Keys of one byte, so that every key is used by many transactions.
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

    /// The table after these transactions in this order.
    fn table(order: &[(u32, u64)]) -> BTreeMap<Key, Origin> {
        let mut rows = BTreeMap::new();
        for (client, transaction) in order {
            let size = workload().options.transaction_size();
            let tally = Tally::new(*client, SEED);
            for (key, put) in last_operations(&tally, *transaction, size) {
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
        let mut state = CheckState::new(&of, tallies, remembered_max);
        for (key, origin) in rows {
            state.row(&key[..1], &origin.value());
        }
        let checks = state.checks().into_iter();
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
            // The transaction with the unknown outcome need not have happened.
            vec![(0, 0), (1, 0), (0, 1)],
        ] {
            for remembered_max in [1, 10, 1_000] {
                let state = violated(&tallies, &table(&order), remembered_max);
                assert!(state.is_empty(), "{order:?}: {state:?}");
            }
        }
    }

    #[test]
    fn a_lost_transaction_is_found() {
        let tallies = tallies(&[&[C, C], &[C]]);
        let state = violated(&tallies, &table(&[(0, 0), (1, 0)]), 1_000);
        assert!(state.contains(&PRESENT.to_owned()), "{state:?}");
    }

    #[test]
    fn a_row_of_an_undone_transaction_is_found() {
        let tallies = tallies(&[&[C, Ending::Undone], &[C]]);
        for remembered_max in [1, 1_000] {
            let rows = table(&[(0, 0), (1, 0), (0, 1)]);
            let state = violated(&tallies, &rows, remembered_max);
            assert!(state.contains(&VALUES.to_owned()), "{state:?}");
        }
    }

    #[test]
    fn transactions_of_one_client_in_the_wrong_order_are_found() {
        let tallies = tallies(&[&[C; 40]]);
        let mut order: Vec<_> = (0..40).map(|number| (0, number)).collect();
        assert!(violated(&tallies, &table(&order), 1_000).is_empty());
        order.reverse();
        let state = violated(&tallies, &table(&order), 1_000);
        assert!(state.contains(&VALUES.to_owned()), "{state:?}");
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
