//! The run record and every view of it.
//!
//! The record comes first: what was measured is written down as it happens, in a versioned format
//! ([`record`]), and terminal tables ([`table`]), the survey ([`survey`]), comparisons ([`compare`])
//! and the HTML report ([`html`]) are drawn from records alone. So everything that was ever shown can
//! be shown again, and by other programs.
//!
//! This room makes texts and files; it prints nothing and measures nothing.

mod bucket_quantile;
pub mod compare;
mod conclusion;
mod cost;
mod error;
mod finding;
pub mod html;
mod invariants;
mod licence;
mod published;
pub mod record;
pub mod stats;
pub mod survey;
mod sweep_title;
mod sync_line_ratio;
pub mod table;
pub mod units;

pub use cost::{CostChoice, CostThreads, FunctionsBy};
pub use error::{Error, Result};
pub use finding::{Finding, contradicted_syncs, count_finding, findings, rate_finding};
pub use invariants::violations;
pub use licence::licence_notice;
pub use sync_line_ratio::ratio as place_on_line;
