//! Did isolation hold?
//!
//! Two ways to find out, through the same sessions as every workload. *Schedules*: two or three sessions
//! led step by step through the known anomalies. *Histories*: clients append to lists and read them, under
//! load. Since
//! each value is appended once, what was read tells in which order transactions wrote, and who saw what.
//! Anomalies are cycles in that; the smallest is explained in words. Histories are read and written in
//! Elle's JSON form, so that other checkers can be asked too.
//!
//! | file | what stands in it |
//! |---|---|
//! | `history.rs`, `elle.rs` | a history, and its form on disk |
//! | `versions.rs` | which value came after which; what is wrong with single reads |
//! | `graph.rs`, `cycles.rs` | which transaction came before which; cycles |
//! | `check.rs`, `anomaly.rs`, `explanation.rs` | the anomalies, found, named and explained |
//! | `concurrency_window.rs` | what is seen of a commit before it is acknowledged, and which stores are known for it |
//! | `lists.rs`, `list_load.rs`, `event_log.rs` | lists in rows, clients that use them, and where they tell it |
//! | `schedules.rs`, `interleaving.rs`, `hermitage.rs` | Hermitage's schedules, played step by step, and its table |
//! | `isolation_urls.rs` | a target's levels, and what a private server is asked for |
//! | `finding.rs` | the record, against what was claimed |

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
