//! Patches: changes of some columns of a row, as bytes that need neither the schema nor the row's old value.
//!
//! A transaction that does not read a row must not depend on it: it supplies a patch, and the commit applies
//! the patch to the row under its lock. [`apply`] is a pure function of bytes.
//!
//! Format, numbers little-endian:
//!
//! | bytes | contents |
//! |---|---|
//! | 4 | length of the layout block |
//! | that many | the layout block, see `schema/layout.rs` |
//! | the rest | steps, one after another |
//!
//! | step | bytes |
//! |---|---|
//! | all | 1 code, 2 column, 2 ordinal of its slot, 2 null bit (0xffff: never null) |
//! | 1 set fixed | 8 bits |
//! | 2 null fixed | none |
//! | 3 set variable | 4 length, the bytes |
//! | 4 null variable | none |
//! | 5 add integer (also decimal, timestamp) | 1 bounds (bit 0 lower, bit 1 upper), 8 delta, 8 each bound |
//! | 6 add float | the same |
//!
//! Invariants:
//! 1. Steps act in order, each on the result of the one before. Two patches in sequence are the steps of
//!    both.
//! 2. A row of an older version becomes one of the current version.
//! 3. Null plus anything is null, and no bound is checked.
//! 4. A sum that its type cannot hold, or that violates its bounds, is a [`PatchError`], and the
//!    row stays as it was: the caller drops `new`. A float sum must be finite if both parts are.
//! 5. No bytes make applying panic.

mod apply;
mod block;
mod build;
#[cfg(test)]
mod tests;

pub(crate) use apply::{PatchError, apply};
pub(crate) use build::{Bounds, add, begin, set};
