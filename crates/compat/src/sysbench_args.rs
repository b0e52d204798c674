//! `syncline sysbench`: sysbench's own command line, with options, test and command in any order.

use clap::Args;

/// Run sysbench's OLTP tests with its own options and result lines.
///
/// Options are --name=value, where - and _ are the same: --threads --events --time --rate --report-interval
/// --percentile --rand-type --tables --table-size and all others of the OLTP tests. --on=TARGET names the
/// store, or --db-driver with --mysql-* or --pgsql-* does; --runs=DIR is the directory of the record, --json
/// prints it, --dry-run prints what a run would do and changes nothing; --meter, --sampling-hz=N and
/// --map=FILE profile the store. `prepare` creates and fills the tables and keeps them in the target; `run`
/// uses them, or creates and fills them if there are none; only `cleanup` removes what `prepare` created.
/// After a test that deletes rows, no other test can use the tables; a test that inserts requires an empty
/// target.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline sysbench oltp_read_write --on=engine:./db --tables=10 prepare\n  syncline sysbench oltp_read_write --on=engine:./db --tables=10 --time=60 run\n  syncline sysbench oltp_point_select --on=sqlite --threads=4 run"
)]
pub(crate) struct SysbenchArgs {
    /// sysbench's options, a test (`oltp_read_write`) and a command: prepare, run, cleanup or help
    #[arg(
        value_name = "OPTIONS TEST COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) words: Vec<String>,
}
