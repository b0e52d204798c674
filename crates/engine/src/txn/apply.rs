//! Applying a commit that has its number, and clearing up behind it.
//!
//! Everything was settled when the rows were locked: applying finds each row, gives it its value and
//! its word, and with that unlocks it. A version learns its csn before its row shows it. Nothing here
//! waits for anything but a latch, and nothing can fail; that it does would be a bug, and the number,
//! neither published nor given up, then closes the log.

use crate::access::btree::overflow::{self, STUB_BYTES};
use crate::buffer::Leaf;
use crate::buffer::Word;
use crate::ids::Csn;
use crate::plant::{Plant, planted};
use crate::txn::core::Core;
use crate::txn::garbage::Ghost;
use crate::txn::read::absent;
use crate::txn::step::{Step, step};
use crate::txn::transaction::{After, Row, Transaction};
use crate::txn::watch::Part;
use std::sync::Arc;
use syncline_disk::Disk;
use syncline_metering::{Module, tag};

/// How many ghosts are looked at for each that is added.
const GHOSTS_COLLECTED: usize = 2;

/// Step e: applies every row.
pub(super) fn apply<D: Disk>(core: &Core<D>, txn: &mut Transaction, csn: Csn) {
    let _doing = core.watch.enter(Part::Apply, txn.is_measured);
    let guard = crate::buffer::pin();
    let Transaction {
        commit,
        writes,
        arena,
        trees,
        ..
    } = txn;
    for row in &mut commit.rows {
        step(Step::Apply);
        row.is_locked = false;
        if let Some(version) = row.version.take() {
            core.versions.supersede(version, csn);
        }
        let stub_value: [u8; STUB_BYTES];
        let mut value: &[u8] = &[];
        let mut word = Word::of(csn);
        match (row.after, row.stub.take()) {
            (After::Value { .. }, Some(stub)) => {
                overflow::attach(&core.buffer, stub);
                stub_value = stub.to_value();
                value = &stub_value;
                word = word.overflow();
            }
            (After::Value { start, bytes }, None) => value = &commit.record[start..start + bytes],
            (After::Deleted, _) => word = word.ghost(),
            (After::Same, _) => word = row.was,
        }
        let write = writes.get(row.write);
        let tree = &trees[write.tree as usize];
        let key = arena.get(write.key);
        let by_slot = |leaf: &mut Leaf| {
            let is_there = leaf.counter() == row.counter;
            is_there.then(|| set(leaf, row.slot as usize, row, word, value))
        };
        let set_by_slot = {
            let _entered = tag::enter(Module::Access);
            let at_its_page = |page| core.buffer.change_leaf(page, &guard, by_slot);
            row.page.map_or(Ok(None), at_its_page)
        };
        let set_by_slot = set_by_slot.expect("a locked row's page was changed in this section");
        let is_empty = set_by_slot.flatten().unwrap_or_else(|| {
            let by_key = |leaf: &mut Leaf, _| {
                let slot = find(leaf, key, value);
                set(leaf, slot, row, word, value)
            };
            let set_by_key = tree.change(&core.buffer, key, by_key);
            set_by_key.expect("a locked row's page was changed in this section")
        });
        if is_empty {
            tree.tidy(&core.buffer, key);
        }
    }
}

/// The slot of a locked row.
fn find(leaf: &mut Leaf, key: &[u8], value: &[u8]) -> usize {
    match leaf.search(key) {
        Ok(slot) => slot,
        Err(slot) if planted(Plant::GhostAtApply) => {
            let inserted = leaf.insert(slot, key, absent(), value.len());
            inserted.expect("tests of this bug leave room");
            slot
        }
        Err(slot) => panic!("a locked row stays in its tree, where it would be slot {slot}"),
    }
}

/// Gives a row its value and word; true if the leaf is empty then.
#[inline]
fn set(leaf: &mut Leaf, slot: usize, row: &Row, word: Word, value: &[u8]) -> bool {
    if word == absent() {
        // Inserted and deleted by the same transaction: the ghost was its lock.
        leaf.remove(slot);
        return leaf.count() == 0;
    }
    if row.after != After::Same {
        leaf.set_value(slot, value);
    }
    leaf.set_word(slot, word);
    false
}

/// After publishing, still in the section: remembers what this commit made superfluous, and removes
/// some of what has become so before.
#[inline]
pub(super) fn collect<D: Disk>(core: &Core<D>, txn: &mut Transaction, csn: Csn) {
    step(Step::Collect);
    core.refresh_bound(csn);
    let mut deleted = 0;
    for row in &txn.commit.rows {
        if row.after != After::Deleted {
            continue;
        }
        let write = txn.writes.get(row.write);
        let ghost = Ghost {
            csn,
            tree: Arc::clone(&txn.trees[write.tree as usize]),
            key: txn.arena.get(write.key).into(),
        };
        core.garbage.add(txn.seat, ghost);
        deleted += 1;
    }
    if deleted > 0 || core.garbage.waits(txn.seat) {
        let most = 1 + GHOSTS_COLLECTED * deleted;
        core.garbage
            .collect(&core.buffer, txn.seat, core.bound(), most);
    }
    if !txn.commit.stubs.is_empty() {
        core.free_overflow(&mut txn.commit.stubs);
    }
}
