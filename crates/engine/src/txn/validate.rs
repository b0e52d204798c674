//! Validation: nothing that a serializable transaction has read may have changed.
//!
//! One rule covers rows, absent keys and ranges: *every word there is not newer than the read point, and not
//! locked by another commit*. Any change after the read point leaves such a trace: an update and an insert
//! write a newer word; a delete leaves a ghost with a newer word, which stays while this transaction is
//! registered; and from before a commit takes its number until it has applied, it keeps its rows locked,
//! including inserts, whose locked ghosts are in the leaf by then. A rule that compared keys would find the
//! same: a live row that was not read has a newer word, and a row that was read and deleted has left its
//! ghost. Ghosts not newer than the point, and those that an aborted insert left for a moment (csn 0), are
//! ignored. A ghost *newer* than the point does count, although it looks like the absence that was read: its
//! row may have been inserted before this transaction's number and deleted after it.
//!
//! Three uses:
//! - *final*, after the number was taken: any commit with a smaller number that writes something read here
//!   already holds its locks, so it is seen, locked or applied. One with a greater number may be seen,
//!   too; that is an unnecessary conflict. Nothing waits. A row that the commit itself has locked was checked
//!   at the lock (`lock`) and cannot have changed since, so it is not checked again.
//! - *early*, before anything is locked, by sessions with recent conflicts: most conflicts show before a
//!   number is taken.
//! - *moving* the read point: locks do not count. The holder of a lock has not published, so its number is
//!   past the new point, which was read before.
//!
//! A check uses the recorded page and counter; if the counter has changed, it searches by keys.

use crate::access::btree::Tree;
use crate::buffer::VersionWord;
use crate::buffer::{Leaf, Miss, without_misses};
use crate::conflict::Conflict;
use crate::error::{Error, Result};
use crate::ids::PageId;
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{Step, step};
use crate::txn::core::Core;
use crate::txn::read::absent;
use crate::txn::read_set::{NO_COUNTER, NO_SLOT, Node, Read, Scratch};
use crate::txn::transaction::Transaction;
use crossbeam_epoch::Guard;
use std::ops::Bound;
use syncline_vfs::Disk;

/// The use of a check; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    Moving,
    Early,
    Final,
}

/// Why a check ended early.
#[derive(Debug)]
pub(super) enum Stopped {
    Conflict(Conflict),
    /// The page is not resident, and the check cannot do without it.
    Miss(PageId),
}

/// How far a check has come, so that it goes on after a page was loaded.
#[derive(Default)]
struct Checked {
    reads: usize,
    nodes: usize,
}

/// Checks that everything read is unchanged since the read point, outside a section: loads the pages that it
/// needs. A refusal depends on an early check, so it is as thorough as the others.
///
/// # Errors
///
/// [`Error::Conflict`], and those of [`Buffer::load`](crate::buffer::Buffer::load).
pub(super) fn validate<D: Disk>(core: &Core<D>, txn: &Transaction, check: Check) -> Result<()> {
    assert!(check != Check::Final, "a final check runs in the section");
    let mut checked = Checked::default();
    let mut hold = None;
    while let Err(stopped) = all_hold(core, txn, check, &mut checked) {
        match stopped {
            Stopped::Conflict(conflict) => return Err(Error::Conflict(conflict)),
            // If the tree was dropped, the next attempt says so.
            Stopped::Miss(page) => {
                // A range may need several pages at once.
                hold.get_or_insert_with(|| core.buffer.hold_eviction()).load(Miss(page))?;
            }
        }
    }
    still_registered(core, txn).map_err(Error::Conflict)
}

/// The final check, in the section of the commit. It loads nothing: where a page is not resident and has left
/// no evidence that everything read there is unchanged, it names the page.
pub(super) fn validate_in_section<D: Disk>(
    core: &Core<D>,
    txn: &Transaction,
) -> std::result::Result<(), Stopped> {
    all_hold(core, txn, Check::Final, &mut Checked::default())?;
    still_registered(core, txn).map_err(Stopped::Conflict)
}

