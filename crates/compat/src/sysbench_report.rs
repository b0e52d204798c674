//! sysbench's lines at the beginning and end of a run, in the wording and order that programs parse.
//!
//! Queries are those of committed events, whereas sysbench also counts those of undone tries, and counts a
//! write that matched no row as "other". Conflicts are sysbench's ignored errors.

use super::sysbench_flags::Flags;
use super::sysbench_watch::Counted;
use std::fmt::Write;

/// The lines before a run.
pub(super) fn head(flags: &Flags, target: &str) -> String {
    let mut text = format!("syncline sysbench on {target}\n\n");
    let mut say = |what: String| writeln!(text, "{what}").expect("a string takes any text");
    say("Running the test with following options:".to_owned());
    say(format!("Number of threads: {}", flags.threads));
    if flags.rate_per_s > 0.0 {
        say(format!("Target transaction rate: {}/sec", flags.rate_per_s));
    }
    if flags.report_interval_s > 0 {
        say(format!("Report intermediate results every {} second(s)", flags.report_interval_s));
    }
    say(match flags.seed {
        0 => "Initializing random number generator from current time".to_owned(),
        seed => format!("Initializing random number generator from seed ({seed})."),
    });
    say("\n".to_owned());
    text
}

/// The latencies in sysbench's buckets: 1,024 from 1 us to 100 s, of equal width as logarithms.
pub(super) fn histogram(all: &Counted) -> String {
    const LEAST_MS: f64 = 0.001;
    const MOST_MS: f64 = 100_000.0;
    const LAST: usize = 1_023;
    /// The width of the largest bar.
    const STARS: u64 = 40;
    let width = (MOST_MS / LEAST_MS).ln() / LAST as f64;
    let mut buckets = [0_u64; LAST + 1];
    for step in all.latencies.iter_recorded() {
        let ms = step.value_iterated_to() as f64 / 1e6;
        let place = ((ms / LEAST_MS).ln() / width).round().max(0.0);
        buckets[(place as usize).min(LAST)] += step.count_since_last_iteration();
    }
    let most = buckets.iter().copied().max().unwrap_or(0);
    let mut text = "Latency histogram (values are in milliseconds)\n       \
                    value  ------------- distribution ------------- count\n"
        .to_owned();
    for (place, count) in buckets.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        let ms = LEAST_MS * (place as f64 * width).exp();
        let stars = (count * STARS + most / 2) / most;
        let bar = "*".repeat(stars as usize);
        writeln!(text, "{ms:12.3} |{bar:<40} {count}").expect("a string takes any text");
    }
    text + " \n"
}

/// The lines after a run: the totals, the counts of each client, events per transaction, and the length of
/// the run in seconds.
pub(super) fn cumulative(
    flags: &Flags,
    all: &Counted,
    clients: &[Counted],
    events_of_transaction: f64,
    seconds: f64,
) -> String {
    let mut text = String::new();
    let mut say = |what: String| writeln!(text, "{what}").expect("a string takes any text");
    let queries = all.queries;
    let events = all.transactions as f64 * events_of_transaction;
    let rate = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    say("SQL statistics:".to_owned());
    say("    queries performed:".to_owned());
    for (what, count) in [
        ("read: ", queries.reads),
        ("write:", queries.writes),
        ("other:", queries.other),
        ("total:", queries.all()),
    ] {
        say(format!("        {what}                           {count}"));
    }
    for (what, count) in [
        ("transactions:  ", events),
        ("queries:       ", queries.all() as f64),
        ("ignored errors:", all.errors as f64),
        ("reconnects:    ", all.reconnects as f64),
    ] {
        let per_s = rate(count);
        say(format!("    {what}                      {count:<6.0} ({per_s:.2} per sec.)"));
    }
    say(String::new());
    say("General statistics:".to_owned());
    say(format!("    total time:                          {seconds:.4}s"));
    say(format!("    total number of events:              {events:.0}"));
    say(String::new());
    latency(flags, all, &mut say);
    fairness(clients, events_of_transaction, &mut say);
    text
}

fn latency(flags: &Flags, all: &Counted, say: &mut impl FnMut(String)) {
    let ms = |ns: f64| ns / 1e6;
    let count = all.transactions.max(1) as f64;
    let least = if all.latencies.is_empty() { 0 } else { all.latencies.min() };
    say("Latency (ms):".to_owned());
    say(format!("         min: {:39.2}", ms(least as f64)));
    say(format!("         avg: {:39.2}", ms(all.busy_ns as f64 / count)));
    say(format!("         max: {:39.2}", ms(all.latencies.max() as f64)));
    say(match flags.percentile {
        0 => "         percentile stats:               disabled".to_owned(),
        percentile => {
            format!("        {percentile:3}th percentile: {:27.2}", all.percentile_ms(percentile))
        }
    });
    say(format!("         sum: {:39.2}", ms(all.busy_ns as f64)));
    say(String::new());
}

fn fairness(clients: &[Counted], events_of_transaction: f64, say: &mut impl FnMut(String)) {
    let events: Vec<f64> =
        clients.iter().map(|client| client.transactions as f64 * events_of_transaction).collect();
    let busy: Vec<f64> = clients.iter().map(|client| client.busy_ns as f64 / 1e9).collect();
    say("Threads fairness:".to_owned());
    for (what, of) in
        [("events (avg/stddev):        ", events), ("execution time (avg/stddev):", busy)]
    {
        let (mean, deviation) = spread(&of);
        say(format!("    {what}   {mean:.4}/{deviation:3.2}"));
    }
    say(String::new());
}

/// Mean and standard deviation.
fn spread(of: &[f64]) -> (f64, f64) {
    let count = of.len().max(1) as f64;
    let mean = of.iter().sum::<f64>() / count;
    let squares = of.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
    (mean, (squares / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{histogram, spread};
    use crate::sysbench_watch::Counted;

    #[test]
    fn latencies_are_in_sysbench_s_buckets() {
        let mut counted = Counted::new();
        for (ms, count) in [(1, 100), (20, 10)] {
            counted.latencies.record_n(ms * 1_000_000, count).unwrap();
        }
        let bar = "*".repeat(40);
        let rows = format!("       1.007 |{bar} 100\n      20.002 |{:<40} 10\n \n", "****");
        let text = histogram(&counted);
        assert!(text.ends_with(&rows), "{text}");
        assert_eq!(histogram(&Counted::new()).lines().count(), 3, "no row");
    }

    #[test]
    fn the_spread_is_over_all_clients() {
        let (mean, deviation) = spread(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert!((mean - 5.0).abs() < 1e-12 && (deviation - 2.0).abs() < 1e-12);
        assert_eq!(spread(&[]), (0.0, 0.0));
    }
}
