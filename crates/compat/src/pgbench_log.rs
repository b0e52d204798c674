//! pgbench's log: `prefix.PID` of the first thread, `prefix.PID.N` of the others.
//!
//! ```text
//! client transaction time script epoch_s epoch_us [lag] [retries]        one line per transaction
//! start transactions sum_latency sum_latency_2 min max                   one line per interval
//!       sum_lag sum_lag_2 min_lag max_lag skipped retried retries serialization deadlock
//! ```
//!
//! Times are in microseconds. `skipped` or `failed` (with `--failures-detailed`, the cause) replaces the
//! time. The lag is present with `-R`, retries if more than one try is allowed. A lock timeout, which
//! pgbench's database does not have, is `locked`, and no interval column counts it. A thread here is a group
//! of clients: those with the same client number modulo `-j`.

use crate::pgbench_args::PgbenchArgs;
use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use syncline_console::CannotRun;
use syncline_instrument::clock;
use syncline_runner::{Cause, TransactionEvent, TransactionOutcome};

/// A transaction as pgbench counts it, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEntry {
    /// From the scheduled start to the end.
    pub(super) latency_us: u64,
    /// From the scheduled start to the actual start.
    pub(super) lag_us: u64,
    pub(super) retries: u64,
}

impl LogEntry {
    pub(super) fn of(one: &TransactionEvent) -> LogEntry {
        LogEntry {
            latency_us: one.ended.saturating_sub(one.due) / 1_000,
            lag_us: one.started.saturating_sub(one.due) / 1_000,
            retries: u64::from(one.tries.saturating_sub(1)),
        }
    }
}

/// The format of lines.
#[derive(Clone, Copy, Debug, Default)]
struct Form {
    has_lag: bool,
    has_retries: bool,
    has_causes: bool,
    /// The share of transactions that is written; none writes all.
    share: Option<f64>,
    /// The length of an interval in microseconds; none writes one line per transaction.
    interval_us: Option<u64>,
}

/// The log files of a run.
#[derive(Debug)]
pub(super) struct Log {
    form: Form,
    /// The offset from the program's clock to Unix time.
    epoch_ns: u64,
    threads: Vec<Mutex<ThreadLog<BufWriter<File>>>>,
}

/// A thread's file.
#[derive(Debug)]
struct ThreadLog<W> {
    out: W,
    /// The number of transactions of each client so far, indexed by client number / threads.
    numbers: Vec<u64>,
    interval: Interval,
    random: u64,
    failed: Option<io::Error>,
}

/// Sums over an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    /// Its start, in microseconds of Unix time; 0 before the first.
    start_us: u64,
    count: u64,
    latency: Spread,
    lag: Spread,
    skipped: u64,
    retried: u64,
    retries: u64,
    serialization: u64,
    deadlock: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    any: bool,
    sum: f64,
    squares: f64,
    least: u64,
    most: u64,
}

impl Spread {
    fn add(&mut self, one: u64) {
        self.sum += one as f64;
        self.squares += (one as f64).powi(2);
        self.least = if self.any { self.least.min(one) } else { one };
        self.most = self.most.max(one);
        self.any = true;
    }
}

impl Log {
    /// Creates the files.
    pub(super) fn open(args: &PgbenchArgs, seed: u64) -> Result<Log, CannotRun> {
        let threads = args.jobs.unwrap_or(1).min(args.client);
        let process = std::process::id();
        let file = |thread: usize| {
            let path = match thread {
                0 => format!("{}.{process}", args.log_prefix),
                _ => format!("{}.{process}.{thread}", args.log_prefix),
            };
            let made = File::create(&path);
            let out =
                made.map_err(|error| CannotRun(format!("cannot create the log {path}: {error}")))?;
            let clients = args.client.div_ceil(threads);
            Ok(Mutex::new(ThreadLog::new(BufWriter::new(out), clients, seed ^ thread as u64)))
        };
        Ok(Log {
            form: Form {
                has_lag: args.rate.is_some(),
                has_retries: args.max_tries != 1,
                has_causes: args.failures_detailed,
                share: args.sampling_rate,
                interval_us: args.aggregate_interval.map(|seconds| seconds as u64 * 1_000_000),
            },
            epoch_ns: clock::wall().saturating_sub(clock::now()),
            threads: (0..threads).map(file).collect::<Result<_, CannotRun>>()?,
        })
    }

