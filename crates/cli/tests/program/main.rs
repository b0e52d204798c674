//! Tests of the program itself: what it prints, what it leaves behind, and how it ends.
//!
//! | file | what it holds |
//! |---|---|
//! | `support.rs` | starts the program in its own directory |
//! | `runs.rs`, `records.rs`, `survey.rs`, `meter.rs` | runs, records, a survey, profiled runs |
//! | `list_runs.rs` | `list runs`, tags, records for other programs |
//! | `engine.rs` | `engine`: inspect, verify, dump, load |
//! | `fitness.rs` | `probe --for`, `--beside`, `--watch` |
//! | `pgbench.rs`, `sysbench.rs`, `ycsb.rs` | the compatibility commands |
//! | `verify.rs`, `verify_disk.rs`, `verify_isolation.rs` | `verify` |
//! | `help_texts.rs`, `bad_input.rs`, `disk_space.rs`, `interrupts.rs` | help; bad input; a full disk; Ctrl-C |

#![allow(clippy::unwrap_used, reason = "what fails here fails the test that called it")]

mod bad_input;
mod disk_space;
mod engine;
mod fitness;
mod help_texts;
mod interrupts;
mod list_runs;
mod meter;
mod pgbench;
mod records;
mod runs;
mod support;
mod survey;
mod sysbench;
mod verify;
mod verify_disk;
mod verify_isolation;
mod ycsb;
