//! Tests of the program itself: what it prints, what it leaves behind, and how it ends.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test that called it")]

mod bad_input;
mod disk_space;
mod help_texts;
mod interrupts;
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
