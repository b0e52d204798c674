//! The command lines of other tools, each with its own flags, files and result lines, on the
//! laboratory's targets.
//!
//! | file | what it holds |
//! |---|---|
//! | `pgbench.rs` | pgbench's flags, and what each means here |
//! | `pgbench_report.rs` | pgbench's summary lines |
//! | `pgbench_watch.rs` | what it counts of single transactions, and its progress lines |
//! | `pgbench_log.rs` | its log of transactions or of intervals |
//! | `ycsb.rs` | the two phases of `syncline ycsb` |
//! | `ycsb_flags.rs` | YCSB's flags |
//! | `ycsb_properties.rs` | what each property means here |
//! | `ycsb_watch.rs` | the latencies of every operation |
//! | `ycsb_lines.rs` | YCSB's result lines |
//! | `java_properties.rs` | the form of property files |
//! | `clients.rs` | how many clients there may be |
//! | `place.rs` | whether a target's place stays |
//! | `server_url.rs` | the URL of a server that flags name |
//! | `sysbench.rs` | the commands of `syncline sysbench` |
//! | `sysbench_flags.rs` | what each option of sysbench means here |
//! | `sysbench_url.rs` | the store that its driver options name |
//! | `sysbench_watch.rs` | what is counted of every event, and the lines while it runs |
//! | `sysbench_report.rs` | sysbench's lines at the end |

mod clients;
mod java_properties;
mod pgbench;
mod pgbench_log;
mod pgbench_report;
mod pgbench_watch;
mod place;
mod server_url;
mod sysbench;
mod sysbench_flags;
mod sysbench_report;
mod sysbench_url;
mod sysbench_watch;
mod ycsb;
mod ycsb_flags;
mod ycsb_lines;
mod ycsb_properties;
mod ycsb_watch;

pub(crate) use pgbench::pgbench;
pub(crate) use sysbench::sysbench;
pub(crate) use ycsb::ycsb;
