//! Reads one row at the transaction's isolation level.
//!
//! A transaction reads everything as it was at its *read point*: after that commit and before the next. The
//! point is never past the published prefix, so everything up to it is already applied.
//!
//! - A word that is not newer than the point shows the row as it was at the point: any change up to the point
//!   would be applied and visible. The same holds for a locked row: its writer has not published yet,
//!   so its number is past the point.
//! - A newer word, in a snapshot: the version is looked up (see `version`).
//! - A newer word, in a serializable transaction: the point moves to the current published prefix, if
//!   nothing that was read has changed since (`validate`), and the row is read again. If the row's commit
//!   waits for earlier ones to be published, the reader waits briefly. Such a transaction begins at the part
//!   of the prefix that is known without asking other cores: finding its end reads what other cores have just
//!   written, which is left to the transactions that need it.
//! - No such key: no row at the point either. A delete past the point would have left its ghost, which
//!   stays while this transaction is registered.
//!
//! A value is shown in place, under the latch of its leaf: a reader of a long row usually needs a few
//! columns, and need not wait for the memory of the others. An older version, or a value in extents,
//! is shown in memory of the transaction.

use crate::access::btree::Tree;
use crate::access::btree::extents::{self, ExtentPointer};
use crate::buffer::VersionWord;
use crate::buffer::{Buffer, Miss};
use crate::conflict::Conflict;
use crate::error::{Error, Result};
use crate::ids::{Csn, PageId};
use crate::step::{Step, step};
use crate::txn::arena::Span;
use crate::txn::core::{Core, pause};
use crate::txn::hash::hash;
use crate::txn::read_set::{NO_SLOT, Read};
use crate::txn::transaction::Transaction;
use crate::txn::validate::{Check, validate};
use crate::txn::version::Name;
use syncline_vfs::Disk;

/// Checks of the published prefix before a read that it does not reach is a conflict.
const READ_POINT_CHECKS: u32 = 1_000;

/// The word of a row that does not exist.
#[inline]
pub(super) fn absent() -> VersionWord {
    VersionWord(0).ghost()
}

/// The result of looking up a key.
#[derive(Clone, Copy)]
struct RowLookup {
    word: VersionWord,
    page: PageId,
    counter: u64,
    slot: u32,
}

/// Reads a stored row, without the transaction's own writes. Returns true if it exists; then `show` was
/// called once with its value, under a latch, so it must not access a tree. The hint names the leaf that
/// likely covers the key.
pub(super) fn read<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    (tree, hint): (u32, Option<PageId>),
    key: &[u8],
    mut show: impl FnMut(&[u8]),
) -> Result<bool> {
    loop {
        step(Step::Read);
        let tree_handle = &txn.trees[tree as usize];
        let (point, pointer) = (txn.read_point, &mut txn.elsewhere);
        let show_or_keep = |word: VersionWord, value: &[u8]| {
            if word.csn() > point || word.is_ghost() {
            } else if word.is_overflow() {
                pointer.clear();
                pointer.extend_from_slice(value);
            } else {
                show(value);
            }
        };
        let found = lookup(&core.buffer, (tree_handle, hint), key, show_or_keep)?;
        let Some(found) = found else {
            return Err(txn.conflict(Conflict::Dropped));
        };
        txn.newest_read = txn.newest_read.max(found.word.csn());
        if found.word.csn() <= txn.read_point {
            if txn.is_validated() {
                add_read(core, txn, (tree, key), found)?;
            }
            if found.word.is_overflow() {
                return show_elsewhere(core, txn, tree, found.word, show);
            }
            still_registered(core, txn)?;
            return Ok(!found.word.is_ghost());
        }
        if txn.is_validated() {
            move_read_point(core, txn, found.word.csn())?;
            continue;
        }
        step(Step::Read);
        let id = txn.trees[tree as usize].id;
        let name = Name { hash: hash(id, key), tree: id, key };
        let version = core.versions.find(name, txn.read_point, &mut txn.elsewhere);
        return show_elsewhere(core, txn, tree, version.unwrap_or(absent()), show);
    }
}

/// The same into `txn.value`; false if the row does not exist.
#[inline]
pub(super) fn copy<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    tree_and_hint: (u32, Option<PageId>),
    key: &[u8],
) -> Result<bool> {
    let mut copy = std::mem::take(&mut txn.value);
    let is_there = read(core, txn, tree_and_hint, key, |value| {
        copy.clear();
        copy.extend_from_slice(value);
    });
    txn.value = copy;
    is_there
}

