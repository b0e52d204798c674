//! Compares two records, or two sets of runs, and reports whether the second is worse.
//!
//! 1. Runs are compared only if workload, durability, clients, workers, length and machine are alike, or if
//!    the user asks for it anyway; then the differences are listed.
//! 2. "Faster" and "slower" follow the rules of `verdict`; figures from too short a measurement are marked
//!    so, and a comparison whose deciding figure is one of them has no verdict.
//! 3. A regression is a slower throughput or, if the schedule fixes the throughput (open loop), a slower 99th
//!    percentile of response time. In a closed loop response times equal service times and are shown once.
//! 4. Several runs on a side count as repetitions of one setting, so they must be alike. Then costs per
//!    commit, of which a record holds one figure, are judged too.
//! 5. Probes are compared by durability first: the rate of a disk that keeps acknowledged writes cannot be
//!    compared with that of a disk that loses them, and a change from the former to the latter is a
//!    regression at any speed.

mod comparison;
mod formats;
mod probes;
mod rank_test;
mod rule;
mod runs;
mod verdict;

pub use comparison::{Allowed, CONFIDENCE, Comparison, Row, Spread, Unit, Verdict, compare};
pub use formats::{json, markdown, rule_sentences};
pub use rule::{Rule, RuleOutcome};
