//! Were concurrent transactions isolated from each other?
//!
//! There are two tests, both through the sessions that all workloads use. *Schedules* step two or three
//! sessions through the known anomalies. *Histories*: clients append to lists and read them, under load; the
//! crate `history` checks what they saw.
//!
//! | file | what it holds |
//! |---|---|
//! | `lists.rs`, `list_load.rs`, `event_log.rs` | lists in rows, the clients that use them, their log of events |
//! | `schedules.rs`, `interleaving.rs`, `hermitage.rs` | Hermitage's schedules, played step by step, and its table |
//! | `isolation_urls.rs` | the URLs under which a target is verified |
//! | `finding.rs` | the record, compared with the claim |

mod event_log;
mod finding;
mod hermitage;
mod interleaving;
mod isolation_urls;
mod list_load;
mod lists;
mod schedules;

pub(crate) use event_log::FileLog;
pub use finding::{FORMAT, Finding};
pub use hermitage::{Cell, Row, hermitage, table};
pub use isolation_urls::{levels, with_fast_deadlock_detection};
pub(crate) use list_load::append;
pub use list_load::{Load, LoadResult, load};
pub(crate) use lists::{Lists, VALUES_MAX};
pub(crate) use syncline_history::known;
pub use syncline_history::{
    Anomaly, History, Kind, Operation, Order, Transaction, TransactionStatus, check, elle,
};
