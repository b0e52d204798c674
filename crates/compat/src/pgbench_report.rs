//! pgbench's summary of a run, in the wording and order that programs parse.
//!
//! As in pgbench, transactions in progress at the end of the time are counted, including their time: the rate
//! is the number of all commits divided by the time until the last transaction ended. Conflicts by lock
//! timeout, which pgbench's database does not have, have their own line. The latency is the response time:
//! from the scheduled start of a transaction to its end, including retries. Figures that were not measured
//! are omitted.

use super::pgbench_watch::Watch;
use crate::pgbench_args::PgbenchArgs;
use std::fmt::Write;
use syncline_contract::Protocol;
use syncline_runner::{Cause, Distribution, OutcomeCounts, RunResult, TransactionResult};
use syncline_workloads::script::BUILTINS;

/// The summary.
pub(super) fn summary(
    args: &PgbenchArgs,
    result: &RunResult,
    protocol: Protocol,
    weights: &[u64],
    watch: &Watch<'_>,
) -> String {
    let mut text = String::new();
    head(args, result, protocol, &mut text);
    let several = result.transactions.len() > 1;
    counts(args, &result.outcomes, "", &mut text);
    above_limit(args, result, watch, &mut text);
    let all = pooled(&result.transactions);
    latency(all, "", &mut text);
    if args.rate.is_some() {
        let lag = watch.counts().lag_ms;
        let (mean, most) = (lag.mean(), lag.most);
        line(&mut text, &format!("rate limit schedule lag: avg {mean:.3} (max {most:.3}) ms"));
    }
    if let Some(ns) = watch.connected_ns().filter(|_| !args.connect) {
        let spent = ns as f64 / 1e6;
        line(&mut text, &format!("initial connection time = {spent:.3} ms"));
    }
    let rate = per_second(result.outcomes.committed, result);
    line(
        &mut text,
        &if args.connect {
            format!("tps = {rate:.6} (including reconnection times)")
        } else {
            format!("tps = {rate:.6} (without initial connection time)")
        },
    );
    if several {
        for (number, one) in result.transactions.iter().enumerate() {
            script(args, result, weights, number, one, &mut text);
        }
    } else {
        statements(args, result, &result.transactions[0].name, "", &mut text);
    }
    text
}

/// Transactions per second of a run that counts all it started.
fn per_second(transactions: u64, result: &RunResult) -> f64 {
    transactions as f64 * 1e9 / result.elapsed_ns().max(1) as f64
}

fn line(text: &mut String, what: &str) {
    writeln!(text, "{what}").expect("writing to a string does not fail");
}

/// pgbench's name for a script.
fn title(name: &str) -> &str {
    let built_in = BUILTINS.iter().find(|script| script.name == name);
    built_in.map_or(name, |script| script.title)
}

fn head(args: &PgbenchArgs, result: &RunResult, protocol: Protocol, text: &mut String) {
    let kind = match &result.transactions[..] {
        [only] => title(&only.name),
        _ => "multiple scripts",
    };
    line(text, &format!("syncline pgbench on {}", result.head.target.name));
    line(text, &format!("transaction type: {kind}"));
    let mut options = result.head.workload.options.iter();
    let scale = options.find(|(name, _)| name == "scale");
    let scale = scale.map_or("unknown", |(_, scale)| scale);
    line(text, &format!("scaling factor: {scale}"));
    line(text, &format!("query mode: {}", protocol.word()));
    line(text, &format!("number of clients: {}", result.head.client.clients));
    line(text, &format!("number of threads: {}", result.head.client.workers));
    if args.max_tries > 0 {
        line(text, &format!("maximum number of tries: {}", args.max_tries));
    }
    let each = args.transactions.unwrap_or(10);
    let span = match args.time {
        Some(seconds) => format!("duration: {seconds} s"),
        None => format!("number of transactions per client: {each}"),
    };
    line(text, &span);
    let done = result.outcomes.committed;
    let of = match args.time {
        Some(_) => String::new(),
        None => format!("/{}", each * args.client),
    };
    line(text, &format!("number of transactions actually processed: {done}{of}"));
}

/// The failures, by cause if requested, and the retries.
fn counts(args: &PgbenchArgs, outcomes: &OutcomeCounts, prefix: &str, text: &mut String) {
    let conflicts: u64 = outcomes.conflicted.iter().sum();
    let failed = conflicts + outcomes.failed_all();
    let all = outcomes.committed + failed;
    let mut count = |what: &str, number: u64| {
        let share = percent(number, all);
        line(text, &format!("{prefix}number of {what}: {number} ({share:.3}%)"));
    };
    count("failed transactions", failed);
    if args.failures_detailed {
        let of = |cause: Cause| outcomes.conflicted[cause as usize];
        count("serialization failures", of(Cause::Serialization));
        count("deadlock failures", of(Cause::Deadlock));
        count("lock failures", of(Cause::Locked));
        if args.continue_on_error {
            count("other failures", outcomes.failed_all());
        }
    }
    if args.max_tries != 1 {
        count("transactions retried", outcomes.committed_after_retry);
        let retries = outcomes.retries();
        line(text, &format!("{prefix}total number of retries: {retries}"));
    }
}

