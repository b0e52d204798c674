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
//! | `check.rs`, `anomaly.rs`, `words.rs` | the anomalies, found, named and explained |
//! | `window.rs` | what is seen of a commit before it is acknowledged, and which stores are known for it |
//! | `lists.rs`, `load.rs`, `events.rs` | lists in rows, clients that use them, and where they tell it |
//! | `schedules.rs`, `stage.rs`, `hermitage.rs` | Hermitage's schedules, played step by step, and its table |
//! | `urls.rs` | a target's levels, and what a private server is asked for |
//! | `finding.rs` | the record, against what was claimed |

mod anomaly;
mod check;
mod cycles;
pub mod elle;
mod events;
mod finding;
mod graph;
mod hermitage;
mod history;
mod lists;
mod load;
mod schedules;
mod stage;
mod urls;
mod versions;
mod window;
mod words;

#[cfg(test)]
mod tests;

pub use anomaly::{Anomaly, Kind, Order};
pub use check::check;
pub(crate) use events::Written;
pub use finding::{FORMAT, Finding};
pub use hermitage::{Cell, Row, hermitage, table};
pub use history::{Ending, History, Operation, Transaction};
pub(crate) use lists::{Lists, VALUES_MAX};
pub(crate) use load::append;
pub use load::{Load, Loaded, load};
pub use urls::{hastened, levels};
pub(crate) use window::known;
