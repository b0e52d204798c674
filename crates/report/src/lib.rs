//! Renders every view of a record.
//!
//! Measurements are written to records in a versioned format (`syncline_record`) as they happen. Terminal
//! tables ([`table`]), the survey ([`survey`]), comparisons ([`compare`]) and the HTML report ([`html`]) are
//! rendered from records alone, so anything shown once can be shown again, and by other programs. Two views
//! also take values from a data sheet: a disk's access time ([`DiskModel`]) and a drive's endurance
//! ([`Rating`]).
//!
//! This crate returns text; it prints nothing and measures nothing.
//!
//! | files | what they hold |
//! |---|---|
//! | `table`, `html` | views for the terminal, and as a page |
//! | `export` | records in the formats of other programs |
//! | `survey`, `compare` | the runs of a survey by store; two records compared |
//! | `cost`, `conclusion` | the sheet of a profiled run; conclusions from an observation |
//! | `steadiness` | how far a run's throughput is known; its warm-up and outliers |
//! | `sweep_title`, `bucket_quantile` | the titles of runs of a sweep; quantiles of a store's histograms |
//! | `published` | the figures that other sources published |
//! | `access_time`, `endurance` | values from the data sheet of a disk or a drive |
//! | `error` | why a view cannot be rendered |

mod access_time;
mod bucket_quantile;
pub mod compare;
mod conclusion;
mod cost;
mod endurance;
mod error;
pub mod export;
pub mod html;
mod published;
mod steadiness;
pub mod survey;
mod sweep_title;
pub mod table;

pub use access_time::{AccessTime, DiskModel};
pub use cost::{CostChoice, CostThreads, FunctionsBy};
pub use endurance::Rating;
pub use error::{Error, Result};
