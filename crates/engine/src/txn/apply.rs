//! Applies a numbered commit and collects garbage afterwards.
//!
//! Everything was decided when the rows were locked: applying finds each row and writes its value and its
//! word, which unlocks it. A version learns its csn before its row shows it. Nothing here waits for anything
//! but a latch, and nothing can fail; a failure would be a bug, and its number, neither published nor given
//! up, would then close the log.

use crate::access::btree::Tree;
use crate::access::btree::extents::{self, ExtentPointer};
use crate::buffer::Leaf;
use crate::buffer::VersionWord;
use crate::ids::Csn;
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{Step, step, stepped};
use crate::txn::core::Core;
use crate::txn::garbage::{Ghost, WaitsFor};
use crate::txn::part_timers::Part;
use crate::txn::read::absent;
use crate::txn::record::{pieces, splice};
use crate::txn::transaction::{After, Row, Transaction};
use crossbeam_epoch::Guard;
use std::sync::Arc;
use syncline_instrument::{Module, tag};
use syncline_vfs::Disk;

/// Ghosts checked for each one that is added.
const GHOSTS_COLLECTED: usize = 2;

/// Step e: applies every row.
#[inline]
pub(super) fn apply<D: Disk>(core: &Core<D>, txn: &mut Transaction, csn: Csn) {
    let _doing = core.watch.enter(Part::Apply, txn.is_measured);
    let guard = crate::buffer::pin();
    let mut rows = std::mem::take(&mut txn.commit.rows);
    let mut left = &mut rows[..];
    while !left.is_empty() {
        step(Step::Apply);
        let count = run(left);
        let (run, rest) = std::mem::take(&mut left).split_at_mut(count);
        left = rest;
        apply_run(core, txn, csn, (run, &guard));
    }
    txn.commit.rows = rows;
}

/// The number of first rows that lie in the same leaf, if that is known, and can be applied under its latch.
fn run(rows: &[Row]) -> usize {
    let (first, rest) = (&rows[0], &rows[1..]);
    if first.pointer.is_some() || stepped() {
        return 1;
    }
    let is_beside = |row: &&Row| {
        row.follows
            && row.pointer.is_none()
            && (row.page, row.counter) == (first.page, first.counter)
    };
    1 + rest.iter().take_while(is_beside).count()
}

/// Applies rows: those still in their slots under one latch, the others by their keys.
fn apply_run<D: Disk>(
    core: &Core<D>,
    txn: &Transaction,
    csn: Csn,
    (run, guard): (&mut [Row], &Guard),
) {
    let is_value = matches!(run[0].after, After::Value { .. });
    let pointer = run[0].pointer.take().filter(|_| is_value);
    if let Some(pointer) = pointer {
        extents::attach(&core.buffer, pointer);
    }
    let pointer_value = pointer.map(ExtentPointer::to_value);
    let outcome = |row: &Row| {
        let mut value: &[u8] = &[];
        let mut word = VersionWord::of(csn);
        match (row.after, &pointer_value) {
            (After::Value { .. }, Some(pointer_value)) => {
                value = pointer_value;
                word = word.overflow();
            }
            (After::Value { start, bytes } | After::Spliced { start, bytes }, _) => {
                value = &txn.commit.record[start..start + bytes];
            }
            (After::Deleted, _) => word = word.ghost(),
            (After::Same, _) => word = row.was,
        }
        (word, value)
    };
    for row in &mut *run {
        row.is_locked = false;
        if let Some(version) = row.version.take() {
            core.versions.supersede(version, csn);
        }
    }
    let mut is_empty = false;
    let by_slots = |leaf: &mut Leaf| {
        let mut done = 0;
        for row in &*run {
            if leaf.counter() != row.counter {
                break;
            }
            is_empty = set(leaf, row.slot as usize, row, outcome(row));
            done += 1;
        }
        done
    };
    let set_by_slots = {
        let _entered = tag::enter(Module::Access);
        let at_its_page = |page| core.buffer.change_leaf(page, guard, by_slots);
        run[0].page.map_or(Ok(None), at_its_page)
    };
    let set_by_slots = set_by_slots.expect("a locked row's page was changed in this section");
    let done = set_by_slots.unwrap_or(0);
    if is_empty {
        merge_leaf(core, txn, &run[done - 1]);
    }
    for row in &run[done..] {
        let (word, value) = outcome(row);
        let (tree, key) = name(txn, row);
        let by_key = |leaf: &mut Leaf, _| {
            let slot = find_slot(leaf, key, value);
            set(leaf, slot, row, (word, value))
        };
        let set_by_key = tree.change_at(&core.buffer, row.page, key, by_key);
        if set_by_key.expect("a locked row's page was changed in this section") {
            merge_leaf(core, txn, row);
        }
    }
}

fn name<'t>(txn: &'t Transaction, row: &Row) -> (&'t Tree, &'t [u8]) {
    let write = txn.writes.get(row.write);
    (&txn.trees[write.tree as usize], txn.arena.get(write.key))
}

/// Merges or unlinks the leaf that a row has left empty.
#[cold]
fn merge_leaf<D: Disk>(core: &Core<D>, txn: &Transaction, row: &Row) {
    let write = txn.writes.get(row.write);
    core.merge_leaf(txn.seat, &txn.trees[write.tree as usize], txn.arena.get(write.key));
}

/// The slot of a locked row.
fn find_slot(leaf: &mut Leaf, key: &[u8], value: &[u8]) -> usize {
    match leaf.search(key) {
        Ok(slot) => slot,
        Err(slot) if planted(PlantedBug::GhostAtApply) => {
            let inserted = leaf.insert(slot, key, absent(), value.len());
            inserted.expect("the tests of this bug leave room");
            slot
        }
        Err(slot) => panic!("a locked row stays in its tree, where it would be slot {slot}"),
    }
}

/// Writes a row's value, or its changed pieces, and its word. Returns true if the leaf is now empty.
#[inline]
fn set(leaf: &mut Leaf, slot: usize, row: &Row, (word, value): (VersionWord, &[u8])) -> bool {
    if word == absent() {
        // Inserted and deleted by the same transaction: the ghost was its lock.
        leaf.remove(slot);
        return leaf.count() == 0;
    }
    match row.after {
        After::Same => {}
        After::Value { .. } | After::Deleted => leaf.set_value(slot, value),
        After::Spliced { .. } => splice(leaf.value_mut(slot), pieces(value)),
    }
    leaf.set_word(slot, word);
    false
}

/// After publishing, still in the section: queues the garbage of this commit, and removes some older garbage.
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
            waits_for: WaitsFor::Readers,
        };
        core.garbage.add(txn.seat, ghost);
        deleted += 1;
    }
    if deleted > 0 || core.garbage.waits(txn.seat) {
        let most = 1 + GHOSTS_COLLECTED * deleted;
        core.garbage.collect(&core.buffer, txn.seat, core.bound(), most);
    }
    if !txn.commit.row_changes.is_empty()
        && let Some(row_log) = core.row_log()
    {
        row_log.append(csn, &txn.commit.row_changes);
    }
    if !txn.commit.pointers.is_empty() {
        core.free_extents(&mut txn.commit.pointers);
    }
}
