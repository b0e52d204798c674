//! Neighbouring rows, which a commit locks and applies under one latch, with other changes in between.

use super::fixture::{Store, StoreConfig, TestSession};
use crate::txn::Begin;
use std::collections::BTreeMap;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Writes a run of neighbouring rows, some of them new, longer, deleted, or written twice.
fn write_run(
    session: &mut TestSession,
    store: &Store,
    random: &mut fastrand::Rng,
    model: &mut Model,
) {
    let (high, first) = (random.u8(..3), random.u8(..200));
    for low in first..first.saturating_add(random.u8(1..40)) {
        let key = vec![high, low];
        let value = vec![low; random.usize(..60)];
        let tree = &store.tree;
        match (random.u8(..8), model.contains_key(&key)) {
            (0, _) => {}
            (1 | 2, true) => {
                session.delete(tree, &key).unwrap();
                model.remove(&key);
            }
            (3, false) => {
                session.insert(tree, &key, b"first").unwrap();
                session.delete(tree, &key).unwrap();
            }
            (_, true) => {
                session.update(tree, &key, &value).unwrap();
                model.insert(key, value);
            }
            (_, false) => {
                session.insert(tree, &key, &value).unwrap();
                model.insert(key, value);
            }
        }
    }
}

#[test]
fn neighbours_are_written_as_if_each_were_alone() {
    for (seed, miss_every) in [(1, None), (2, None), (3, Some(7))] {
        let store = Store::new(StoreConfig { miss_every, ..StoreConfig::default() });
        let (mut random, mut model) = (fastrand::Rng::with_seed(seed), Model::new());
        for round in 0..300 {
            let mut session = store.session();
            session.begin(Begin::Serializable).unwrap();
            let mut next = model.clone();
            (0..random.u8(1..4))
                .for_each(|_| write_run(&mut session, &store, &mut random, &mut next));
            let is_refused = random.u8(..5) == 0;
            if is_refused {
                // The last of all rows exists, so all others are locked when it is refused.
                session.insert(&store.tree, &[9], b"").unwrap();
            } else {
                session.put(&store.tree, &[9], b"").unwrap();
                next.insert(vec![9], Vec::new());
            }
            let is_there = model.contains_key(&vec![9]);
            match session.commit() {
                Ok(ticket) => {
                    session.wait(ticket).unwrap();
                    next.insert(vec![9], Vec::new());
                    model = next;
                }
                Err(error) => assert!(is_refused && is_there, "round {round}: {error}"),
            }
            let rows = store.rows(&store.tree).into_iter();
            assert_eq!(rows.collect::<Model>(), model, "round {round} of {seed}");
        }
        drop(store.session());
        store.assert_clean();
    }
}
