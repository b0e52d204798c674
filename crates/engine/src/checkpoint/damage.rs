//! Error values for damage to a data file.

use crate::error::Error;
use std::path::Path;

/// Damage at a byte of the data file.
pub(super) fn damaged(path: &Path, offset: u64, what: impl Into<String>) -> Error {
    Error::Damaged { path: path.to_owned(), offset, what: what.into() }
}
