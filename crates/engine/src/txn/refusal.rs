//! What is said of a write that the data refuse: its row is there already or is not, or a patch does not fit.
//!
//! If what was read has changed it is a conflict instead: then the refusal may stem from a mixture of states.
//! Otherwise it is true of the moment when the row was looked at, since rows that are unchanged and unlocked
//! now were so then, and it may be told once everything that was seen is stable.

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

/// The answer to the commit; the row was seen as the commit `seen` had left it.
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
        && let Err(conflict) = validate(core, txn, Check::Early)
    {
        return Error::Conflict(conflict);
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
