//! Every crash image is explainable: random operations on a simulated disk, crashes of every kind after any
//! of them, and a model that knows the possible values of each byte and each name.
//!
//! The same check must fail on a disk with a mutation (`mutated_disk`): otherwise it tests nothing.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod bytes;
mod mutated_disk;
mod names;
