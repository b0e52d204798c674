//! What the intervals of a run say about its throughput: how far it is known, a warm-up, outliers.
//!
//! Computed from the record when it is shown, so that older records have it too.

use syncline_record::units;
use syncline_record::{Interval, RunRecord, stats};

/// How far the throughput is known, in words.
pub(crate) fn throughput_interval(run: &RunRecord) -> String {
    let repetitions: Vec<f64> =
        run.end.repetitions.iter().map(|repetition| repetition.throughput_per_s).collect();
    if let Some(found) = stats::mean_interval_of_repetitions(&repetitions) {
        let range = units::rate_range(found.range.least.max(0.0), found.range.most);
        return format!("95 % interval of the mean {range}, from {} repetitions", found.blocks);
    }
    let rates = rates(&run.intervals);
    match stats::mean_interval(&rates) {
        Some(found) => {
            let range = units::rate_range(found.range.least.max(0.0), found.range.most);
            let blocks = match found.windows_per_block {
                1 => format!("{} intervals", found.blocks),
                several => format!("{} blocks of {several} intervals", found.blocks),
            };
            format!("95 % interval of the mean {range}, from {blocks}")
        }
        None if rates.len() < stats::BLOCKS_LEAST => format!(
            "95 % interval unknown: it requires {} intervals; run for 10 s or longer, or with --repeat 5",
            stats::BLOCKS_LEAST
        ),
        None => "95 % interval unknown: the rate rose or fell for most of the run; run longer, or with --repeat 5"
            .to_owned(),
    }
}

/// A warm-up within the measured time, and outliers, a sentence each. Both are in every figure.
pub(crate) fn unsteady_parts(run: &RunRecord) -> Vec<String> {
    let first_repetition = run.intervals.first().map_or(1, |interval| interval.repetition);
    let last_repetition = run.intervals.last().map_or(1, |interval| interval.repetition);
    let mut sentences = Vec::new();
    for repetition in first_repetition..=last_repetition {
        let of = |interval: &&Interval| interval.repetition == repetition;
        let intervals: Vec<&Interval> = run.intervals.iter().filter(of).collect();
        let rates: Vec<f64> =
            intervals.iter().map(|interval| interval.throughput_per_s()).collect();
        let place = if first_repetition == last_repetition {
            String::new()
        } else {
            format!("repetition {repetition}: ")
        };
        let warm_up = stats::warm_up(&rates);
        if warm_up > 0 {
            sentences.push(place.clone() + &warm_up_sentence(run, &intervals, &rates, warm_up));
        }
        for index in stats::outliers(&rates).into_iter().filter(|index| *index >= warm_up) {
            sentences.push(place.clone() + &outlier_sentence(intervals[index], &rates));
        }
    }
    if sentences.len() > SENTENCES_MOST {
        let more = sentences.len() - SENTENCES_MOST;
        sentences.truncate(SENTENCES_MOST);
        sentences.push(format!("and {more} more; show --format intervals has all"));
    }
    sentences
}

/// The most sentences before the rest is only counted.
const SENTENCES_MOST: usize = 8;

fn rates(intervals: &[Interval]) -> Vec<f64> {
    intervals.iter().map(Interval::throughput_per_s).collect()
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

fn warm_up_sentence(
    run: &RunRecord,
    intervals: &[&Interval],
    rates: &[f64],
    warm_up: usize,
) -> String {
    let (before, rest) = rates.split_at(warm_up);
    let ratio = units::times(mean(before) / mean(rest));
    let lasted_ns = intervals[warm_up - 1].end_ns;
    let advised_s = (run.head.plan.warm_up_ns + lasted_ns).div_ceil(1_000_000_000);
    format!(
        "warm-up within the measured time: the first {} have {ratio} the rate of the rest; run with --warm-up \
         {advised_s}s or longer",
        units::span_ns(lasted_ns)
    )
}

fn outlier_sentence(interval: &Interval, rates: &[f64]) -> String {
    let middle = stats::median(rates).unwrap_or(0.0);
    let mut text = format!(
        "outlier at {}: {}, {} the median",
        units::span_ns(interval.start_ns),
        units::rate(interval.throughput_per_s()),
        units::times(interval.throughput_per_s() / middle.max(f64::MIN_POSITIVE)),
    );
    let shares = [
        ("device busy", interval.device_busy),
        ("waiting for input or output", interval.pressure_io),
        ("stolen", interval.steal),
    ];
    for (name, share) in shares {
        text +=
            &share.map_or_else(String::new, |share| format!(", {name} {}", units::percent(share)));
    }
    if let Some(cpus) = interval.foreign_cpus {
        text += &format!(", other processes {} CPUs", units::figure(cpus));
    }
    text
}
