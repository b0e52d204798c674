//! The command lines of other tools, with their own options, files and result lines, on the laboratory's
//! targets.
//!
//! | file | what it holds |
//! |---|---|
//! | `command.rs` | the three commands, for the program's command line |
//! | `laboratory.rs` | the interface to the program |
//! | `recorded_run.rs` | a run whose record is written as it proceeds |
//! | `pgbench.rs` | pgbench's options, translated to a run |
//! | `pgbench_args.rs` | pgbench's options, as clap parses them |
//! | `pgbench_server.rs` | the server that its flags, a connection string or libpq's environment name |
//! | `pgbench_tables.rs` | which of pgbench's tables exist, and who made them |
//! | `pgbench_report.rs` | pgbench's summary lines |
//! | `pgbench_watch.rs` | counts of single transactions, and the progress lines |
//! | `pgbench_log.rs` | the log of transactions or intervals |
//! | `ycsb.rs` | the phases of `syncline ycsb` |
//! | `ycsb_args.rs` | `load` or `run`, and the arguments after it |
//! | `ycsb_flags.rs` | YCSB's flags |
//! | `ycsb_properties.rs` | YCSB's properties, translated to options and a plan |
//! | `ycsb_watch.rs` | the latencies of every operation |
//! | `ycsb_lines.rs` | YCSB's result lines |
//! | `java_properties.rs` | the format of property files |
//! | `coverage/` | the effect of every option, variable and file of these tools, tested against the parsers |
//! | `clients.rs` | the limit on the number of clients |
//! | `libpq_environment.rs` | the environment of tools that connect by libpq |
//! | `rate_tests.rs` | tests of the printed rates of all three tools against calculated rates |
//! | `store_path.rs` | whether a target's data stays at its path |
//! | `server_url.rs` | the URL of a server that flags name |
//! | `suggestion.rs` | the known name closest to a misspelt one |
//! | `sysbench.rs` | the commands of `syncline sysbench` |
//! | `sysbench_args.rs` | its command line |
//! | `sysbench_flags.rs` | sysbench's options, translated to a run |
//! | `sysbench_url.rs` | the store that its driver options name |
//! | `sysbench_tables.rs` | which of sysbench's tables exist, who made them, and what was prepared |
//! | `sysbench_test.rs` | its tests and commands by name |
//! | `sysbench_watch.rs` | counts of every event, and the progress lines |
//! | `sysbench_report.rs` | sysbench's lines at the end |
//! | `sysbench_flags_tests.rs`, `ycsb_properties_tests.rs` | tests of both translations |

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
