//! What views of a metered run share: the table by module as plain figures, the words for metrics, and
//! how each was taken.
//!
//! The terminal and the page draw the same [`Sheet`]; neither reckons for itself.

mod counts;
mod sheet;
mod taken;
mod words;

pub(crate) use counts::sentences;
pub use sheet::{CostChoice, CostThreads};
pub(crate) use sheet::{Figure, Heading, Sheet, SheetRow};
pub(crate) use taken::{Taken, not_asked, taken};
pub(crate) use words::words;
