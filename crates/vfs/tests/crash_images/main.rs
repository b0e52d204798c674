//! Every crash image is explainable: random operations on a simulated disk, crashes of every kind
//! after any of them, and a model that knows what each byte and each name may be.
//!
//! The same check must fail when the disk is planted with a fault (`planted`): else it tests nothing.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod bytes;
mod mutated_disk;
mod names;
