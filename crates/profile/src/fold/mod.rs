//! From stacks to modules: a profile folded by a map.
//!
//! 1. Every sample is charged once: the charges of a metric add up to its samples. What no rule knows
//!    is charged to no module, which is a row of its own.
//! 2. Time that passed without a processor, and switches of a thread that gave its processor up, are
//!    waiting for a request where the stack fits an idle pattern of the map.
//! 3. Where wall clock was not sampled it is the sum of processor time and off-CPU time, provided that
//!    all of it could be split by stack.
//! 4. A metric that was not asked for has no row; one that could not be split has a row with the reason
//!    and no charges.

mod account;
mod charged_samples;
mod charged_stacks;
mod coverage;
mod folding;
mod wall_clock;

#[cfg(test)]
mod product_tests;
#[cfg(test)]
mod tests;

pub use charged_samples::{ChargedProfile, ChargedSample};
pub(crate) use charged_stacks::Stacks;
pub use folding::fold;
