//! Tests of the adapter: the conformance suite, further guarantees, and the stores they use.

mod conformance;
mod guarantees;
mod memory;
