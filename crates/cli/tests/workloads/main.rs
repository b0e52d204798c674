//! Small runs of every workload, on the targets of every build, through the runner and with checks: on the
//! null target the checks do not apply, on every other they must hold.
//!
//! | file | what it holds |
//! |---|---|
//! | `all_workloads.rs`, `run_on.rs` | every listed workload on every store; runs one and checks the result |
//! | `insert.rs`, `group_commit.rs`, `short.rs`, `single_record.rs`, `records.rs`, `join.rs`, `concurrent_tx.rs` | the laboratory's own workloads |
//! | `debit_credit.rs`, `smallbank.rs`, `tatp.rs`, `tpcc.rs`, `transfer.rs`, `oltp.rs`, `ycsb.rs`, `script.rs` | the classic benchmarks |
//! | `killed_load.rs`, `reused_rows.rs` | a load that is killed; loaded rows that several runs share |

mod all_workloads;
mod concurrent_tx;
mod debit_credit;
mod group_commit;
mod insert;
mod join;
mod killed_load;
mod oltp;
mod records;
mod reused_rows;
mod run_on;
mod script;
mod short;
mod single_record;
mod smallbank;
mod tatp;
mod tpcc;
mod transfer;
mod ycsb;
