//! `syncline list`.

use super::moment::moment;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use syncline_console::value;

/// The kinds of things to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Stores that workloads can run on
    Targets,
    /// Workloads and their options
    Workloads,
    /// What can be measured here, and what the other measurements require
    Meters,
    /// Records of runs, probes, observations and verifications
    Runs,
}

/// List targets, workloads, meters or runs.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline list targets\n  syncline list runs --workload insert --on sqlite --since 7d\n  syncline list runs --trend --tag 'v*'"
)]
pub(crate) struct ListArgs {
    /// What to list
    #[arg(value_name = "WHAT")]
    pub(crate) what: Listed,

    /// Directory of the records
    #[arg(long, value_name = "DIR", default_value = "syncline-runs")]
    pub(crate) runs: PathBuf,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    /// Show how each setting changed from record to record, or from tag to tag
    #[arg(long, help_heading = "Runs")]
    pub(crate) trend: bool,

    /// Print as JSON: an array of rows
    #[arg(long, conflicts_with_all = ["csv", "trend"], help_heading = "Runs")]
    pub(crate) json: bool,

    /// Write an HTML page of the probes and runs, with links to their files, which should be next to it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["csv", "json", "trend"], help_heading = "Runs")]
    pub(crate) html: Option<PathBuf>,

    /// Print as comma-separated values
    #[arg(long, conflicts_with = "trend", help_heading = "Runs")]
    pub(crate) csv: bool,
}

/// Which records are listed: those that meet every condition.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Runs")]
pub(crate) struct FilterArgs {
    /// Only records of this kind
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) kind: Option<KindArg>,

    /// Only runs of this workload
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Option<String>,

    /// Only stores whose name, product or version contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) on: Option<String>,

    /// Only records with this tag; * matches any text
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,

    /// Only runs with this number of clients
    #[arg(long, value_name = "N", value_parser = value::clients)]
    pub(crate) clients: Option<usize>,

    /// Only records that began then or later: a date, a time (UTC), or how long ago, such as 7d or 12h
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub(crate) since: Option<u64>,

    /// Only records that began before then
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub(crate) until: Option<u64>,

    /// Only the newest N
    #[arg(long, value_name = "N", value_parser = value::at_least_one)]
    pub(crate) last: Option<usize>,
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArg {
    /// Runs of workloads
    Run,
    /// Probes of directories
    Probe,
    /// Observations of servers
    Observation,
    /// Verifications of disks and stores
    Verification,
}

impl KindArg {
    /// The word in the record.
    pub(crate) fn word(self) -> &'static str {
        match self {
            KindArg::Run => "run",
            KindArg::Probe => "probe",
            KindArg::Observation => "observation",
            KindArg::Verification => "verification",
        }
    }
}

impl ListArgs {
    /// The first option given that applies only to `list runs`.
    pub(crate) fn option_of_runs(&self) -> Option<&'static str> {
        let filter = &self.filter;
        let given = [
            ("--kind", filter.kind.is_some()),
            ("--workload", filter.workload.is_some()),
            ("--on", filter.on.is_some()),
            ("--tag", filter.tag.is_some()),
            ("--clients", filter.clients.is_some()),
            ("--since", filter.since.is_some()),
            ("--until", filter.until.is_some()),
            ("--last", filter.last.is_some()),
            ("--trend", self.trend),
            ("--json", self.json),
            ("--csv", self.csv),
            ("--html", self.html.is_some()),
        ];
        given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }
}
