//! How rows are found: the option `by` of several workloads.

use syncline_contract::words;

words! {
    /// How rows are found.
    pub enum By {
        /// By their primary key.
        Key = "key",
        /// Through a unique secondary index.
        Index = "index",
    }
}
