//! `syncline survey`.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use syncline_console::{MeterArgs, value};

/// Measure how many durable commits/s this disk and your databases can do, and write a report.
#[derive(Args, Debug)]
#[command(
    override_usage = "syncline survey [OPTIONS]",
    before_help = "Examples:\n  syncline survey\n  syncline survey --dir /mnt/a --dir /mnt/b --on sqlite --json\n  syncline survey --meter --clients 8,64 --duration 10s"
)]
pub(crate) struct SurveyArgs {
    /// A directory whose sync rate is measured and in which the databases run; may be given several times
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: Vec<PathBuf>,

    /// Another target, in addition to the engine and SQLite; may be given several times
    #[arg(long, value_name = "TARGET")]
    pub(crate) on: Vec<String>,

    /// Name of the --on targets in records, instead of product and version
    #[arg(long, value_name = "NAME", requires = "on")]
    pub(crate) alias: Option<String>,

    /// Client counts
    #[arg(long, visible_alias = "threads", value_name = "N,N,...", value_delimiter = ',', value_parser = value::clients,
        default_values_t = [1, 8, 64, 1000])]
    pub(crate) clients: Vec<usize>,

    /// Repetitions per client count, interleaved
    #[arg(long = "repeat", alias = "slices", value_name = "N", value_parser = value::repetitions, default_value = "3")]
    pub(crate) slices: usize,

    /// Measured time of each repetition
    #[arg(long = "duration", alias = "slice", value_name = "TIME", value_parser = value::some_duration, default_value = "2s")]
    pub(crate) slice: Duration,

    /// Warm-up before each repetition
    #[arg(long, value_name = "TIME", value_parser = value::duration, default_value = "500ms")]
    pub(crate) warm_up: Duration,

    /// Rotation speed of a spinning disk, per minute, if you know it
    #[arg(long, value_name = "RPM", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rpm: Option<u32>,

    /// Rated endurance of the device, such as 600TB: turns bytes per commit into years
    #[arg(long, value_name = "BYTES")]
    pub(crate) endurance: Option<String>,

    /// The disk's data sheet for the calculated row: seek=8.8ms,rpm=7200,transfer=96.4MB/s,block=16k
    #[arg(long, value_name = "SHEET")]
    pub(crate) model: Option<String>,

    /// Seed of all random choices
    #[arg(long, value_name = "SEED", default_value_t = 42)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) meter: MeterArgs,

    /// Allow running while other sessions are active
    #[arg(long)]
    pub(crate) live: bool,

    /// Directory of the records and the report
    #[arg(long, value_name = "DIR", default_value = "syncline-runs")]
    pub(crate) runs: PathBuf,

    /// Print the records as JSON: an array, the probe first
    #[arg(long)]
    pub(crate) json: bool,
}