/// Moves the read point to the published prefix, which must reach `past`. If a table was changed before that,
/// its old handle becomes unusable, since its schema need not fit the rows.
pub(super) fn move_read_point<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    past: Csn,
) -> Result<()> {
    let mut retries = 0;
    let point = loop {
        step(Step::ReadPoint);
        let point = core.log.published();
        if point >= past {
            break point;
        }
        if retries == READ_POINT_CHECKS {
            return Err(txn.conflict(Conflict::ReadPoint));
        }
        pause(retries);
        retries += 1;
    };
    // A definition drops old handles before the gate opens, so before anything later is published.
    if txn.alone.is_none() && txn.trees.iter().any(|tree| tree.is_dropped()) {
        return Err(txn.conflict(Conflict::Dropped));
    }
    match validate(core, txn, Check::Moving) {
        Err(Error::Conflict(conflict)) => return Err(txn.conflict(conflict)),
        checked => checked?,
    }
    txn.read_point = point;
    core.registry.advance(txn.seat, point);
    Ok(())
}

/// Replaces an extent pointer by its value. Returns false if the pages are gone. Errors as [`Buffer::load`].
pub(super) fn resolve(buffer: &Buffer, value: &mut Vec<u8>) -> Result<bool> {
    let Some(pointer) = ExtentPointer::from_value(value) else {
        return Ok(false);
    };
    value.clear();
    read_extents(buffer, pointer, value)
}

/// Appends a value from extents. Returns false if they are gone. Errors as [`Buffer::load`].
pub(super) fn read_extents(
    buffer: &Buffer,
    pointer: ExtentPointer,
    value: &mut Vec<u8>,
) -> Result<bool> {
    let mut hold = None;
    loop {
        match extents::read(buffer, pointer, value) {
            Ok(found) => return Ok(found),
            Err(miss) => {
                // All its extents are needed at once.
                hold.get_or_insert_with(|| buffer.hold_eviction()).load(miss)?;
            }
        }
    }
}

/// Repeats the access to a tree until the pages are in memory; none if the tree is dropped. Errors as
/// [`Buffer::load`].
#[inline]
pub(super) fn resident<R>(
    buffer: &Buffer,
    tree: &Tree,
    mut lookup: impl FnMut() -> std::result::Result<R, Miss>,
) -> Result<Option<R>> {
    loop {
        match lookup() {
            Ok(seen) => return Ok(Some(seen)),
            Err(_) if tree.is_dropped() => return Ok(None),
            Err(miss) => buffer.load(miss)?,
        }
    }
}

/// Looks up a key. `show` is called with its word and value (or extent pointer). None if the tree is dropped.
/// Errors as [`Buffer::load`].
#[inline]
fn lookup(
    buffer: &Buffer,
    (tree, hint): (&Tree, Option<PageId>),
    key: &[u8],
    mut show: impl FnMut(VersionWord, &[u8]),
) -> Result<Option<RowLookup>> {
    resident(buffer, tree, || {
        tree.view_at(buffer, hint, key, |leaf, page| {
            let counter = leaf.counter();
            // A hint comes from a prefetch, which has loaded the row.
            let found = if hint.is_some() { leaf.search(key) } else { leaf.seek(key) };
            let Ok(slot) = found else {
                return RowLookup { word: absent(), page, counter, slot: NO_SLOT };
            };
            let word = leaf.word(slot).unlocked();
            show(word, leaf.value(slot));
            RowLookup { word, page, counter, slot: slot as u32 }
        })
    })
}

fn add_read<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    (tree, key): (u32, &[u8]),
    found: RowLookup,
) -> Result<()> {
    let key = add_key(core, txn, key)?;
    txn.reads.reads.push(Read {
        tree,
        slot: found.slot,
        page: found.page,
        counter: found.counter,
        word: found.word,
        key,
        is_held: false,
    });
    Ok(())
}

/// Copies a key that was read into the arena.
pub(super) fn add_key<D: Disk>(core: &Core<D>, txn: &mut Transaction, key: &[u8]) -> Result<Span> {
    core.check_read(txn, key.len())?;
    txn.reads.key_bytes += key.len();
    Ok(txn.arena.add(key))
}

/// Shows a value, or the value of an extent pointer, from `txn.elsewhere`, after checking that nothing was
/// removed meanwhile. Returns true if the row exists.
fn show_elsewhere<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    tree: u32,
    word: VersionWord,
    mut show: impl FnMut(&[u8]),
) -> Result<bool> {
    let is_whole = !word.is_overflow() || resolve(&core.buffer, &mut txn.elsewhere)?;
    still_registered(core, txn)?;
    if !is_whole || (word.is_overflow() && txn.trees[tree as usize].is_dropped()) {
        // While this transaction is registered, only dropping the tree frees the pages.
        return Err(txn.conflict(Conflict::Dropped));
    }
    if !word.is_ghost() {
        show(&txn.elsewhere);
    }
    Ok(!word.is_ghost())
}

/// Fails if versions that the transaction needs may have been dropped.
pub(super) fn still_registered<D: Disk>(core: &Core<D>, txn: &mut Transaction) -> Result<()> {
    if core.registry.is_doomed(txn.seat) {
        return Err(txn.conflict(Conflict::SnapshotTooOld));
    }
    Ok(())
}
