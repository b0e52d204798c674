//! Tests that the checks of workloads find damage: each workload runs on SQLite, its database is
//! damaged through another connection, and exactly the right checks report it.
//!
//! | file | what it holds |
//! |---|---|
//! | `scenario.rs` | load, run and check of a workload, with damage in between |
//! | `concurrent_tx.rs`, `debit_credit.rs`, `group_commit.rs`, `join.rs`, `oltp.rs` | the checks of one workload each |
//! | `short.rs`, `single_record.rs`, `smallbank.rs`, `tatp.rs`, `transfer.rs` | the checks of one workload each |

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "../shared/checked_run.rs"]
mod checked_run;
mod concurrent_tx;
mod debit_credit;
mod group_commit;
mod join;
mod oltp;
mod scenario;
mod short;
mod single_record;
mod smallbank;
mod tatp;
mod transfer;
