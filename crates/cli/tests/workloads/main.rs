//! Small runs of every workload, on the targets of every build, through the runner and with checks: on the
//! null target the checks do not apply, on every other they must hold.

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
mod ycsb;
