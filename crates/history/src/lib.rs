//! Histories of transactions that append to lists and read them, and the check of their isolation.
//!
//! Each value is appended once, so reads show in which order transactions wrote and which saw which.
//! Anomalies are cycles in these dependencies; the smallest one is explained in words. Histories are read
//! and written in Elle's JSON format, so other checkers can be used too.
//!
//! | file | what it holds |
//! |---|---|
//! | `history.rs`, `elle.rs`, `error.rs` | a history; its format on disk; why it cannot be read |
//! | `versions.rs` | the order of values; anomalies of single reads |
//! | `graph.rs`, `graph_search.rs` | the graph of dependencies; components and shortest cycles |
//! | `check.rs`, `anomaly.rs`, `explanation.rs` | classifies cycles as anomalies; their names and levels; explains them |
//! | `concurrency_window.rs` | commits that are visible before they are acknowledged, and stores known for it |
//! | `tests.rs` | tests with known anomalies |

mod anomaly;
mod check;
mod concurrency_window;
pub mod elle;
mod error;
mod explanation;
mod graph;
mod graph_search;
mod history;
mod versions;

#[cfg(test)]
mod tests;

pub use anomaly::{Anomaly, Kind, Order};
pub use check::check;
pub use concurrency_window::known;
pub use error::Error;
pub use history::{History, Operation, Transaction, TransactionStatus};