fn still_registered<D: Disk>(
    core: &Core<D>,
    txn: &Transaction,
) -> std::result::Result<(), Conflict> {
    if core.registry.is_doomed(txn.seat) {
        return Err(Conflict::SnapshotTooOld);
    }
    Ok(())
}

fn all_hold<D: Disk>(
    core: &Core<D>,
    txn: &Transaction,
    check: Check,
    checked: &mut Checked,
) -> std::result::Result<(), Stopped> {
    if txn.reads.is_empty() {
        return Ok(());
    }
    let guard = &crate::buffer::pin();
    let is_final = check == Check::Final;
    for read in &txn.reads.reads[checked.reads..] {
        if !(is_final && read.is_held) {
            step(Step::Validate);
            if !read_holds(core, txn, check, (read, guard)).map_err(Stopped::of)? {
                return Err(Stopped::Conflict(read.changed()));
            }
        }
        checked.reads += 1;
    }
    for node in &txn.reads.nodes[checked.nodes..] {
        step(Step::Validate);
        if !node_holds(core, txn, check, (node, guard)).map_err(Stopped::of)? {
            return Err(Stopped::Conflict(Conflict::Phantom));
        }
        checked.nodes += 1;
    }
    Ok(())
}

impl Stopped {
    fn of(miss: Miss) -> Stopped {
        Stopped::Miss(miss.0)
    }
}

#[inline]
fn read_holds<D: Disk>(
    core: &Core<D>,
    txn: &Transaction,
    check: Check,
    (read, guard): (&Read, &Guard),
) -> std::result::Result<bool, Miss> {
    let tree = &txn.trees[read.tree as usize];
    let key = txn.arena.get(read.key);
    let by_slot = |leaf: &Leaf| {
        (leaf.counter() == read.counter).then(|| match read.slot {
            NO_SLOT => absent(),
            slot => leaf.word(slot as usize),
        })
    };
    let is_own = || txn.writes_row(tree.id, key);
    if let Some(Some(now)) = core.buffer.view_leaf(read.page, guard, by_slot) {
        return Ok(is_unchanged(txn, check, now, is_own));
    }
    if is_proved(core, txn, read.page, read.counter) {
        return Ok(true);
    }
    let by_key = || {
        tree.view(&core.buffer, key, |leaf, _| {
            let slot = leaf.search(key).ok()?;
            Some(leaf.word(slot))
        })
    };
    match without_misses(|| unless_dropped(tree, by_key()))? {
        Some(Some(now)) => Ok(is_unchanged(txn, check, now, is_own)),
        Some(None) => Ok(read.word.is_ghost()),
        None => Ok(false),
    }
}

/// True if the leaf is on disk with the keys that were read, and without any newer change. No row in it is
/// locked.
#[cold]
fn is_proved<D: Disk>(core: &Core<D>, txn: &Transaction, page: PageId, counter: u64) -> bool {
    let evidence = core.buffer.evidence(page);
    evidence
        .is_some_and(|evidence| evidence.counter == counter && evidence.newest <= txn.read_point)
}

/// The result of an access to a tree; none if the tree is dropped.
fn unless_dropped<R>(
    tree: &Tree,
    seen: std::result::Result<R, Miss>,
) -> std::result::Result<Option<R>, Miss> {
    match seen {
        Err(_) if tree.is_dropped() => Ok(None),
        seen => seen.map(Some),
    }
}

