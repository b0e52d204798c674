//! The reason why no private server could be started, in one sentence.

/// A private server could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no temporary {product} server could be started: {what}")]
pub struct Error {
    /// The product.
    pub product: &'static str,
    /// The reason, and what the user can do.
    pub what: String,
}