    /// Writes a transaction, or adds it to its interval. [`Log::finish`] reports a failure.
    pub(super) fn write_transaction(&self, one: &TransactionEvent, entry: &LogEntry) {
        let threads = self.threads.len();
        let mut thread = self.threads[one.client % threads].lock();
        let at_us = (one.ended + self.epoch_ns) / 1_000;
        let written = thread.write_transaction(&self.form, one.client / threads, one, entry, at_us);
        if let Err(error) = written {
            thread.failed.get_or_insert(error);
        }
    }

    /// Writes the last intervals, and returns the first error of the log.
    pub(super) fn finish(&self) -> Result<(), CannotRun> {
        for thread in &self.threads {
            let mut thread = thread.lock();
            let ended = thread.finish(&self.form);
            if let Some(error) = thread.failed.take().or(ended.err()) {
                return Err(CannotRun(format!("the log could not be written completely: {error}")));
            }
        }
        Ok(())
    }
}

impl<W: Write> ThreadLog<W> {
    fn new(out: W, clients: usize, seed: u64) -> ThreadLog<W> {
        ThreadLog {
            out,
            numbers: vec![0; clients],
            interval: Interval::default(),
            random: seed,
            failed: None,
        }
    }

    fn write_transaction(
        &mut self,
        form: &Form,
        place: usize,
        one: &TransactionEvent,
        entry: &LogEntry,
        at_us: u64,
    ) -> io::Result<()> {
        if one.outcome == TransactionOutcome::Unknown {
            // A transaction aborted by the end of the run is not in pgbench's log either.
            return Ok(());
        }
        // pgbench counts a client's transactions from 1.
        self.numbers[place] += 1;
        let number = self.numbers[place];
        if let Some(length_us) = form.interval_us {
            self.roll(length_us, at_us)?;
            self.interval.add(one, entry);
            return Ok(());
        }
        if form.share.is_some_and(|share| self.unit() > share) {
            return Ok(());
        }
        let (client, script) = (one.client, one.kind.unwrap_or(0));
        write!(self.out, "{client} {number} ")?;
        match word(one.outcome, form.has_causes) {
            Some(word) => write!(self.out, "{word}")?,
            None => write!(self.out, "{}", entry.latency_us)?,
        }
        let (epoch_s, epoch_us) = (at_us / 1_000_000, at_us % 1_000_000);
        write!(self.out, " {script} {epoch_s} {epoch_us}")?;
        if form.has_lag {
            write!(self.out, " {}", entry.lag_us)?;
        }
        if form.has_retries {
            write!(self.out, " {}", entry.retries)?;
        }
        writeln!(self.out)
    }

    /// Writes the intervals that ended before that time, including empty ones.
    fn roll(&mut self, length_us: u64, at_us: u64) -> io::Result<()> {
        if self.interval.start_us == 0 {
            self.interval.start_us = at_us;
        }
        while self.interval.start_us + length_us <= at_us {
            let next_us = self.interval.start_us + length_us;
            self.interval.write(&mut self.out)?;
            self.interval = Interval { start_us: next_us, ..Interval::default() };
        }
        Ok(())
    }

    fn finish(&mut self, form: &Form) -> io::Result<()> {
        if form.interval_us.is_some() && self.interval.start_us > 0 {
            self.interval.write(&mut self.out)?;
        }
        self.out.flush()
    }

