//! Whether a directory is good enough for a product: the product's own writes, repeated, against its limits.
//!
//! 1. A product is a data file under `products/`: the writes of one operation, published limits with their
//!    sources, and deadlines from which the consequence in words follows. No limit is in code.
//! 2. Each shape is measured in three windows apart in time, and the worst one decides: a volume that is slow
//!    for minutes at a time is not fit because its average is.
//! 3. A limit on a percentile is judged by the number of slow operations, with a chance of error of 2.5 % in
//!    each direction. If the samples decide neither way, the word is "not known".
//! 4. A directory that loses what it syncs is unfit whatever its speed.
//!
//! | file | what it holds |
//! |---|---|
//! | `product` | the products, read from their data files |
//! | `schedule` | the steps of a probe for products, from a time budget |
//! | `windows` | the windows of each shape in one directory |
//! | `resolved` | percentiles that the samples resolve |
//! | `judgement` | limits against windows |
//! | `report` | the verdict on a directory for each product |
//! | `consequence` | what follows for the product, and what would help |
//! | `tests` | verdicts over given times |

mod consequence;
mod judgement;
mod product;
mod report;
mod resolved;
mod schedule;
mod windows;

#[cfg(test)]
mod tests;

pub use product::{Deadline, Position, Product, Shape, Threshold, WriteStep, product, products};
pub(crate) use report::{FitnessInput, verdicts_for};
pub(crate) use resolved::resolved;
pub use schedule::FITNESS_BUDGET_NS;
pub(crate) use schedule::evidence;
pub(crate) use windows::ShapeWindows;
