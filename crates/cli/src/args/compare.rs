//! `syncline compare`.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use syncline_console::value;
use syncline_report::compare::Rule;

/// Compare two records, two directories of records, or two programs: is the second slower?
///
/// A verdict requires five repetitions or five seconds on each side, and a difference of 3 % between
/// repetitions (1 % of what is counted per commit) or 5 % between single runs. The runs of a directory count
/// as repetitions. Exit code 1 if the second is slower, or if a rule of --fail-if fails; 2 if the runs are
/// too short to judge.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline compare k3f9a 7xq2d\n  syncline compare before.jsonl after.jsonl\n  syncline compare before/ after/ --fail-if 'per_commit.syncs > +2%'\n  syncline compare --a ./before --b ./after -- run insert --on engine\n  syncline compare --unequal laptop.jsonl server.jsonl\n  syncline compare k3f9a 7xq2d --html comparison.html"
)]
pub(crate) struct CompareArgs {
    /// The record to compare with: its file, its id as list runs shows it, or a directory of records
    #[arg(value_name = "BEFORE", required_unless_present = "a", conflicts_with = "a")]
    pub(crate) before: Option<PathBuf>,

    /// The record to judge, or a directory of records
    #[arg(value_name = "AFTER", required_unless_present = "b", conflicts_with = "b")]
    pub(crate) after: Option<PathBuf>,

    /// The program to compare with: both are run in turns with the command line after "--"
    #[arg(long, value_name = "PROGRAM", requires = "b", requires = "command")]
    pub(crate) a: Option<PathBuf>,

    /// The program to judge
    #[arg(long, value_name = "PROGRAM", requires = "a")]
    pub(crate) b: Option<PathBuf>,

    /// How often each program is run
    #[arg(long, value_name = "N", value_parser = value::repetitions, default_value = "5", requires = "a")]
    pub(crate) rounds: usize,

    /// How long one run of a program may take; then it is killed, and the comparison ends
    #[arg(long, value_name = "TIME", value_parser = value::some_duration, default_value = "1h", requires = "a")]
    pub(crate) time_limit: Duration,

    /// Directory for the records of both programs, in two new directories
    #[arg(long, value_name = "DIR", default_value = "syncline-runs", requires = "a")]
    pub(crate) runs: PathBuf,

    /// Fail if B differs from A by more than this, such as `per_commit.syncs > +2%` or `throughput_per_s <
    /// -5%`; may be given several times, and then only these rules decide
    #[arg(long, value_name = "RULE")]
    pub(crate) fail_if: Vec<Rule>,

    /// Compare even if durability, workload, clients, workers, length, version or machine differ, and print
    /// the differences
    #[arg(long)]
    pub(crate) unequal: bool,

    /// Also write a self-contained HTML page with a chart of the ratios; if the records are not comparable,
    /// the page says why
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Print the comparison as Markdown, for a comment on a change
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,

    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// The command line of both programs: "run", a workload and its options
    #[arg(last = true, value_name = "COMMAND", requires = "a")]
    pub(crate) command: Vec<OsString>,
}
