//! The times of runs in the formats of `HdrHistogram`, which its plotters and log processors read.
//!
//! Times are those from the moment a transaction was due to its acknowledgement, of committed transactions of
//! all kinds together.

use crate::{Error, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
use std::time::{Duration, UNIX_EPOCH};
use syncline_record::{RunRecord, TransactionFigures};

/// Lines of the spectrum for each halving of the distance to 100 %, as `HdrHistogram`'s own tools print them.
const TICKS: u32 = 5;

/// Nanoseconds of the unit of both formats, a millisecond.
const UNIT: f64 = 1e6;

/// The percentile spectrum of a run's times in milliseconds, of the repetition with the median throughput.
///
/// Fails if the record holds no histogram: it is of an older version, or nothing was committed.
pub fn spectrum(run: &RunRecord) -> Result<String> {
    let mut all = histogram();
    for kind in run.end.transactions.iter().filter(|kind| kind.count > 0) {
        let encoded = encoded(kind).ok_or_else(|| missing(run))?;
        all.add(&decoded(run, encoded)?).map_err(|error| damaged(run, &error))?;
    }
    if all.is_empty() {
        return Err(missing(run));
    }
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let mut below = 0;
    for step in all.iter_quantiles(TICKS) {
        below += step.count_since_last_iteration();
        let value = step.value_iterated_to() as f64 / UNIT;
        let quantile = step.quantile_iterated_to();
        let rest = if quantile < 1.0 {
            format!("{:.2}", 1.0 / (1.0 - quantile))
        } else {
            "inf".to_owned()
        };
        text += &format!("{value:>12.3} {quantile:>14.12} {below:>10} {rest:>14}\n");
    }
    text += &format!(
        "#[Mean    = {:>12.3}, StdDeviation   = {:>12.3}]\n\
         #[Max     = {:>12.3}, Total count    = {:>12}]\n\
         #[Buckets = {:>12}, SubBuckets     = {:>12}]\n",
        all.mean() / UNIT,
        all.stdev() / UNIT,
        all.max() as f64 / UNIT,
        all.len(),
        all.buckets(),
        SUB_BUCKETS,
    );
    Ok(text)
}

/// Parts of a power of two at three digits.
const SUB_BUCKETS: u32 = 2_048;

/// The log of the runs' intervals: a line for each, with its histogram. If there are several runs, the tag of
/// a line is the id of its run.
///
/// Fails if an interval with commits has no histogram: the record is of an older version.
pub fn log(runs: &[&RunRecord]) -> Result<String> {
    let first_ns = runs.iter().map(|run| run.identity.started_wall_ns).min().unwrap_or(0);
    let began = UNIX_EPOCH + Duration::from_nanos(first_ns);
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let unwritten = "memory takes every byte";
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment("Response times of committed transactions, recorded by Syncline")
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(UNIT)
        .begin_log_with(&mut bytes, &mut serializer)
        .expect(unwritten);
    for run in runs {
        let tag = if runs.len() > 1 { Tag::new(&run.identity.id) } else { None };
        for interval in &run.intervals {
            let times = match &interval.response_histogram {
                Some(encoded) => decoded(run, encoded)?,
                None if interval.committed == 0 => histogram(),
                None => return Err(missing(run)),
            };
            let number = usize::try_from(interval.repetition).unwrap_or(1);
            let repetition = run.end.repetitions.get(number.saturating_sub(1));
            let from_ns =
                repetition.map_or(run.identity.started_wall_ns, |one| one.started_wall_ns);
            let since = Duration::from_nanos(from_ns.saturating_sub(first_ns) + interval.start_ns);
            let length = Duration::from_nanos(interval.end_ns.saturating_sub(interval.start_ns));
            log.write_histogram(&times, since, length, tag).expect(unwritten);
        }
    }
    Ok(String::from_utf8(bytes).expect("the log is text"))
}

fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are valid")
}

fn encoded(kind: &TransactionFigures) -> Option<&str> {
    kind.response_histogram.as_deref().or(kind.service_histogram.as_deref())
}

fn decoded(run: &RunRecord, encoded: &str) -> Result<Histogram<u64>> {
    let bytes = BASE64_STANDARD.decode(encoded).map_err(|error| damaged(run, &error))?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| damaged(run, &error))
}

fn missing(run: &RunRecord) -> Error {
    Error::NoHistogram { id: run.identity.id.clone() }
}

fn damaged(run: &RunRecord, why: &dyn std::fmt::Display) -> Error {
    Error::DamagedHistogram { id: run.identity.id.clone(), why: why.to_string() }
}
