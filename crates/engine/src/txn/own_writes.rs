//! Reading a row that the transaction itself writes.
//!
//! It sees what its own writes make of the row. Where these are patches alone, they are folded over what the
//! store has, which counts as read: the commit locks the row where it was read, and validates it with that.
//!
//! An insert does not read what the store has. If the row is there all the same, the commit refuses it as a
//! duplicate, and entries of indexes lead to the row as it is stored, which the transaction no longer sees.
//! So whoever can tell says at once what the commit would say:
//!
//! 1. a scan that meets the stored row of an insert, or an index entry whose row is inserted and stored;
//! 2. a read of a row that the transaction has inserted and deleted again, which would be absent else.

use crate::error::Result;
use crate::ids::PageId;
use crate::txn::action::FoldedRow;
use crate::txn::core::Core;
use crate::txn::part_timers::Part;
use crate::txn::read::copy;
use crate::txn::refusal::refuse_call;
use crate::txn::transaction::Transaction;
use syncline_vfs::Disk;

/// The value of the row that a write of the transaction is about; none if it is not there.
#[inline]
pub(super) fn get_own<'t, D: Disk>(
    core: &Core<D>,
    txn: &'t mut Transaction,
    (place, key): ((u32, Option<PageId>), &[u8]),
    at: u32,
) -> Result<Option<&'t [u8]>> {
    let folded = match txn.writes.own(&txn.arena, at, &mut txn.folder) {
        Some(Ok(FoldedRow::Absent)) => {
            refuse_duplicate(core, txn, (place, key), at)?;
            return Ok(None);
        }
        Some(folded) => folded,
        // Patches over what the store has, which counts as read.
        None if !copy_base(core, txn, (place, key), at)? => return Ok(None),
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
        Err(refusal) => Err(refuse_call(core, txn, (place.0, key), refusal)),
    }
}

/// Refuses if the row is inserted, though it is there.
#[inline]
pub(super) fn refuse_duplicate<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    (place, key): ((u32, Option<PageId>), &[u8]),
    at: u32,
) -> Result<()> {
    if !txn.writes.is_inserted(at) {
        return Ok(());
    }
    let is_there = copy_base(core, txn, (place, key), at)?;
    let base = is_there.then_some(&txn.value[..]);
    match txn.writes.fold(&txn.arena, at, base, &mut txn.folder) {
        Ok(_) => Ok(()),
        Err(refusal) => Err(refuse_call(core, txn, (place.0, key), refusal)),
    }
}

/// Reads what the store has of it into `txn.value`; false if it is not there.
#[inline]
fn copy_base<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    (place, key): ((u32, Option<PageId>), &[u8]),
    at: u32,
) -> Result<bool> {
    let _doing = core.watch.enter(Part::Read, txn.is_measured);
    let reads = txn.reads.reads.len();
    let is_there = copy(core, txn, place, key)?;
    // A snapshot's reads are not kept.
    if txn.reads.reads.len() > reads {
        txn.writes.was_read(at, reads as u32);
    }
    Ok(is_there)
}
