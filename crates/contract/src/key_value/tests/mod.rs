//! The adapter under the conformance suite and beyond it, with the stores that the tests use.

mod conform;
mod memory;
mod promises;