    /// A random number from 0 up to but not including 1: Steele, Lea and Flood's `SplitMix`, 2014.
    fn unit(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.random;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The word that replaces the time; none for a committed transaction, or one that aborted itself.
fn word(outcome: TransactionOutcome, has_causes: bool) -> Option<&'static str> {
    match outcome {
        TransactionOutcome::Committed
        | TransactionOutcome::Aborted
        | TransactionOutcome::Unknown => None,
        TransactionOutcome::Skipped => Some("skipped"),
        TransactionOutcome::Conflicted(cause) if has_causes => Some(cause.name()),
        TransactionOutcome::Conflicted(_) | TransactionOutcome::Failed(_) => Some("failed"),
    }
}

impl Interval {
    fn add(&mut self, one: &TransactionEvent, entry: &LogEntry) {
        match one.outcome {
            TransactionOutcome::Skipped => {
                self.skipped += 1;
                return;
            }
            TransactionOutcome::Conflicted(Cause::Serialization) => self.serialization += 1,
            TransactionOutcome::Conflicted(Cause::Deadlock) => self.deadlock += 1,
            TransactionOutcome::Conflicted(Cause::Locked)
            | TransactionOutcome::Failed(_)
            | TransactionOutcome::Unknown => {}
            TransactionOutcome::Committed | TransactionOutcome::Aborted => {
                self.count += 1;
                self.latency.add(entry.latency_us);
                self.lag.add(entry.lag_us);
            }
        }
        self.retried += u64::from(entry.retries > 0);
        self.retries += entry.retries;
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let start_s = self.start_us / 1_000_000;
        write!(out, "{start_s} {}", self.count)?;
        for of in [&self.latency, &self.lag] {
            write!(out, " {:.0} {:.0} {} {}", of.sum, of.squares, of.least, of.most)?;
        }
        writeln!(
            out,
            " {} {} {} {} {}",
            self.skipped, self.retried, self.retries, self.serialization, self.deadlock
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, LogEntry, ThreadLog};
    use syncline_runner::{Cause, TransactionEvent, TransactionOutcome};

    fn followed(
        client: usize,
        outcome: TransactionOutcome,
        latency_us: u64,
        tries: u32,
    ) -> TransactionEvent {
        let (due, started) = (1_000_000, 1_200_000);
        TransactionEvent {
            client,
            kind: Some(2),
            due,
            started,
            ended: due + latency_us * 1_000,
            outcome,
            tries,
            late: false,
            began_in_warm_up: false,
        }
    }

    /// The lines for transactions that ended at the given microseconds of Unix time.
    fn written(form: Form, all: &[(TransactionEvent, u64)]) -> Vec<String> {
        let mut thread = ThreadLog::new(Vec::new(), 4, 7);
        for (one, at_us) in all {
            thread.write_transaction(&form, one.client, one, &LogEntry::of(one), *at_us).unwrap();
        }
        thread.finish(&form).unwrap();
        let text = String::from_utf8(thread.out).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// f11: transaction numbers begin at 1.
    #[test]
    fn each_transaction_is_a_line_with_the_requested_columns() {
        let all = [
            (followed(0, TransactionOutcome::Committed, 1_500, 1), 5_000_007),
            (followed(1, TransactionOutcome::Committed, 900, 3), 5_000_008),
            (followed(0, TransactionOutcome::Skipped, 0, 0), 6_000_000),
            (followed(0, TransactionOutcome::Unknown, 10, 1), 6_000_001),
            (followed(0, TransactionOutcome::Conflicted(Cause::Deadlock), 10, 2), 6_000_002),
        ];
        assert_eq!(
            written(Form::default(), &all),
            ["0 1 1500 2 5 7", "1 1 900 2 5 8", "0 2 skipped 2 6 0", "0 3 failed 2 6 2"]
        );
        let form = Form { has_lag: true, has_retries: true, has_causes: true, ..Form::default() };
        let lines = written(form, &all);
        assert_eq!(lines[1], "1 1 900 2 5 8 200 2");
        assert_eq!(lines[3], "0 3 deadlock 2 6 2 200 1");
    }

    #[test]
    fn intervals_are_sums_including_empty_ones() {
        let form = Form { interval_us: Some(1_000_000), ..Form::default() };
        let all = [
            (followed(0, TransactionOutcome::Committed, 300, 1), 10_000_000),
            (followed(1, TransactionOutcome::Committed, 500, 2), 10_900_000),
            (followed(0, TransactionOutcome::Conflicted(Cause::Serialization), 9, 3), 10_950_000),
            (followed(0, TransactionOutcome::Skipped, 0, 0), 12_500_000),
        ];
        assert_eq!(
            written(form, &all),
            [
                "10 2 800 340000 300 500 400 80000 200 200 0 2 3 1 0",
                "11 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
                "12 0 0 0 0 0 0 0 0 0 1 0 0 0 0",
            ]
        );
    }

    #[test]
    fn a_share_of_the_transactions_is_written() {
        let form = Form { share: Some(0.25), ..Form::default() };
        let one = (followed(0, TransactionOutcome::Committed, 1, 1), 1);
        let lines = written(form, &vec![one; 4_000]);
        assert!((850..1_150).contains(&lines.len()), "{}", lines.len());
    }
}
