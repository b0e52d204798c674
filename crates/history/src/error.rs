//! Why a history cannot be read.

/// What is wrong with a history's text and where, as one sentence without a final period.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub(crate) String);
