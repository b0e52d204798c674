//! Reads a row that the transaction itself writes.
//!
//! The result includes the transaction's own writes. If these are only patches, they are applied to the
//! stored row, which counts as read: the commit locks the row where it was read, and thereby validates it.
//!
//! An insert does not read the stored row. If the row exists, the commit refuses the insert as a duplicate;
//! meanwhile index entries lead to the stored row, which the transaction no longer sees. So two calls report
//! the commit's refusal early, where they can detect it:
//! 1. a scan that meets the stored row of an insert, or an index entry whose row is inserted and stored;
//! 2. a read of a row that the transaction has inserted and deleted again, which would otherwise look absent.

use crate::error::Result;
use crate::ids::PageId;
use crate::txn::action::FoldedRow;
use crate::txn::core::Core;
use crate::txn::part_timers::Part;
use crate::txn::read::copy;
use crate::txn::refusal::refuse_call;
use crate::txn::transaction::Transaction;
use syncline_vfs::Disk;

/// The value of a row with a write in the transaction; none if the row does not exist.
#[inline]
pub(super) fn get_own<'t, D: Disk>(
    core: &Core<D>,
    txn: &'t mut Transaction,
    (tree, key): ((u32, Option<PageId>), &[u8]),
    at: u32,
) -> Result<Option<&'t [u8]>> {
    let folded = match txn.writes.own(&txn.arena, at, &mut txn.folder) {
        Some(Ok(FoldedRow::Absent)) => {
            refuse_duplicate(core, txn, (tree, key), at)?;
            return Ok(None);
        }
        Some(folded) => folded,
        // Patches of the stored row, which counts as read.
        None if !copy_base(core, txn, (tree, key), at)? => return Ok(None),
        None => {
            let (writes, arena) = (&txn.writes, &txn.arena);
            writes.fold(arena, at, Some(&txn.value), &mut txn.folder)
        }
    };
    match folded {
        Ok(FoldedRow::Absent) => Ok(None),
        Ok(FoldedRow::Base) => Ok(Some(&txn.value)),
        Ok(FoldedRow::Arena(span)) => Ok(Some(txn.arena.get(span))),
        Ok(FoldedRow::Made) => Ok(Some(&txn.folder.value)),
        Err(refusal) => Err(refuse_call(core, txn, (tree.0, key), refusal)),
    }
}

/// Refuses the row if the transaction inserts it although it exists.
#[inline]
pub(super) fn refuse_duplicate<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    (tree, key): ((u32, Option<PageId>), &[u8]),
    at: u32,
) -> Result<()> {
    if !txn.writes.is_inserted(at) {
        return Ok(());
    }
    let is_there = copy_base(core, txn, (tree, key), at)?;
    let base = is_there.then_some(&txn.value[..]);
    match txn.writes.fold(&txn.arena, at, base, &mut txn.folder) {
        Ok(_) => Ok(()),
        Err(refusal) => Err(refuse_call(core, txn, (tree.0, key), refusal)),
    }
}

/// Reads the stored row into `txn.value`; false if it does not exist.
#[inline]
fn copy_base<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    (tree, key): ((u32, Option<PageId>), &[u8]),
    at: u32,
) -> Result<bool> {
    let _doing = core.watch.enter(Part::Read, txn.is_measured);
    let reads = txn.reads.reads.len();
    let is_there = copy(core, txn, tree, key)?;
    // A snapshot's reads are not recorded.
    if txn.reads.reads.len() > reads {
        txn.writes.was_read(at, reads as u32);
    }
    Ok(is_there)
}