#[inline]
fn node_holds<D: Disk>(
    core: &Core<D>,
    txn: &Transaction,
    check: Check,
    (node, guard): (&Node, &Guard),
) -> std::result::Result<bool, Miss> {
    let slots = node.first as usize..(node.first + node.slots) as usize;
    let is_same = |leaf: &Leaf| {
        node.counter != NO_COUNTER
            && leaf.counter() == node.counter
            && slots.clone().all(|slot| {
                let word = leaf.word(slot);
                !word.is_locked() && word.csn() <= txn.read_point
            })
    };
    if core.buffer.view_leaf(node.page, guard, is_same) == Some(true)
        || is_proved(core, txn, node.page, node.counter)
    {
        return Ok(true);
    }
    range_holds(core, txn, check, node)
}

/// Checks a range by its keys, leaf after leaf.
fn range_holds<D: Disk>(
    core: &Core<D>,
    txn: &Transaction,
    check: Check,
    node: &Node,
) -> std::result::Result<bool, Miss> {
    let tree = &txn.trees[node.tree as usize];
    let upper = node.upper.map(|span| txn.arena.get(span));
    let mut scratch = txn.reads.scratch.borrow_mut();
    let Scratch { key, from, next } = &mut *scratch;
    let mut lower = node.lower.map(|span| txn.arena.get(span));
    loop {
        let mut check_leaf = |leaf: &Leaf, _| {
            let (first, end) =
                (leaf_position(leaf, lower, false), leaf_position(leaf, upper, true));
            let holds = (first..end).all(|slot| {
                is_unchanged(txn, check, leaf.word(slot), || {
                    leaf.key_into(slot, key);
                    txn.writes_row(tree.id, key)
                })
            });
            next.clear();
            let fence = next_fence(leaf, upper);
            next.extend_from_slice(fence.unwrap_or_default());
            (holds, fence.is_some())
        };
        let mut view = || tree.view(&core.buffer, lower_key(lower), &mut check_leaf);
        match without_misses(|| unless_dropped(tree, view()))? {
            Some((true, false)) => return Ok(true),
            Some((true, true)) => {}
            Some((false, _)) | None => return Ok(false),
        }
        std::mem::swap(from, next);
        lower = Bound::Included(&from[..]);
    }
}

/// The rule of the module.
#[inline]
fn is_unchanged(
    txn: &Transaction,
    check: Check,
    now: VersionWord,
    is_own: impl FnOnce() -> bool,
) -> bool {
    now.csn() <= txn.read_point && (!now.is_locked() || lock_passes(check, is_own))
}

#[inline]
fn lock_passes(check: Check, is_own: impl FnOnce() -> bool) -> bool {
    match check {
        Check::Moving => true,
        Check::Early => planted(PlantedBug::LockNotChecked),
        Check::Final => planted(PlantedBug::LockNotChecked) || is_own(),
    }
}

/// The slot at which the keys from a lower bound on begin, or at which those up to an upper bound end.
#[inline]
pub(super) fn leaf_position(leaf: &Leaf, bound: Bound<&[u8]>, is_upper: bool) -> usize {
    match (bound, is_upper) {
        (Bound::Unbounded, false) => 0,
        (Bound::Unbounded, true) => leaf.count(),
        (Bound::Included(key), false) | (Bound::Excluded(key), true) => {
            leaf.search(key).unwrap_or_else(|slot| slot)
        }
        (Bound::Excluded(key), false) | (Bound::Included(key), true) => {
            leaf.search(key).map_or_else(|slot| slot, |slot| slot + 1)
        }
    }
}

/// A key whose leaf holds the first keys from a lower bound on, or those before them.
#[inline]
pub(super) fn lower_key(bound: Bound<&[u8]>) -> &[u8] {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => &[],
    }
}

/// The start of the next leaf, if the range continues there.
pub(super) fn next_fence<'l>(leaf: &'l Leaf, upper: Bound<&[u8]>) -> Option<&'l [u8]> {
    let fence = leaf.upper_fence()?;
    let goes_on = match upper {
        Bound::Unbounded => true,
        Bound::Included(key) => key >= fence,
        Bound::Excluded(key) => key > fence,
    };
    goes_on.then_some(fence)
}