/// The skipped transactions, and those above the latency limit.
fn above_limit(args: &PgbenchArgs, result: &RunResult, watch: &Watch<'_>, text: &mut String) {
    let Some(limit_ms) = args.latency_limit else {
        return;
    };
    let counts = watch.counts();
    let outcomes = &result.outcomes;
    let ended = outcomes.committed + outcomes.conflicted_all() + outcomes.failed_all();
    if args.rate.is_some() {
        let share = percent(counts.skipped, ended + counts.skipped);
        let skipped = counts.skipped;
        line(text, &format!("number of transactions skipped: {skipped} ({share:.3}%)"));
    }
    let (late, of) = (counts.late, counts.latency_ms.count);
    let share = percent(late, of);
    line(
        text,
        &format!(
            "number of transactions above the {limit_ms:.1} ms latency limit: {late}/{of} ({share:.3}%)"
        ),
    );
}

fn percent(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { 100.0 * part as f64 / all as f64 }
}

/// Mean and standard deviation, in nanoseconds.
type Spread = (f64, f64);

fn latency(spread: Option<Spread>, prefix: &str, text: &mut String) {
    if let Some((mean, deviation)) = spread {
        let (mean, deviation) = (mean / 1e6, deviation / 1e6);
        line(text, &format!("{prefix}latency average = {mean:.3} ms"));
        line(text, &format!("{prefix}latency stddev = {deviation:.3} ms"));
    }
}

/// The mean and standard deviation of several distributions combined.
fn pooled(transactions: &[TransactionResult]) -> Option<Spread> {
    let parts = transactions.iter().filter_map(|one| one.response_ns);
    let parts: Vec<Distribution> = parts.collect();
    let count: f64 = parts.iter().map(|part| part.count as f64).sum();
    if count == 0.0 {
        return None;
    }
    let sum = |of: fn(&Distribution) -> f64| -> f64 {
        parts.iter().map(|part| part.count as f64 * of(part)).sum()
    };
    let mean = sum(|part| part.mean) / count;
    let squares = sum(|part| part.deviation.powi(2) + part.mean.powi(2)) / count;
    Some((mean, (squares - mean.powi(2)).max(0.0).sqrt()))
}

fn script(
    args: &PgbenchArgs,
    result: &RunResult,
    weights: &[u64],
    number: usize,
    one: &TransactionResult,
    text: &mut String,
) {
    let weight = weights[number];
    let target = percent(weight, weights.iter().sum());
    let done = one.outcomes.committed;
    let share = percent(done, result.outcomes.committed);
    let rate = per_second(done, result);
    line(text, &format!("SQL script {}: {}", number + 1, title(&one.name)));
    line(text, &format!(" - weight: {weight} (targets {target:.1}% of total)"));
    line(text, &format!(" - {done} transactions ({share:.1}% of total, tps = {rate:.6})"));
    counts(args, &one.outcomes, " - ", text);
    latency(pooled(std::slice::from_ref(one)), " - ", text);
    statements(args, result, &one.name, " - ", text);
}

/// The mean time of each statement of a script; backslash commands are not timed.
fn statements(
    args: &PgbenchArgs,
    result: &RunResult,
    script: &str,
    prefix: &str,
    text: &mut String,
) {
    if !args.report_per_command {
        return;
    }
    let tries_again = args.max_tries != 1;
    let counted = if tries_again { ", failures and retries" } else { " and failures" };
    line(text, &format!("{prefix}statement latencies in milliseconds{counted}:"));
    // The failed statement of a transaction is unknown, unless no transaction failed.
    let count = |all: u64| if all == 0 { "0" } else { "-" };
    let failed = result.outcomes.conflicted_all() + result.outcomes.failed_all();
    let (failed, retried) = (count(failed), count(result.outcomes.retries()));
    let begins = format!("{script}:");
    for operation in &result.operations {
        if let (Some(of), Some(times)) =
            (operation.name.strip_prefix(&begins), operation.service_ns)
        {
            let statement = of.split_once(' ').map_or(of, |(_line, statement)| statement);
            let cut = statement.ends_with("...");
            let statement = format!("{statement}{}", if cut { "" } else { ";" });
            let ms = times.mean / 1e6;
            line(
                text,
                &if tries_again {
                    format!("   {ms:11.3}  {failed:>10} {retried:>10}  {statement}")
                } else {
                    format!("   {ms:11.3}  {failed:>10}  {statement}")
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::pooled;
    use syncline_runner::{Distribution, OutcomeCounts, TransactionResult};

    fn of(times: &[f64]) -> TransactionResult {
        let count = times.len() as f64;
        let mean = times.iter().sum::<f64>() / count;
        let squares = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>();
        let response = Distribution {
            count: times.len() as u64,
            p50: 0,
            p90: 0,
            p99: 0,
            p999: 0,
            max: 0,
            mean,
            deviation: (squares / count).sqrt(),
        };
        TransactionResult {
            name: "a".to_owned(),
            always_writes: true,
            outcomes: OutcomeCounts::default(),
            service_ns: None,
            response_ns: Some(response),
            service_histogram: None,
            response_histogram: None,
        }
    }

    #[test]
    fn the_combined_spread_is_that_of_all_transactions() {
        let (one, other) = ([1.0, 2.0, 6.0], [10.0, 20.0]);
        let whole = pooled(&[of(&[1.0, 2.0, 6.0, 10.0, 20.0])]).unwrap();
        let parts = pooled(&[of(&one), of(&other)]).unwrap();
        assert!((whole.0 - parts.0).abs() < 1e-9 && (whole.1 - parts.1).abs() < 1e-9);
        assert!((whole.0 - 7.8).abs() < 1e-9);
        assert!(pooled(&[]).is_none());
    }
}
