//! The operations of a transaction on a row, and their results.
//!
//! Whether an operation is allowed depends on the row: [`Action::apply`] turns the row's old state into its
//! new one, or into a refusal.

use crate::error::PatchFailure;
use crate::ids::TreeId;
use crate::txn::arena::{Arena, Span};
use crate::txn::record::row_bytes;
use crate::txn::transaction_pool::clear;

/// Appends the next version of a row to `new`, which is empty. Called under the row's lock, so it must be
/// short, and it may use only its arguments.
pub(crate) type PatchFn =
    fn(patch: &[u8], old: &[u8], new: &mut Vec<u8>) -> Result<(), PatchFailure>;

/// A requested operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Sets the row, whether it exists or not.
    Put(Span),
    /// Sets the row, which must not exist.
    Insert(Span),
    /// Sets the row, which must exist.
    Update(Span),
    /// Deletes the row, which must exist.
    Delete,
    /// Changes parts of the row, which must exist.
    Patch(PatchFn, Span),
}

/// Why the rows refuse a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Duplicate,
    Absent,
    Patch(PatchFailure),
}

/// The state of a row while operations are applied to it one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldedRow {
    Absent,
    /// The stored row.
    Base,
    /// A value in the arena.
    Arena(Span),
    /// The value in [`Folder::value`].
    Made,
}

/// Reused memory for folding.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub(super) value: Vec<u8>,
    next: Vec<u8>,
    pub(super) chain: Vec<u32>,
}

impl Folder {
    /// Forgets everything. Returns the memory that it keeps, in bytes.
    #[inline]
    pub(super) fn clear(&mut self) -> usize {
        clear(&mut self.value) + clear(&mut self.next) + clear(&mut self.chain)
    }
}

impl Action {
    /// The least that this operation on a row with such a key adds to the record, in bytes: nothing for an
    /// operation without a value, since the row may turn out unchanged.
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
