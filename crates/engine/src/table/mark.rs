//! Savepoints of a transaction.

use crate::error::{Error, Result};
use crate::txn::{Savepoint, Session};
use syncline_vfs::Disk;

/// A savepoint of a transaction, to which its writes can be rolled back; see
/// [`rollback_to`](crate::Transaction::rollback_to). It is valid only for that transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    savepoint: Savepoint,
    /// The transaction's unique number, from [`Session::transaction_number`].
    transaction: (u64, u64),
}

/// A savepoint at the current point of the transaction.
pub(super) fn mark<D: Disk>(session: &mut Session<D>) -> Result<Mark> {
    session.check_open()?;
    Ok(Mark { savepoint: session.savepoint(), transaction: session.transaction_number() })
}

/// Undoes the writes since the mark.
pub(super) fn rollback_to<D: Disk>(session: &mut Session<D>, mark: Mark) -> Result<()> {
    session.check_open()?;
    if session.transaction_number() != mark.transaction {
        let what = "belongs to another transaction";
        return Err(Error::OtherMark { what });
    }
    if !session.can_roll_back_to(mark.savepoint) {
        let what = "is later than a mark to which the transaction was rolled back";
        return Err(Error::OtherMark { what });
    }
    session.rollback_to(mark.savepoint);
    Ok(())
}
