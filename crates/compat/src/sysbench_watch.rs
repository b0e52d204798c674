//! What sysbench counts of every event: kept a client, summed up at the end and for each line meanwhile.
//!
//! Latency is the response: from when an event was due, as sysbench counts the time in its queue, to its
//! end, retries included; of committed ones alone. Where a transaction is one statement of an event, it
//! is the statement's.

use super::sysbench_flags::Flags;
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use syncline_console::terminal;
use syncline_contract::FailureKind;
use syncline_instrument::{Nanos, clock};
use syncline_record::Interval;
use syncline_runner::{Event, Observer, TransactionEvent, TransactionListener, TransactionOutcome};
use syncline_workloads::oltp::{Oltp, Queries};

/// What was counted of some clients in some time.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    /// Committed transactions.
    pub(super) transactions: u64,
    pub(super) queries: Queries,
    /// Tries that conflicted.
    pub(super) errors: u64,
    pub(super) reconnects: u64,
    /// The sum of the latencies.
    pub(super) busy_ns: u64,
    pub(super) latencies: Histogram<u64>,
}

impl Counted {
    /// Nothing yet.
    pub(super) fn new() -> Counted {
        Counted {
            transactions: 0,
            queries: Queries::default(),
            errors: 0,
            reconnects: 0,
            busy_ns: 0,
            latencies: Histogram::new(3).expect("three digits are kept"),
        }
    }

    fn add(&mut self, other: &Counted) {
        self.transactions += other.transactions;
        self.queries.reads += other.queries.reads;
        self.queries.writes += other.queries.writes;
        self.queries.other += other.queries.other;
        self.errors += other.errors;
        self.reconnects += other.reconnects;
        self.busy_ns += other.busy_ns;
        let added = self.latencies.add(&other.latencies);
        added.expect("a histogram grows to whatever is added");
    }

    /// The latency at a percentile, in milliseconds; zero without events, as sysbench prints it.
    pub(super) fn percentile_ms(&self, percentile: u8) -> f64 {
        let at = f64::from(percentile) / 100.0;
        self.latencies.value_at_quantile(at) as f64 / 1e6
    }
}

/// A client's counts: of the whole run, and since the last line.
#[derive(Debug)]
struct OfClient {
    whole: Counted,
    interval: Counted,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    flags: &'a Flags,
    oltp: &'a Oltp,
    clients: Vec<Mutex<OfClient>>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(flags: &'a Flags, oltp: &'a Oltp) -> Watch<'a> {
        let client = |_| Mutex::new(OfClient { whole: Counted::new(), interval: Counted::new() });
        Watch { flags, oltp, clients: (0..flags.threads).map(client).collect() }
    }

    /// What each client has done.
    pub(super) fn clients(&self) -> Vec<Counted> {
        let clients = self.clients.iter();
        clients.map(|client| client.lock().whole.clone()).collect()
    }

    /// What all have done.
    pub(super) fn all(&self) -> Counted {
        let mut all = Counted::new();
        for client in &self.clients {
            all.add(&client.lock().whole);
        }
        all
    }

    /// What all have done since the last call.
    fn since(&self) -> Counted {
        let mut since = Counted::new();
        for client in &self.clients {
            let interval = std::mem::replace(&mut client.lock().interval, Counted::new());
            since.add(&interval);
        }
        since
    }

    fn line(&self, interval: &Interval) -> String {
        let seconds = (interval.end_ns - interval.start_ns) as f64 / clock::SECOND as f64;
        let at = interval.end_ns as f64 / clock::SECOND as f64;
        let since = self.since();
        let events = since.transactions as f64 * self.oltp.events_of_transaction();
        let Queries { reads, writes, other } = since.queries;
        let a_second = |count: u64| count as f64 / seconds;
        format!(
            "[ {at:.0}s ] thds: {} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms,{}%): \
             {:.2} err/s: {:.2} reconn/s: {:.2}\n",
            self.flags.threads,
            events / seconds,
            a_second(since.queries.all()),
            a_second(reads),
            a_second(writes),
            a_second(other),
            self.flags.percentile,
            since.percentile_ms(self.flags.percentile),
            a_second(since.errors),
            a_second(since.reconnects),
        )
    }
}

impl TransactionListener for Watch<'_> {
    fn ended(&self, one: &TransactionEvent) {
        let mut client = self.clients[one.client].lock();
        let OfClient { whole, interval } = &mut *client;
        // What ended after the time is over is of no interval; the last one ends there.
        let interval = (!one.late).then_some(interval);
        for counted in std::iter::once(whole).chain(interval) {
            let conflicted = u64::from(matches!(one.outcome, TransactionOutcome::Conflicted(_)));
            counted.errors += u64::from(one.tries.saturating_sub(1)) + conflicted;
            counted.reconnects +=
                u64::from(one.outcome == TransactionOutcome::Failed(FailureKind::Connection));
            let (TransactionOutcome::Committed, Some(kind)) = (one.outcome, one.kind) else {
                continue;
            };
            let queries = self.oltp.queries_of(kind);
            counted.transactions += 1;
            counted.queries.reads += queries.reads;
            counted.queries.writes += queries.writes;
            counted.queries.other += queries.other;
            let latency_ns: Nanos = one.ended.saturating_sub(one.due);
            counted.busy_ns += latency_ns;
            let recorded = counted.latencies.record(latency_ns);
            recorded.expect("a histogram grows to whatever it is given");
        }
    }
}

impl Observer for Watch<'_> {
    fn event(&self, event: Event<'_>) {
        let lines = match event {
            Event::Connecting { .. } => "Initializing worker threads...\n\n".to_owned(),
            Event::Measuring => "Threads started!\n\n".to_owned(),
            Event::Interval(interval) if self.flags.report_interval_s > 0 => self.line(interval),
            _ => return,
        };
        // The lines belong to the result, as sysbench's do; with JSON they are only in the way.
        if !self.flags.json
            && let Err(error) = terminal::print(&lines)
        {
            terminal::warn(&error.0);
        }
    }
}
