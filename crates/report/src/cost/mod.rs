//! What views of a metered run share: the table by module as plain figures, the words for metrics, and
//! how each was taken.
//!
//! The terminal and the page draw the same [`Sheet`]; neither reckons for itself.

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
pub(crate) use functions::{FunctionRow, Functions, Whose, functions, named};
pub(crate) use metric_names::words;
pub(crate) use provenance::accounts_in_words;
pub(crate) use sampling_error::{sampling_error, too_few};
pub(crate) use sheet::{CLASSES, Figure, Heading, Sheet, SheetRow};
pub use sheet::{CostChoice, CostThreads};
