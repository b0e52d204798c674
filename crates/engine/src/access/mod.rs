//! Access to rows by key: trees of bytes, and the encodings of typed keys and rows.

pub(crate) mod btree;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
pub(crate) mod key;
pub(crate) mod patch;
pub(crate) mod row;
pub(crate) mod schema;
