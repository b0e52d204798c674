//! What views of a metered run share: the table by module as plain figures, the words for metrics, and
//! how each was taken.
//!
//! The terminal and the page draw the same [`Sheet`]; neither reckons for itself.

mod counts;
mod few;
mod functions;
mod sheet;
mod shown;
mod taken;
mod words;

pub(crate) use counts::{garbage_share, sentences};
pub(crate) use few::{sampling_error, too_few};
pub use functions::FunctionsBy;
pub(crate) use functions::{FunctionRow, Functions, Whose, class_word, functions, named};
pub(crate) use sheet::{CLASSES, Figure, Heading, Sheet, SheetRow};
pub use sheet::{CostChoice, CostThreads};
pub(crate) use shown::{charged_in_words, shown, title};
pub(crate) use taken::accounts_in_words;
pub(crate) use words::words;
