//! The shared parts of the views of a profiled run: the table by module as plain figures, the names of
//! metrics, and how each was measured.
//!
//! The terminal and the page render the same [`Sheet`]; neither does arithmetic of its own.
//!
//! | file | what it holds |
//! |---|---|
//! | `sheet` | the table by module: rows, headings and figures |
//! | `functions` | the table by function, and the choice of threads |
//! | `counts` | sentences on commits, syncs, coverage, garbage and the profiler's own cost |
//! | `provenance` | how each metric was measured |
//! | `sampling_error` | how far shares may be off by chance, and how to get more samples |
//! | `cell_text`, `metric_names` | figures, rules of charging and metrics in words |

mod cell_text;
mod counts;
mod functions;
mod metric_names;
mod provenance;
mod sampling_error;
mod sheet;

pub(crate) use cell_text::{cell_text, charging_in_words, title};
pub(crate) use counts::{garbage_share, sentences};
pub use functions::FunctionsBy;
pub(crate) use functions::{FunctionRow, Functions, ThreadFilter, function_and_object, functions};
pub(crate) use metric_names::words;
pub(crate) use provenance::accounts_in_words;
pub(crate) use sampling_error::{sampling_error, too_few};
pub(crate) use sheet::{CLASSES, Figure, Heading, Sheet, SheetRow};
pub use sheet::{CostChoice, CostThreads};
