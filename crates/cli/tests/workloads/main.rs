//! Every workload in miniature, on the targets that every build has, through the runner and with its
//! checks: on the null target they do not apply, everywhere else they must hold.

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
