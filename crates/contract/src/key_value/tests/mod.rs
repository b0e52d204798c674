//! The adapter under the conformance suite and beyond it, with the stores that the tests use.

mod conformance;
mod guarantees;
mod memory;
