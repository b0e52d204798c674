//! YCSB's result lines, from the record of a run and the measurements of every operation.
//!
//! Throughput counts committed operations only, whereas YCSB also counts failed ones. A read-modify-write is
//! one operation in it, and also has lines as a read and as an update (`ycsb_watch.rs`). As in YCSB,
//! operations in progress at the end of the time are counted, including their time.

use super::ycsb_properties::{Interval, ParsedProperties};
use super::ycsb_watch::{Measurement, Watch};
use hdrhistogram::Histogram;
use std::fmt::Write;
use syncline_record::RunRecord;

/// The lines of a run.
pub(super) fn of_run(record: &RunRecord, watch: &Watch, parsed: &ParsedProperties) -> String {
    let end = &record.end;
    let took_ns = end.elapsed_ns();
    let rate_per_s = watch.transactions() as f64 / (took_ns.max(1) as f64 / 1e9);
    let mut lines = overall(took_ns, rate_per_s);
    let mut reads = 0;
    for (kind, one) in end.transactions.iter().enumerate() {
        let found = watch.measurement(kind);
        if found.all() == 0 {
            continue;
        }
        if one.name == "read" {
            reads = found.committed;
        }
        let name = one.name.to_ascii_uppercase();
        let percentiles = &parsed.percentiles;
        if parsed.interval != Interval::Intended {
            operation(&mut lines, &name, &found, &found.service, percentiles);
        }
        if parsed.interval != Interval::Op {
            let name = format!("Intended-{name}");
            operation(&mut lines, &name, &found, &found.intended, percentiles);
        }
    }
    if parsed.verifies {
        verified(&mut lines, record, reads);
    }
    lines
}

/// The number of verified reads, including those of read-modify-writes. A check of the record reports wrong
/// reads; the time of a verification is not measured, so there are no latencies.
fn verified(lines: &mut String, record: &RunRecord, reads: u64) {
    line(lines, "VERIFY", "Operations", reads);
    let mut checks = record.end.checks.iter();
    if checks.all(|check| check.outcome != "violated") {
        line(lines, "VERIFY", "Return=OK", reads);
    }
}

/// The lines of a load.
pub(super) fn of_load(loaded: u64, took_ns: u64) -> String {
    let rate_per_s = loaded as f64 / (took_ns.max(1) as f64 / 1e9);
    let mut lines = overall(took_ns, rate_per_s);
    line(&mut lines, "INSERT", "Operations", loaded);
    line(&mut lines, "INSERT", "Return=OK", loaded);
    lines
}

fn overall(took_ns: u64, rate_per_s: f64) -> String {
    let mut lines = String::new();
    line(&mut lines, "OVERALL", "RunTime(ms)", took_ns / 1_000_000);
    line(&mut lines, "OVERALL", "Throughput(ops/sec)", rate_per_s);
    lines
}

fn operation(
    lines: &mut String,
    name: &str,
    found: &Measurement,
    times: &Histogram<u64>,
    percentiles: &[f64],
) {
    line(lines, name, "Operations", found.all());
    if !times.is_empty() {
        line(lines, name, "AverageLatency(us)", times.mean() / 1e3);
        line(lines, name, "MinLatency(us)", times.min() / 1_000);
        line(lines, name, "MaxLatency(us)", times.max() / 1_000);
        for percentile in percentiles {
            let what = format!("{}PercentileLatency(us)", ordinal(*percentile));
            let ns = times.value_at_percentile(*percentile);
            line(lines, name, &what, ns / 1_000);
        }
    }
    line(lines, name, "Return=OK", found.committed);
    for (what, count) in
        [("Return=ERROR", found.failed), ("Return=UNEXPECTED_STATE", found.unknown)]
    {
        if count > 0 {
            line(lines, name, what, count);
        }
    }
}

/// "99th", "99.9".
fn ordinal(percentile: f64) -> String {
    if percentile.fract() != 0.0 {
        return percentile.to_string();
    }
    let whole = percentile as u64;
    let ending = match (whole % 100, whole % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{whole}{ending}")
}

fn line(lines: &mut String, name: &str, what: &str, value: impl std::fmt::Display) {
    writeln!(lines, "[{name}], {what}, {value}").expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::{of_load, ordinal};

    #[test]
    fn percentiles_are_named_as_in_ycsb() {
        for (percentile, name) in [
            (50.0, "50th"),
            (91.0, "91st"),
            (92.0, "92nd"),
            (93.0, "93rd"),
            (11.0, "11th"),
            (99.9, "99.9"),
        ] {
            assert_eq!(ordinal(percentile), name);
        }
    }

    #[test]
    fn a_load_prints_its_time_and_its_rows() {
        assert_eq!(
            of_load(1_000, 2_000_000_000),
            "[OVERALL], RunTime(ms), 2000\n[OVERALL], Throughput(ops/sec), 500\n\
             [INSERT], Operations, 1000\n[INSERT], Return=OK, 1000\n"
        );
    }
}
