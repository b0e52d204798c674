//! The functions of expressions: names and arities, hashes, the permutation, random draws.

mod call;
mod hash;
mod permute;
mod random;

pub(super) use call::{Arity, Function, remainder};
