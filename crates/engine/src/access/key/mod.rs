//! Keys: values of several columns as bytes whose order is the order of the values.
//!
//! Format: the columns one behind the other, each as
//!
//! | column | bytes |
//! |---|---|
//! | not null | the value |
//! | nullable, a value | 1, the value |
//! | nullable, null first | 0 |
//! | nullable, null last | 2 |
//!
//! | value | bytes |
//! |---|---|
//! | integer, decimal, timestamp | 8, big-endian, the sign bit turned over |
//! | floating point | 8, big-endian; the sign bit turned over, all bits where it was set |
//! | text, bytes | the bytes, 0 written as 1 1 and 1 as 1 2, then 0 as the end |
//!
//! In a descending column all bytes of the value are turned over; the byte for null is not.
//!
//! Invariants:
//! 1. Bytes compare as the values do, column by column: negative zero equals zero, not-a-number is
//!    equal to itself and above infinity, text and bytes compare byte by byte, a shorter one first.
//! 2. Equal values have equal bytes: zero is written without a sign, not-a-number in one form. A key
//!    column holds these forms only, so that a row may come back with 0.0 where -0.0 was given.
//! 3. No column's bytes are the beginning of another value's bytes. So the keys that begin with some
//!    leading columns are exactly those whose bytes begin with the bytes of these columns.
//! 4. A key of one column that is never null costs no byte beyond the value: an integer's takes 8.

mod decode;
mod encode;
mod range;
#[cfg(test)]
mod tests;

pub(crate) use decode::{KeyView, Malformed, skip, unfold};
pub(crate) use encode::{Unfit, push};
pub use range::KeyRange;
pub(crate) use range::{ByteRange, check_length, encode};
