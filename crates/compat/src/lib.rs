//! The command lines of other tools, each with its own flags, files and result lines, on the
//! laboratory's targets.
//!
//! | file | what it holds |
//! |---|---|
//! | `command.rs` | the three commands, for the program's command line |
//! | `laboratory.rs` | what a command needs of the program |
//! | `recorded_run.rs` | a run whose record is written as it goes |
//! | `pgbench.rs` | pgbench's flags, and what each means here |
//! | `pgbench_args.rs` | pgbench's options, as clap parses them |
//! | `pgbench_server.rs` | the server that its flags, a connection string or libpq's environment name |
//! | `pgbench_tables.rs` | whose tables its scripts find |
//! | `pgbench_report.rs` | pgbench's summary lines |
//! | `pgbench_watch.rs` | what it counts of single transactions, and its progress lines |
//! | `pgbench_log.rs` | its log of transactions or of intervals |
//! | `ycsb.rs` | the two phases of `syncline ycsb` |
//! | `ycsb_args.rs` | `load` or `run`, and the words behind it |
//! | `ycsb_flags.rs` | YCSB's flags |
//! | `ycsb_properties.rs` | what each property means here |
//! | `ycsb_watch.rs` | the latencies of every operation |
//! | `ycsb_lines.rs` | YCSB's result lines |
//! | `java_properties.rs` | the form of property files |
//! | `coverage/` | what every option, variable and file of these tools does here; tests hold it to the parsers |
//! | `clients.rs` | how many clients there may be |
//! | `libpq_environment.rs` | the environment of tools that connect by libpq |
//! | `rate_tests.rs` | the printed rates of all three, held against arithmetic |
//! | `store_path.rs` | whether a target's place stays |
//! | `server_url.rs` | the URL of a server that flags name |
//! | `suggestion.rs` | which known name a misspelt one is meant for |
//! | `sysbench.rs` | the commands of `syncline sysbench` |
//! | `sysbench_args.rs` | the words of its command line |
//! | `sysbench_flags.rs` | what each option of sysbench means here |
//! | `sysbench_url.rs` | the store that its driver options name |
//! | `sysbench_tables.rs` | whose tables its tests find, and what was prepared |
//! | `sysbench_test.rs` | its tests and commands by their names |
//! | `sysbench_watch.rs` | what is counted of every event, and the lines while it runs |
//! | `sysbench_report.rs` | sysbench's lines at the end |

mod clients;
mod command;
#[cfg(test)]
mod coverage;
mod java_properties;
mod laboratory;
mod libpq_environment;
mod pgbench;
mod pgbench_args;
mod pgbench_log;
mod pgbench_report;
mod pgbench_server;
mod pgbench_tables;
mod pgbench_watch;
#[cfg(test)]
mod rate_tests;
mod recorded_run;
mod server_url;
mod store_path;
mod suggestion;
mod sysbench;
mod sysbench_args;
mod sysbench_flags;
mod sysbench_report;
mod sysbench_tables;
mod sysbench_test;
mod sysbench_url;
mod sysbench_watch;
mod ycsb;
mod ycsb_args;
mod ycsb_flags;
mod ycsb_lines;
mod ycsb_properties;
mod ycsb_watch;

pub use command::CompatCommand;
pub use laboratory::{Laboratory, RunRequest};
