//! Every view of a record.
//!
//! The record comes first: what was measured is written down as it happens, in a versioned format
//! (`syncline_record`), and terminal tables ([`table`]), the survey ([`survey`]), comparisons ([`compare`])
//! and the HTML report ([`html`]) are drawn from records alone. So everything that was ever shown can
//! be shown again, and by other programs. Two views also take what a data sheet says: a disk's access time
//! ([`DiskModel`]) and a drive's endurance ([`Rating`]).
//!
//! This crate makes texts and files; it prints nothing and measures nothing.

mod access_time;
mod bucket_quantile;
pub mod compare;
mod conclusion;
mod cost;
mod endurance;
mod error;
pub mod html;
mod published;
pub mod survey;
mod sweep_title;
pub mod table;

pub use access_time::{AccessTime, DiskModel};
pub use cost::{CostChoice, CostThreads, FunctionsBy};
pub use endurance::Rating;
pub use error::{Error, Result};
