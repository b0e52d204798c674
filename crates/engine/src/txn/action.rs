//! What a transaction asks of a row, and what that makes of it.
//!
//! Whether an operation fits is decided by the row it meets: [`Action::apply`] turns what a row is into what
//! it becomes, or into a refusal.

use crate::ids::TreeId;
use crate::txn::arena::{Arena, Span};
use crate::txn::record::row_bytes;
use crate::txn::transaction_pool::clear;
use std::fmt;

/// Turns a row into its next version: adds to `new`, which is empty. Called under the row's lock, so it
/// is short, and it sees nothing but its arguments.
pub(crate) type PatchFn =
    fn(patch: &[u8], old: &[u8], new: &mut Vec<u8>) -> Result<(), PatchFailure>;

/// Why a patch does not fit a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchFailure {
    /// The result would be beyond a bound that was asked for.
    Bound {
        /// The column's position in the table.
        column: u16,
    },
    /// The result is no number of the column's type.
    Overflow {
        /// The column's position in the table.
        column: u16,
    },
    /// The row that is there cannot be read.
    Damaged,
}

impl fmt::Display for PatchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatchFailure::Bound { column } => {
                write!(f, "column {column} would be beyond the bound that was asked for")
            }
            PatchFailure::Overflow { column } => {
                write!(f, "column {column} cannot hold the result")
            }
            PatchFailure::Damaged => f.write_str("its bytes cannot be read; restore a backup"),
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// The row becomes that, whether it is there or not.
    Put(Span),
    /// The row becomes that; it must not be there.
    Insert(Span),
    /// The row becomes that; it must be there.
    Update(Span),
    /// The row goes; it must be there.
    Delete,
    /// Parts of the row change; it must be there.
    Patch(PatchFn, Span),
}

/// Why the data refuse a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Duplicate,
    Absent,
    Patch(PatchFailure),
}

/// What a row is, while operations are folded over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldedRow {
    Absent,
    /// As it was in the store.
    Base,
    /// A value in the arena.
    Arena(Span),
    /// The value in [`Folder::value`].
    Made,
}

/// Memory for folding, reused.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub(super) value: Vec<u8>,
    next: Vec<u8>,
    pub(super) chain: Vec<u32>,
}

impl Folder {
    /// Forgets everything; returns the memory that it keeps, in bytes.
    #[inline]
    pub(super) fn clear(&mut self) -> usize {
        clear(&mut self.value) + clear(&mut self.next) + clear(&mut self.chain)
    }
}

impl Action {
    /// What a row of such a key puts into the record in any case after this operation, in bytes: without a
    /// value nothing, since the row may turn out to be as it was.
    #[inline]
    pub(super) fn record_bytes(self, tree: TreeId, key_bytes: usize) -> usize {
        match self {
            Action::Put(value) | Action::Insert(value) | Action::Update(value) => {
                row_bytes(tree, key_bytes, Some(value.len()))
            }
            Action::Delete | Action::Patch(..) => 0,
        }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Action::Put(value) | Action::Insert(value) | Action::Update(value) => value.len(),
            Action::Patch(_, patch) => patch.len(),
            Action::Delete => 0,
        }
    }

    #[inline]
    pub(super) fn apply(
        self,
        arena: &Arena,
        row: FoldedRow,
        base: Option<&[u8]>,
        folder: &mut Folder,
    ) -> Result<FoldedRow, Refusal> {
        let is_there = row != FoldedRow::Absent;
        match self {
            Action::Insert(_) if is_there => Err(Refusal::Duplicate),
            Action::Update(_) | Action::Delete | Action::Patch(..) if !is_there => {
                Err(Refusal::Absent)
            }
            Action::Put(value) | Action::Insert(value) | Action::Update(value) => {
                Ok(FoldedRow::Arena(value))
            }
            Action::Delete => Ok(FoldedRow::Absent),
            Action::Patch(patch, how) => {
                folder.next.clear();
                let old = match row {
                    FoldedRow::Arena(value) => arena.get(value),
                    FoldedRow::Made => &folder.value,
                    FoldedRow::Base | FoldedRow::Absent => base.unwrap_or_default(),
                };
                patch(arena.get(how), old, &mut folder.next).map_err(Refusal::Patch)?;
                std::mem::swap(&mut folder.value, &mut folder.next);
                Ok(FoldedRow::Made)
            }
        }
    }
}
