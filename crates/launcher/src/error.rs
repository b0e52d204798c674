//! The error of a private server that could not be started.

/// A private server could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no temporary {product} server could be started: {what}")]
pub struct Error {
    /// The product.
    pub product: &'static str,
    /// The reason, and what to do.
    pub what: String,
}
