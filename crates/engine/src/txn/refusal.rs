//! The answer to a write that the rows refuse: its row exists or does not exist, or a patch does not fit.
//!
//! If a row that was read has changed, the answer is a conflict instead, since the refusal may result from a
//! mixture of states. Otherwise it was true when the row was locked or read, since rows that are unchanged
//! and unlocked now were so then. It is returned once everything that it depends on is stable.

use crate::error::Error;
use crate::ids::Csn;
use crate::planted_bug::{PlantedBug, planted};
use crate::txn::action::Refusal;
use crate::txn::core::Core;
use crate::txn::transaction::Transaction;
use crate::txn::validate::{Check, validate};
use syncline_vfs::Disk;

/// The answer to a call; a conflict breaks the transaction.
#[cold]
pub(super) fn refuse_call<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    row: (u32, &[u8]),
    refusal: Refusal,
) -> Error {
    match refusal_of(core, txn, row, refusal, Csn::ZERO) {
        Error::Conflict(conflict) => txn.conflict(conflict),
        other => other,
    }
}

/// The answer to the commit; the row's version was that of the commit `seen`.
pub(super) fn refuse_commit<D: Disk>(
    core: &Core<D>,
    txn: &Transaction,
    row: u32,
    refusal: Refusal,
    seen: Csn,
) -> Error {
    let write = *txn.writes.get(txn.commit.rows[row as usize].write);
    refusal_of(core, txn, (write.tree, txn.arena.get(write.key)), refusal, seen)
}

fn refusal_of<D: Disk>(
    core: &Core<D>,
    txn: &Transaction,
    (tree, key): (u32, &[u8]),
    refusal: Refusal,
    seen: Csn,
) -> Error {
    if txn.is_validated()
        && txn.alone.is_none()
        && let Err(error) = validate(core, txn, Check::Early)
    {
        return error;
    }
    if !planted(PlantedBug::RefuseUnstable)
        && let Err(error) = core.wait_stable(seen.max(txn.depends_on()))
    {
        return error;
    }
    let (tree, key) = (txn.trees[tree as usize].id, key.into());
    match refusal {
        Refusal::Duplicate => Error::Duplicate { tree, key },
        Refusal::Absent => Error::Absent { tree, key },
        Refusal::Patch(failure) => Error::Patch { tree, key, failure },
    }
}
