//! Benchmarks of the log: the cost of publishing, and the stable commits per second with 1, 8, 64 and 1,000
//! clients, by threads and by tickets, next to the disk's own rate.
//!
//! `cargo bench -p syncline-engine` runs it for some seconds in the current directory; `-- --slice-ms 300
//! --rounds 5` sets duration and repetitions, `-- --only NAME` selects rows. Under `cargo test` it runs once
//! with tiny input, in the build's folder for temporary files. It ends with a checksum of the work, so that
//! nothing is optimized away.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

mod clients;
mod raw;

use clients::Load;
use std::path::{Path, PathBuf};
use syncline_engine::DatabaseId;
use syncline_engine::log::{Log, Options, Writer};
use syncline_instrument::clock;
use syncline_vfs::RealDisk;

/// Measures one slice of the given milliseconds in a separate folder.
type Measure = Box<dyn Fn(&Path, u64) -> Outcome>;

/// One row of the output.
struct Row {
    name: String,
    measure: Measure,
    rates_per_s: Vec<f64>,
    notes: String,
}

/// The result of one slice.
struct Outcome {
    rate_per_s: f64,
    hash: u64,
    notes: String,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name: &str, default: u64| {
        value(name).map_or(default, |text| text.parse().expect("a number follows the flag"))
    };
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let (slice_ms, rounds) =
        if is_bench { (number("--slice-ms", 300), number("--rounds", 3)) } else { (20, 1) };
    let only = value("--only");
    let folder = Folder::make(is_bench);
    let mut rows = rows(is_bench);
    rows.retain(|row| only.as_ref().is_none_or(|only| row.name.contains(only.as_str())));
    let mut hash = 0_u64;
    for round in 0..rounds {
        for row in &mut rows {
            let outcome = (row.measure)(&folder.0.join(format!("{round}")), slice_ms);
            row.rates_per_s.push(outcome.rate_per_s);
            row.notes = outcome.notes;
            hash = hash.rotate_left(7) ^ outcome.hash;
        }
    }
    for row in &mut rows {
        row.rates_per_s.sort_by(f64::total_cmp);
        let rates = &row.rates_per_s;
        let (median, last) = (rates[rates.len() / 2], rates[rates.len() - 1]);
        println!(
            "{:<44} {median:>11.0}/s  [{:.0} to {last:.0}]  {}",
            row.name, rates[0], row.notes
        );
    }
    println!("hash {hash:016x}");
}

fn rows(is_bench: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |name: String, measure: Measure| {
        rows.push(Row { name, measure, rates_per_s: Vec::new(), notes: String::new() });
    };
    let segment_bytes: u64 = if is_bench { 64 << 20 } else { 1 << 20 };
    let options =
        move || Options { segment_bytes, frame_bytes_max: 256 << 10, ..Options::default() };
    add("publish, 132 B, one thread".to_owned(), Box::new(clients::publish_cost));
    add("raw O_DIRECT|O_DSYNC 4 KiB, 1 outstanding".to_owned(), Box::new(raw::line));
    for clients in [1, 8, 64] {
        add(
            format!("threads, {clients} clients"),
            Box::new(move |path, ms| on_log(path, options(), Load::Threads { clients }, ms)),
        );
    }
    for clients in [1, 8, 64, 1000] {
        for workers in [1, 2] {
            for writer in [Writer::Worker, Writer::Thread] {
                if workers > clients {
                    continue;
                }
                let options = move || Options { writer, ..options() };
                add(
                    format!("tickets, {clients} clients, {workers} workers, by {writer:?}"),
                    Box::new(move |path, ms| {
                        on_log(path, options(), Load::Tickets { clients, workers }, ms)
                    }),
                );
            }
        }
    }
    rows
}

fn on_log(path: &Path, options: Options, load: Load, slice_ms: u64) -> Outcome {
    let log = Log::create(&RealDisk, path, DatabaseId::random(), options)
        .expect("a log in the benchmark's folder");
    let cpu = clock::process_cpu();
    let started = clock::now();
    let commits = clients::run(&log, load, slice_ms);
    let elapsed_s = (clock::now() - started) as f64 / clock::SECOND as f64;
    let cpu_us = (clock::process_cpu() - cpu) as f64 / 1e3;
    let stats = log.stats();
    let notes = format!(
        "group {:.1}, write {:.0} us, {:.2} us CPU a commit",
        stats.group_commits.mean().unwrap_or_default(),
        stats.write_ns.mean().unwrap_or_default() / 1e3,
        cpu_us / commits as f64,
    );
    let hash = log.durable_lsn().0;
    assert!(hash >= commits, "every counted commit is stable");
    log.close().expect("the log can be closed");
    std::fs::remove_dir_all(path).expect("the benchmark's folder can be removed");
    Outcome { rate_per_s: commits as f64 / elapsed_s, hash, notes }
}

/// A folder in the current directory, removed at the end. A temporary directory may not be on the disk that
/// is to be measured.
struct Folder(PathBuf);

impl Folder {
    fn make(is_bench: bool) -> Folder {
        let parent = if is_bench { "." } else { env!("CARGO_TARGET_TMPDIR") };
        let path = Path::new(parent).join(format!("bench-log-{}", std::process::id()));
        std::fs::create_dir(&path).expect("a folder for the benchmark");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::fs::remove_dir_all(&self.0).is_err() {
            println!("{} could not be removed", self.0.display());
        }
    }
}
