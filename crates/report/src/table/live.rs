//! The figures of a run in progress, one line for each interval.

use syncline_record::Interval;
use syncline_record::units;

/// The signs of a bar of 1 to 8 eighths.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The rates that are drawn, the newest.
const DRAWN: usize = 30;

/// The rate and the 99th percentile of an interval, for a line of progress.
pub fn live_figures(interval: &Interval) -> String {
    let p99 = units::or_unknown(interval.response_p99_ns, units::span_ns);
    format!("{}, p99 {p99}", units::rate(interval.throughput_per_s()))
}

/// All figures of an interval, the disk's best sync rate, and the rates up to now as bars from zero to the
/// highest of them.
pub fn live_status(interval: &Interval, rates: &[f64], line_max_per_s: Option<f64>) -> String {
    let time = |ns: Option<u64>| units::or_unknown(ns, units::span_ns);
    let mut text = format!(
        "{}  p50 {}  p99 {}  max {}",
        units::rate(interval.throughput_per_s()),
        time(interval.response_p50_ns),
        time(interval.response_p99_ns),
        time(interval.response_max_ns),
    );
    let other = [("conflicted", interval.conflicted), ("failed", interval.failed)];
    for (name, count) in other.into_iter().filter(|(_, count)| *count > 0) {
        text += &format!("  {count} {name}");
    }
    if let Some(line) = line_max_per_s {
        text += &format!("  line {}", units::rate(line));
    }
    text + "  " + &bars(rates)
}

fn bars(rates: &[f64]) -> String {
    let rates = &rates[rates.len().saturating_sub(DRAWN)..];
    let most = rates.iter().copied().fold(0.0, f64::max);
    let bar = |rate: &f64| {
        let eighths = if most > 0.0 { (rate / most * 8.0).ceil() as usize } else { 1 };
        EIGHTHS[eighths.clamp(1, 8) - 1]
    };
    rates.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::bars;

    #[test]
    fn bars_are_from_zero_to_the_highest_of_the_newest_rates() {
        assert_eq!(bars(&[0.0, 50.0, 100.0]), "▁▄█");
        assert_eq!(bars(&[]), "");
        assert_eq!(bars(&[0.0, 0.0]), "▁▁");
        let many: Vec<f64> = std::iter::once(1e9).chain([1.0; 30]).collect();
        assert_eq!(bars(&many), "█".repeat(30));
    }
}
