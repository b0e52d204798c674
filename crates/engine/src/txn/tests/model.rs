//! Random transactions of one session against a plain map: every answer and every end, with leaves that split
//! and become empty, values that move into and out of extents, and missing pages.

use super::fixture::{Store, StoreConfig, append, resize, scan};
use crate::Error;
use crate::txn::scan::{Direction, Scan};
use crate::txn::{Begin, strip_ghosts};
use std::collections::BTreeMap;
use std::ops::Bound;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The kinds of refusal in store and model.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Duplicate,
    Absent,
    Patch,
}

fn refusal(error: &Error) -> Refusal {
    match error {
        Error::Duplicate { .. } => Refusal::Duplicate,
        Error::Absent { .. } => Refusal::Absent,
        Error::Patch { .. } => Refusal::Patch,
        other => panic!("{other}"),
    }
}

struct Model {
    random: fastrand::Rng,
    keys: usize,
    committed: Map,
    now: Map,
    /// The first write that the commit will be refused for, in key order.
    refused: BTreeMap<Vec<u8>, Refusal>,
}

impl Model {
    fn key(&mut self) -> Vec<u8> {
        let key = self.random.usize(..self.keys) as u32;
        // Some keys share long beginnings, some are each other's beginnings.
        match key % 3 {
            0 => key.to_be_bytes().to_vec(),
            1 => [b"a common beginning, ".to_vec(), key.to_be_bytes().to_vec()].concat(),
            _ => vec![7; key as usize % 40],
        }
    }

    fn value(&mut self) -> Vec<u8> {
        let bytes = match self.random.u8(..10) {
            0 => self.random.usize(..2_000),
            1..=3 => self.random.usize(..200),
            _ => self.random.usize(..30),
        };
        vec![self.random.u8(..); bytes]
    }

    fn range(&mut self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let mut edge = || {
            let key = self.key();
            match self.random.u8(..5) {
                0 => Bound::Unbounded,
                1 | 2 => Bound::Included(key),
                _ => Bound::Excluded(key),
            }
        };
        (edge(), edge())
    }

    fn expected(
        &self,
        (lower, upper): &(Bound<Vec<u8>>, Bound<Vec<u8>>),
        direction: Direction,
        limit: usize,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let inside = |key: &Vec<u8>| {
            let above = match lower {
                Bound::Unbounded => true,
                Bound::Included(lower) => key >= lower,
                Bound::Excluded(lower) => key > lower,
            };
            above
                && match upper {
                    Bound::Unbounded => true,
                    Bound::Included(upper) => key <= upper,
                    Bound::Excluded(upper) => key < upper,
                }
        };
        let rows = self.now.iter().filter(|(key, _)| inside(key));
        let rows = rows.map(|(key, value)| (key.clone(), value.clone()));
        match direction {
            Direction::Ascending => rows.take(limit).collect(),
            Direction::Descending => rows.rev().take(limit).collect(),
        }
    }

    /// Applies a write as the store must. Returns what must be refused at once.
    fn write(&mut self, key: &[u8], known: Option<bool>, write: &Write) -> Option<Refusal> {
        let row = self.now.get(key).cloned();
        let refused = match (write, &row) {
            (Write::Insert(_), Some(_)) => Some(Refusal::Duplicate),
            (Write::Update(_) | Write::Delete | Write::Append(_) | Write::Resize(_), None) => {
                Some(Refusal::Absent)
            }
            (Write::Append(patch), Some(row)) if row.len() + patch.len() > 60 => {
                Some(Refusal::Patch)
            }
            _ => None,
        };
        if known.is_some() && matches!(refused, Some(Refusal::Duplicate | Refusal::Absent)) {
            return refused;
        }
        if let Some(refused) = refused {
            self.refused.entry(key.to_vec()).or_insert(refused);
        }
        match (write, row) {
            (Write::Put(value) | Write::Insert(value) | Write::Update(value), _) => {
                self.now.insert(key.to_vec(), value.clone());
            }
            (Write::Delete, _) => {
                self.now.remove(key);
            }
            (Write::Append(patch), Some(row)) => {
                self.now.insert(key.to_vec(), [row, patch.clone()].concat());
            }
            (Write::Resize(patch), Some(mut row)) => {
                row.resize(usize::from(u16::from_le_bytes([patch[0], patch[1]])), patch[2]);
                self.now.insert(key.to_vec(), row);
            }
            (Write::Append(_) | Write::Resize(_), None) => {}
        }
        None
    }
}

#[derive(Clone, Debug)]
enum Write {
    Put(Vec<u8>),
    Insert(Vec<u8>),
    Update(Vec<u8>),
    Delete,
    Append(Vec<u8>),
    Resize([u8; 3]),
}

