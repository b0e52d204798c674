//! The real binary: what it prints, what it leaves behind, how it ends.

mod bad_input;
mod records;
mod runs;
mod stopping;
mod support;
mod survey;
mod texts;
