//! Folds the stacks of a profile into modules by a map.
//!
//! 1. Every sample is charged once: the charges of a metric add up to its samples. Samples that no rule
//!    fits are charged to no module, which is a separate row.
//! 2. Time without a processor, and switches of a thread that yielded its processor, count as waiting for a
//!    request if the stack fits an idle pattern of the map.
//! 3. If wall clock was not sampled, it is the sum of processor time and off-CPU time, provided that both
//!    could be split by stack completely.
//! 4. A metric that was not requested has no row; one that could not be split has a row with the reason
//!    and no charges.
//!
//! | file | what it holds |
//! |---|---|
//! | `account` | how a metric was measured, from the accounts of all its collectors |
//! | `charged_samples` | samples with their modules, for tables and drawings |
//! | `charged_stacks` | the module of each stack |
//! | `coverage` | warnings if the map does not fit the profile |
//! | `folding` | the sums by class and module |
//! | `wall_clock` | wall clock derived from its parts |
//! | `tests`, `product_tests` | tests with a small map, and with the built-in maps |

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
