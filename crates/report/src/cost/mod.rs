//! The shared parts of the views of a profiled run: the table by module as plain figures, the names of
//! metrics, and how each was measured.
//!
//! The terminal and the page render the same [`Sheet`]; neither does arithmetic of its own.

mod cell_text;
mod counts;
mod functions;
mod metric_names;
mod provenance;
mod sampling_error;
mod sheet;

pub(crate) use cell_text::{charged_in_words, shown, title};
pub(crate) use counts::{garbage_share, sentences};
pub use functions::FunctionsBy;
pub(crate) use functions::{FunctionRow, Functions, ThreadFilter, functions, named};
pub(crate) use metric_names::words;
pub(crate) use provenance::accounts_in_words;
pub(crate) use sampling_error::{sampling_error, too_few};
pub(crate) use sheet::{CLASSES, Figure, Heading, Sheet, SheetRow};
pub use sheet::{CostChoice, CostThreads};
