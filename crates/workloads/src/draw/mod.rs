//! What clients draw from: random streams that a seed repeats, and the distributions of the field.

mod nurand;
mod stream;

pub(crate) use nurand::{Nurand, run_constant};
pub(crate) use stream::{Stream, mixed};
