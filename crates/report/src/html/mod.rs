//! The report as one HTML page: self-contained, offline, light and dark, without scripts.
//!
//! Charts are SVG inside the page. What a chart shows stands in a table or in the records too, and no
//! meaning hangs on colour alone: every series has a mark of its own. The records themselves are
//! embedded as JSON, so the page can be read by programs and shown again.

mod axis;
mod by_clients;
mod chart;
mod charts;
mod commit_every;
mod comparison;
mod cost;
mod details;
mod flame;
mod observation;
mod page;
mod run_section;
mod side_by_side;
mod stores;
mod survey_table;
mod verification;
mod waits;

pub use comparison::comparison;
pub use page::report;
