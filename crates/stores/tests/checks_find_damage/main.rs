//! Checks of workloads find damage: each workload runs on SQLite, its database is harmed behind its
//! back, and exactly those checks that should see it do.

#![allow(clippy::unwrap_used, reason = "in a test an unwrap is a finding")]

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
