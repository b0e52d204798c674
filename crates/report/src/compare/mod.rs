//! Two records side by side, and whether the second is worse.
//!
//! 1. Runs are compared only if workload, durability, clients, workers, length and machine are alike, or if
//!    asked to compare them anyway; then the differences are said.
//! 2. "Faster" and "slower" follow the rules of `verdict`; what is too short to be judged is said to be that,
//!    and a comparison whose deciding figure is too short has no verdict.
//! 3. A regression is a throughput that is slower, or, where the schedule fixes the throughput (open
//!    loop), a 99th percentile of response time that is. In a closed loop response times are the service
//!    times, and stand once.
//! 4. Probes are compared in what they say of durability first: rates of a disk that keeps what it
//!    acknowledges and of one that does not are rates of two things, and going from one to the other is a
//!    regression however fast it is.

mod comparison;
mod probes;
mod rank_test;
mod runs;
mod verdict;

pub use comparison::{Comparison, Row, Spread, Unit, Verdict, compare};
