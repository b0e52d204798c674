//! `syncline show`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use syncline_console::value;
use syncline_profile::View;
use syncline_report::FunctionsBy;
use syncline_report::table::PublishedSource;

/// Show records as tables, JSON or an HTML report, or in the format of a published source.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline show k3f9a\n  syncline show --html report.html syncline-runs/*.jsonl\n  syncline show --as fromdual syncline-runs/*-insert-*.jsonl\n  syncline show --functions cpu k3f9a\n  syncline show --format csv syncline-runs/*.jsonl"
)]
pub(crate) struct ShowArgs {
    /// Records: their files, or their ids as `list runs` shows them; the id of a survey names all its records
    #[arg(value_name = "RECORD", required = true)]
    pub(crate) records: Vec<PathBuf>,

    /// Print as JSON: one object, or an array if there are several
    #[arg(long)]
    pub(crate) json: bool,

    /// Print in the format of other programs
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with_all = ["json", "html"])]
    pub(crate) format: Option<ExportArg>,

    /// Write a self-contained HTML report
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) html: Option<PathBuf>,

    /// Print next to the results that this source published, in its columns
    #[arg(long = "as", value_name = "SOURCE", value_enum, conflicts_with_all = ["json", "html", "format"])]
    pub(crate) source: Option<SourceArg>,

    /// Print the statements that the stores received
    #[arg(long, conflicts_with_all = ["json", "html", "source", "format"])]
    pub(crate) statements: bool,

    /// Profiled runs: charge time to the module that spent it (self time), or to the calling module
    #[arg(long, value_enum, value_name = "VIEW", default_value = "innermost", conflicts_with_all = ["json", "html", "source", "statements", "format", "stacks"])]
    pub(crate) view: ViewArg,

    /// Profiled runs: threads of one class (connection, client, background, runtime, unknown), or all; with
    /// --functions also a pattern of their names [default: those that serve clients]
    #[arg(long, value_name = "THREADS", conflicts_with_all = ["json", "html", "source", "statements", "format", "stacks"])]
    pub(crate) threads: Option<String>,

    /// Print the top functions of a profiled run, from the stacks next to its record
    #[arg(long, value_enum, value_name = "BY", conflicts_with_all = ["json", "html", "source", "statements", "format", "share"])]
    pub(crate) functions: Option<FunctionsArg>,

    /// Number of functions, with --functions
    #[arg(long, value_name = "N", value_parser = value::amount, default_value = "20", requires = "functions")]
    pub(crate) top: usize,

    /// Print the stacks of a profiled run for other programs
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["json", "html", "source", "statements", "format", "functions", "share"])]
    pub(crate) stacks: Option<StacksArg>,

    /// Fold the stacks of profiled runs again, with this map
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,

    /// Remove hosts, paths, serial numbers and user names
    #[arg(long)]
    pub(crate) share: bool,
}

/// The module that stacks of several modules are charged to.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ViewArg {
    /// The module that spent it (self time)
    Innermost,
    /// The calling module
    Behalf,
}

impl From<ViewArg> for View {
    fn from(view: ViewArg) -> View {
        match view {
            ViewArg::Innermost => View::Innermost,
            ViewArg::Behalf => View::OnBehalfOf,
        }
    }
}

/// The order of functions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FunctionsArg {
    /// Processor time
    Cpu,
    /// Time off the processor
    WaitTime,
    /// How often a thread waited
    WaitCount,
}

impl From<FunctionsArg> for FunctionsBy {
    fn from(by: FunctionsArg) -> FunctionsBy {
        match by {
            FunctionsArg::Cpu => FunctionsBy::Cpu,
            FunctionsArg::WaitTime => FunctionsBy::WaitTime,
            FunctionsArg::WaitCount => FunctionsBy::WaitCount,
        }
    }
}

/// A format of stacks for other programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StacksArg {
    /// One line per stack of processor time, for flame graph tools
    Collapsed,
    /// Every metric with its modules, in pprof's format
    Pprof,
}

/// A format of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportArg {
    /// Comma-separated values, a row for each record
    Csv,
    /// Comma-separated values, a row for each interval of runs
    Intervals,
    /// A Markdown table
    Markdown,
    /// Metrics for Prometheus and the text collector of its `node_exporter`
    Openmetrics,
    /// HdrHistogram's percentile spectrum of one run, in milliseconds
    Hgrm,
    /// HdrHistogram's log, a line for each interval of runs
    Hlog,
}

/// A published source whose format of figures is used.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SourceArg {
    /// The K2 platform's results of 2022: tpcc and ycsb
    K2,
    /// The mail of 2002 on SAP DB and Oracle: insert, by store and directory
    Mail2002,
    /// The bigdata journal's stress tests of 2007: concurrent-tx and mrow
    Bigdata,
    /// The FromDual article of 2008: probes, insert, and insert over inserts per commit
    Fromdual,
    /// Derby's resource usage by module of 2006: select, update and join
    Derby,
}

impl From<SourceArg> for PublishedSource {
    fn from(source: SourceArg) -> PublishedSource {
        match source {
            SourceArg::K2 => PublishedSource::K2,
            SourceArg::Mail2002 => PublishedSource::Mail2002,
            SourceArg::Bigdata => PublishedSource::Bigdata,
            SourceArg::Fromdual => PublishedSource::FromDual,
            SourceArg::Derby => PublishedSource::Derby,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SourceArg;
    use clap::ValueEnum;
    use syncline_report::table::PublishedSource;

    #[test]
    fn sources_have_the_names_of_the_report() {
        let words: Vec<&str> = PublishedSource::ALL.iter().map(|source| source.word()).collect();
        let typed = SourceArg::value_variants().iter().copied();
        let called: Vec<&str> =
            typed.clone().map(|one| PublishedSource::from(one).word()).collect();
        assert_eq!(called, words);
        for (one, word) in typed.zip(words) {
            let value = one.to_possible_value();
            assert_eq!(value.as_ref().map(clap::builder::PossibleValue::get_name), Some(word));
        }
    }
}
