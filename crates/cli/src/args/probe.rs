//! `syncline probe`, `syncline probe writetest` and `syncline model`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;
use syncline_console::{OutputArgs, value};
use syncline_probe::Load;

/// Measure how many durable writes/s a directory can do, and report what is under it.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    before_help = "Examples:\n  syncline probe .\n  syncline probe --for etcd /var/lib/etcd\n  syncline probe --watch 6h /srv\n  syncline probe --full /mnt/a /mnt/b"
)]
pub(crate) struct ProbeArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<ProbeVerb>,

    /// Directories; their test cases alternate
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) directories: Vec<PathBuf>,

    /// Measure every combination for 3 to 30 s until it is steady (hours), instead of a burst of at most 20 s
    #[arg(long)]
    pub(crate) full: bool,

    /// Judge the directory for products, by their own writes and published limits: exit code 0 is fit, 1
    /// unfit, 2 not known
    #[arg(
        long = "for",
        value_name = "PRODUCT",
        value_delimiter = ',',
        value_parser = product_names(),
        conflicts_with = "full"
    )]
    pub(crate) products: Vec<String>,

    /// Time for each directory with --for (30s without it); of the phase beside a load otherwise (20s)
    #[arg(long, value_name = "TIME", value_parser = value::some_duration)]
    pub(crate) duration: Option<Duration>,

    /// Measure while a load runs in the directory: writer, syncs, read, or "command:COMMAND LINE"
    #[arg(long, value_name = "LOAD", conflicts_with = "full")]
    pub(crate) beside: Option<Load>,

    /// Measure syncs at a low rate for this long, such as 6h, and list the stalls; Ctrl-C shows the result so
    /// far
    #[arg(
        long,
        value_name = "TIME",
        value_parser = value::some_duration,
        conflicts_with_all = ["full", "products"]
    )]
    pub(crate) watch: Option<Duration>,

    /// Rotation speed of a spinning disk, per minute, if you know it
    #[arg(long, value_name = "RPM", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rpm: Option<u32>,

    /// Rated endurance of the device, such as 600TB: turns bytes per sync into years
    #[arg(long, value_name = "BYTES")]
    pub(crate) endurance: Option<String>,

    /// Also show counts per sync, and the equivalent fio command of each row
    #[arg(long)]
    pub(crate) wide: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The word for all products.
pub(crate) const ALL_PRODUCTS: &str = "all";

/// The names of the products, and the word for all of them.
fn product_names() -> PossibleValuesParser {
    let names = syncline_probe::products().iter().map(|product| product.name.as_str());
    PossibleValuesParser::new(names.chain([ALL_PRODUCTS]))
}

/// Other ways to measure.
#[derive(Subcommand, Debug)]
pub(crate) enum ProbeVerb {
    /// The classic log writer: write, seek to the start, sync; overwrite the same bytes
    Writetest(WritetestArgs),
}

/// Options of the classic log writer.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline probe writetest -e\n  syncline probe writetest -b 8192 -o 5000 -f testfile"
)]
pub(crate) struct WritetestArgs {
    /// Bytes of each write, at most 102400
    #[arg(short = 'b', value_name = "BYTES", default_value_t = 256)]
    pub(crate) bytes: usize,

    /// File to create; it must not exist
    #[arg(short = 'f', value_name = "FILE", default_value = "testfile")]
    pub(crate) file: PathBuf,

    /// Number of operations; more if these end too soon to be timed
    #[arg(short = 'o', value_name = "COUNT", value_parser = value::amount, default_value = "1000")]
    pub(crate) operations: usize,

    /// fsync after each write; without it the file is opened with `O_SYNC`
    #[arg(short = 'e')]
    pub(crate) explicit: bool,
}

/// Calculate a spinning disk's rate from its data sheet.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline model seek=8.8ms,rpm=7200,transfer=96.4MB/s,block=16k\n  syncline model seek=4ms,rpm=15000,transfer=200MB/s,block=4k"
)]
pub(crate) struct ModelArgs {
    /// Average seek, rotation speed, transfer rate and block size
    #[arg(value_name = "SHEET")]
    pub(crate) sheet: String,
}
