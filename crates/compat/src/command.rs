//! The three commands: their definitions for the program's command line, and their execution.

use crate::laboratory::Laboratory;
use crate::pgbench::pgbench;
use crate::pgbench_args::{self, PgbenchArgs};
use crate::sysbench::sysbench;
use crate::sysbench_args::SysbenchArgs;
use crate::ycsb::ycsb;
use crate::ycsb_args::YcsbArgs;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use syncline_console::Outcome;

/// A parsed command line of another tool.
#[derive(Debug)]
pub struct CompatCommand(Parsed);

#[derive(Debug)]
enum Parsed {
    Ycsb(YcsbArgs),
    Sysbench(SysbenchArgs),
    Pgbench(Box<PgbenchArgs>),
}

impl CompatCommand {
    /// The definitions, in the order of the program's help.
    pub fn definitions() -> [Command; 3] {
        [
            YcsbArgs::augment_args(Command::new("ycsb")),
            pgbench_args::definition(),
            SysbenchArgs::augment_args(Command::new("sysbench")),
        ]
    }

    /// The parsed command of this name; none if no tool has the name.
    pub fn from_matches(name: &str, matches: &ArgMatches) -> Option<Result<CompatCommand, Error>> {
        let parsed = match name {
            "ycsb" => YcsbArgs::from_arg_matches(matches).map(Parsed::Ycsb),
            "sysbench" => SysbenchArgs::from_arg_matches(matches).map(Parsed::Sysbench),
            "pgbench" => PgbenchArgs::of(matches).map(Box::new).map(Parsed::Pgbench),
            _ => return None,
        };
        Some(parsed.map(CompatCommand))
    }

    /// Runs the command line.
    pub fn run<L: Laboratory>(&self, laboratory: &L) -> Outcome {
        match &self.0 {
            Parsed::Ycsb(args) => ycsb(args, laboratory),
            Parsed::Sysbench(args) => sysbench(args, laboratory),
            Parsed::Pgbench(args) => pgbench(args, laboratory),
        }
    }
}
