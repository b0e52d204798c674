//! Two records side by side, and whether the second is worse.
//!
//! 1. Runs are compared only if workload, durability, client model and machine are alike, or if asked
//!    to compare them anyway; then the differences are said.
//! 2. "Faster" and "slower" are said only where the ranges do not meet. A range is over repetitions;
//!    with fewer than two on either side it is over the intervals of the one run, and that is said.
//! 3. A regression is a throughput that is slower, or, where the schedule fixes the throughput (open
//!    loop), a 99th percentile of response time that is.

mod comparison;
mod probes;
mod runs;

pub use comparison::{Comparison, Row, Spread, Unit, Verdict, compare};
