//! What clients draw from: random streams that a seed repeats, and the distributions of the field.

mod stream;

pub(crate) use stream::{Stream, mixed};
