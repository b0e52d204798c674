//! Access: rows found and changed by key. Trees of bytes below, typed rows above.

pub(crate) mod btree;
pub(crate) mod key;
pub(crate) mod patch;
pub(crate) mod row;
pub(crate) mod schema;
