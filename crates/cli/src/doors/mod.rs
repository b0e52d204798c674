//! The command lines of other tools, each with its own flags, files and result lines, on the
//! laboratory's targets.
//!
//! | file | what it holds |
//! |---|---|
//! | `pgbench.rs` | pgbench's flags, and what each means here |
//! | `pgbench_report.rs` | pgbench's summary lines |
//! | `ycsb.rs` | the two phases of `syncline ycsb` |
//! | `ycsb_flags.rs` | YCSB's flags |
//! | `ycsb_properties.rs` | what each property means here |
//! | `ycsb_lines.rs` | YCSB's result lines |
//! | `java_properties.rs` | the form of property files |

mod java_properties;
mod pgbench;
mod pgbench_report;
mod ycsb;
mod ycsb_flags;
mod ycsb_lines;
mod ycsb_properties;

pub(crate) use pgbench::pgbench;
pub(crate) use ycsb::ycsb;
