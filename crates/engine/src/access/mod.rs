//! Access: rows found and changed by key. Trees of bytes below, typed rows above.

pub(crate) mod btree;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
pub(crate) mod key;
pub(crate) mod patch;
pub(crate) mod row;
pub(crate) mod schema;