fn play(seed: u64, page_bytes: u32, miss_every: Option<u32>) {
    let store = Store::new(StoreConfig { page_bytes, miss_every, ..StoreConfig::default() });
    let mut random = fastrand::Rng::with_seed(seed);
    let mut model = Model {
        keys: random.usize(3..250),
        random,
        committed: Map::new(),
        now: Map::new(),
        refused: BTreeMap::new(),
    };
    let mut session = store.session();
    for _ in 0..120 {
        let begin = if model.random.bool() { Begin::Serializable } else { Begin::Snapshot };
        session.begin(begin).unwrap();
        transact(&store, &mut session, &mut model);
        let Model { now, committed, .. } = &mut model;
        committed.clone_from(now);
        store.core.log.release(store.core.log.durable_lsn());
    }
    let rows: Map = store.rows(&store.tree).into_iter().collect();
    assert_eq!(rows, model.committed);
    drop(session);
    store.assert_clean();
    assert_eq!(strip_ghosts(&store.core.buffer, &store.tree), Ok(0));
}

/// Runs one transaction, and updates `model.now` with its commit.
fn transact(store: &Store, session: &mut super::fixture::TestSession, model: &mut Model) {
    let tree = &store.tree;
    model.refused.clear();
    // What the transaction's own writes show of a row: present, or absent.
    let mut known: BTreeMap<Vec<u8>, bool> = BTreeMap::new();
    let mut saved = None;
    for _ in 0..model.random.usize(1..30) {
        let key = model.key();
        // After a refused write, reads describe a state that will not exist.
        let is_clear = model.refused.is_empty();
        match model.random.u8(..12) {
            0 | 1 if is_clear => {
                let row = session.get(tree, &key).unwrap().map(<[u8]>::to_vec);
                assert_eq!(row.as_ref(), model.now.get(&key));
                let shown = session.show_at(tree, None, &key, <[u8]>::to_vec);
                assert_eq!(shown.unwrap(), row);
            }
            2 if is_clear => {
                let range = model.range();
                let limit = model.random.usize(..40);
                for direction in [Direction::Ascending, Direction::Descending] {
                    let found = Scan {
                        lower: range.0.as_ref().map(|key| &key[..]),
                        upper: range.1.as_ref().map(|key| &key[..]),
                        direction,
                        limit,
                    };
                    let rows = scan(session, tree, found).unwrap();
                    assert_eq!(rows, model.expected(&range, direction, limit));
                }
            }
            3 if is_clear && saved.is_none() => {
                saved = Some((session.savepoint(), model.now.clone(), known.clone()));
            }
            4 => {
                if let Some((savepoint, now, before)) = saved.take() {
                    session.rollback_to(savepoint);
                    (model.now, known) = (now, before);
                    model.refused.clear();
                }
            }
            kind => {
                let write = match kind {
                    5 | 6 => Write::Insert(model.value()),
                    7 => Write::Update(model.value()),
                    8 => Write::Delete,
                    9 => Write::Append(vec![model.random.u8(..); model.random.usize(..9)]),
                    10 => {
                        let bytes = model.random.u16(..900).to_le_bytes();
                        Write::Resize([bytes[0], bytes[1], model.random.u8(..)])
                    }
                    _ => Write::Put(model.value()),
                };
                let result = match &write {
                    Write::Put(value) => session.put(tree, &key, value),
                    Write::Insert(value) => session.insert(tree, &key, value),
                    Write::Update(value) => session.update(tree, &key, value),
                    Write::Delete => session.delete(tree, &key),
                    Write::Append(patch) => session.patch(tree, &key, append, patch),
                    Write::Resize(patch) => session.patch(tree, &key, resize, patch),
                };
                let expected = model.write(&key, known.get(&key).copied(), &write);
                assert_eq!(result.as_ref().err().map(refusal), expected, "{write:?}");
                if result.is_ok() {
                    match write {
                        Write::Put(_) | Write::Insert(_) | Write::Update(_) => {
                            known.insert(key, true)
                        }
                        Write::Delete => known.insert(key, false),
                        Write::Append(_) | Write::Resize(_) => known.remove(&key),
                    };
                }
            }
        }
    }
    if model.random.u8(..8) == 0 {
        session.abort();
        model.now.clone_from(&model.committed);
        return;
    }
    match session.commit() {
        Ok(ticket) => {
            assert!(model.refused.is_empty(), "{:?} was not refused", model.refused);
            if model.random.bool() {
                session.wait(ticket).unwrap();
            }
        }
        Err(error) => {
            let first = model.refused.first_key_value().map(|(_, refusal)| refusal);
            assert_eq!(Some(&refusal(&error)), first, "{error}");
            model.now.clone_from(&model.committed);
        }
    }
}

#[test]
fn one_session_does_what_a_map_does() {
    for seed in 0..60 {
        let page_bytes = [512, 512, 1024, 8192][seed as usize % 4];
        let miss_every = [None, Some(1), Some(3), Some(17)][seed as usize / 4 % 4];
        play(seed, page_bytes, miss_every);
    }
}
