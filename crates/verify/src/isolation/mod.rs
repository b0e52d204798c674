//! Were concurrent transactions isolated from each other?
//!
//! There are two tests, both through the sessions that all workloads use. *Schedules* step two or three
//! sessions through the known anomalies. *Histories*: clients append to lists and read them, under load. Each
//! value is appended once, so reads show in which order transactions wrote and which saw which. Anomalies are
//! cycles in these dependencies; the smallest one is explained in words. Histories are read and written in
//! Elle's JSON format, so other checkers can be used too.
//!
//! | file | what it holds |
//! |---|---|
//! | `history.rs`, `elle.rs` | a history, and its format on disk |
//! | `versions.rs` | the order of values; anomalies of single reads |
//! | `graph.rs`, `cycles.rs` | the graph of dependencies; its cycles |
//! | `check.rs`, `anomaly.rs`, `explanation.rs` | finds, names and explains the anomalies |
//! | `concurrency_window.rs` | commits that are visible before they are acknowledged, and stores known for it |
//! | `lists.rs`, `list_load.rs`, `event_log.rs` | lists in rows, the clients that use them, their log of events |
//! | `schedules.rs`, `interleaving.rs`, `hermitage.rs` | Hermitage's schedules, played step by step, and its table |
//! | `isolation_urls.rs` | the URLs under which a target is verified |
//! | `finding.rs` | the record, compared with the claim |

mod anomaly;
mod check;
mod concurrency_window;
mod cycles;
pub mod elle;
mod event_log;
mod explanation;
mod finding;
mod graph;
mod hermitage;
mod history;
mod interleaving;
mod isolation_urls;
mod list_load;
mod lists;
mod schedules;
mod versions;

#[cfg(test)]
mod tests;

pub use anomaly::{Anomaly, Kind, Order};
pub use check::check;
pub(crate) use concurrency_window::known;
pub(crate) use event_log::FileLog;
pub use finding::{FORMAT, Finding};
pub use hermitage::{Cell, Row, hermitage, table};
pub use history::{Ending, History, Operation, Transaction};
pub use isolation_urls::{levels, with_fast_deadlock_detection};
pub(crate) use list_load::append;
pub use list_load::{Load, Loaded, load};
pub(crate) use lists::{Lists, VALUES_MAX};
