//! Keys: values of several columns encoded as bytes that sort like the values.
//!
//! Format: the columns one after another, each as
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
//! | integer, decimal, timestamp | 8, big-endian, the sign bit inverted |
//! | floating point | 8, big-endian; the sign bit inverted, or all bits if it was set |
//! | text, bytes | the bytes, 0 written as 1 1 and 1 as 1 2, then 0 as the end |
//!
//! In a descending column all bytes of the value are inverted; the tag for null is not.
//!
//! Invariants:
//! 1. Bytes compare as the values do, column by column: negative zero equals zero, not-a-number is
//!    equal to itself and above infinity, text and bytes compare byte by byte, a prefix first.
//! 2. Equal values have equal bytes: zero is written without a sign, not-a-number in one form. A key
//!    column holds only these forms, so that a row inserted with -0.0 may be read with 0.0.
//! 3. No column's bytes are a proper prefix of another value's bytes. So the keys that begin with some
//!    leading columns are exactly those whose bytes begin with the bytes of these columns.
//! 4. A key of one column that is never null has no overhead: an integer takes 8 bytes.

mod decode;
mod encode;
mod range;
#[cfg(test)]
mod tests;

pub(crate) use decode::{KeyView, Malformed, skip, unfold};
pub(crate) use encode::{Unfit, push};
pub use range::KeyRange;
pub(crate) use range::{ByteRange, check_length, encode};
