//! A worker's own statistics, merged with the other workers' when the run has ended.
//!
//! There are two counts per transaction type: the outcomes of the transactions that *started* in the measured
//! span, which are followed to their end, and the transactions that *ended* in it, for rates (see
//! `measured_span`).
//!
//! Invariant, asserted on merging: for each type, as many transactions ended as were started.

use crate::account::live_counters::{LiveCounters, OutcomeKind};
use crate::account::measured_span::{Counts, When};
use crate::account::result::{Distribution, OutcomeCounts};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use syncline_contract::{Cause, Failure, FailureKind, OperationId};
use syncline_instrument::{Nanos, clock};

/// Times up to an hour to three digits; longer ones count as an hour.
const LONGEST_NS: u64 = 3_600 * clock::SECOND;
/// A histogram starts with room for times up to this (90 KB) and grows a few times if longer ones come. With
/// room for an hour from the start, a thousand workers would take half a gigabyte.
const ROOM_NS: u64 = 1 << 20;
const DIGITS: u8 = 3;

/// How a transaction ended, after the last retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Committed,
    Aborted,
    Conflicted(Cause),
    Failed(FailureKind),
    Unknown,
}

impl End {
    fn outcome_kind(self) -> OutcomeKind {
        match self {
            End::Committed => OutcomeKind::Committed,
            End::Aborted => OutcomeKind::Aborted,
            End::Conflicted(_) => OutcomeKind::Conflicted,
            End::Failed(_) => OutcomeKind::Failed,
            End::Unknown => OutcomeKind::Unknown,
        }
    }
}

/// When a transaction was due, when its first try started, and when it ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub due: Nanos,
    pub started: Nanos,
    pub ended: Nanos,
}

/// One transaction type of one worker.
#[derive(Debug)]
pub(crate) struct TypeStats {
    pub outcomes: OutcomeCounts,
    /// Transactions that ended in the measured span, whenever they started.
    pub in_span: Counts,
    /// Commits among the outcomes that were acknowledged after the span.
    pub late: u64,
    pub service: Histogram<u64>,
    pub response: Histogram<u64>,
}

impl TypeStats {
    /// The outcomes of the transactions that started in the measured span.
    pub(crate) fn started(&self) -> Counts {
        Counts { committed: self.outcomes.committed, aborted: self.outcomes.aborted }
    }
}

/// One worker's statistics.
#[derive(Debug)]
pub(crate) struct WorkerStats {
    pub kinds: Vec<TypeStats>,
    pub operations: Vec<Histogram<u64>>,
    /// Every try and every conflict, warm-up included.
    pub tries: u64,
    pub conflicts: u64,
    pub reconnects: u64,
    /// Why the first connection was lost, as the store reported it.
    pub first_lost: Option<String>,
    /// The clients' time within the measured span in transactions of any outcome,
    pub busy_ns: Nanos,
    /// and between transactions: before the worker runs, waiting for a turn on it, thinking, connecting.
    pub between_ns: Nanos,
    /// When the last transaction of the measured span ended.
    pub last_ended: Nanos,
}

impl WorkerStats {
    /// Keeps the reason why the first connection was lost.
    #[cold]
    pub(crate) fn connection_lost(&mut self, failure: Failure) {
        self.first_lost.get_or_insert(failure.what);
    }

    /// `kinds` transaction types and `operations` timed operations.
    pub(crate) fn new(kinds: usize, operations: usize) -> WorkerStats {
        let kind = |_| TypeStats {
            outcomes: OutcomeCounts::default(),
            in_span: Counts::default(),
            late: 0,
            service: histogram(),
            response: histogram(),
        };
        WorkerStats {
            kinds: (0..kinds).map(kind).collect(),
            operations: (0..operations).map(|_| histogram()).collect(),
            tries: 0,
            conflicts: 0,
            reconnects: 0,
            first_lost: None,
            busy_ns: 0,
            between_ns: 0,
            last_ended: 0,
        }
    }

    /// Counts the start of a transaction of the measured span.
    #[inline]
    pub(crate) fn started(&mut self, kind: usize) {
        self.kinds[kind].outcomes.attempted += 1;
    }

    /// Counts the end of a transaction. `measured` is true if it started in the measured span; only then it
    /// counts among the outcomes. `live` counts all of them.
    #[inline]
    #[allow(
        clippy::too_many_arguments,
        reason = "only the caller knows them, and a struct of them is one more copy per transaction"
    )]
    pub(crate) fn ended(
        &mut self,
        kind: usize,
        measured: bool,
        when: When,
        end: End,
        tries: u32,
        span: Span,
        live: &LiveCounters,
    ) {
        self.tries += u64::from(tries);
        let service_ns = span.ended.saturating_sub(span.started);
        let response_ns = span.ended.saturating_sub(span.due);
        if when == When::After {
            live.ended_late(end.outcome_kind());
        } else if end == End::Committed {
            live.committed(service_ns, response_ns);
        } else {
            live.ended(end.outcome_kind());
        }
        if when == When::Inside {
            let in_span = &mut self.kinds[kind].in_span;
            in_span.committed += u64::from(end == End::Committed);
            in_span.aborted += u64::from(end == End::Aborted);
        }
        if measured {
            self.last_ended = span.ended;
            let stats = &mut self.kinds[kind];
            stats.outcomes.count(end);
            if end == End::Committed {
                stats.outcomes.committed_after_retry += u64::from(tries > 1);
                stats.late += u64::from(when == When::After);
                record(&mut stats.service, service_ns);
                record(&mut stats.response, response_ns);
            }
        }
    }

    /// Counts a try that conflicted and is retried.
    pub(crate) fn retried(&mut self, kind: usize, measured: bool, cause: Cause) {
        if measured {
            self.kinds[kind].outcomes.retried[cause as usize] += 1;
        }
    }

    /// Records the times of the operations that a try completed.
    pub(crate) fn operations(&mut self, times: &[(OperationId, Nanos)]) {
        for (operation, time_ns) in times {
            record(&mut self.operations[operation.0], *time_ns);
        }
    }

    /// Adds another worker's statistics.
    pub(crate) fn merge(&mut self, other: &WorkerStats) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            theirs.outcomes.assert_sum();
            mine.outcomes.merge(&theirs.outcomes);
            mine.in_span.merge(theirs.in_span);
            mine.late += theirs.late;
            add(&mut mine.service, &theirs.service);
            add(&mut mine.response, &theirs.response);
        }
        for (mine, theirs) in self.operations.iter_mut().zip(&other.operations) {
            add(mine, theirs);
        }
        self.tries += other.tries;
        self.conflicts += other.conflicts;
        self.reconnects += other.reconnects;
        self.first_lost = self.first_lost.take().or_else(|| other.first_lost.clone());
        self.busy_ns += other.busy_ns;
        self.between_ns += other.between_ns;
        self.last_ended = self.last_ended.max(other.last_ended);
    }
}

impl OutcomeCounts {
    fn count(&mut self, end: End) {
        match end {
            End::Committed => self.committed += 1,
            End::Aborted => self.aborted += 1,
            End::Conflicted(cause) => self.conflicted[cause as usize] += 1,
            End::Failed(kind) => self.failed[kind as usize] += 1,
            End::Unknown => self.unfinished += 1,
        }
    }

    pub(crate) fn merge(&mut self, other: &OutcomeCounts) {
        self.attempted += other.attempted;
        self.committed += other.committed;
        self.aborted += other.aborted;
        for (mine, theirs) in self.conflicted.iter_mut().zip(other.conflicted) {
            *mine += theirs;
        }
        for (mine, theirs) in self.failed.iter_mut().zip(other.failed) {
            *mine += theirs;
        }
        self.unfinished += other.unfinished;
        for (mine, theirs) in self.retried.iter_mut().zip(other.retried) {
            *mine += theirs;
        }
        self.committed_after_retry += other.committed_after_retry;
    }

    /// Conflicted transactions of all causes.
    pub fn conflicted_all(&self) -> u64 {
        self.conflicted.iter().sum()
    }

    /// Tries beyond the first, of all causes.
    pub fn retries(&self) -> u64 {
        self.retried.iter().sum()
    }

    /// Failed transactions of all kinds.
    pub fn failed_all(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Panics unless as many transactions ended as were started.
    pub(crate) fn assert_sum(&self) {
        let ended = self.committed
            + self.aborted
            + self.conflicted_all()
            + self.failed_all()
            + self.unfinished;
        assert!(
            self.attempted == ended,
            "every started transaction must have exactly one outcome: {self:?}"
        );
    }
}

fn histogram() -> Histogram<u64> {
    let mut histogram =
        Histogram::new_with_bounds(1, ROOM_NS, DIGITS).expect("the bounds are valid");
    histogram.auto(true);
    histogram
}

#[inline]
fn record(histogram: &mut Histogram<u64>, time_ns: Nanos) {
    histogram.record(time_ns.min(LONGEST_NS)).expect("a histogram grows up to an hour");
}

pub(crate) fn add(mine: &mut Histogram<u64>, theirs: &Histogram<u64>) {
    mine.add(theirs).expect("a histogram grows to fit what is added");
}

/// A histogram in HdrHistogram's V2 encoding, compressed, in base64, as its log files hold it; `None` if it
/// is empty.
pub(crate) fn encoded(histogram: &Histogram<u64>) -> Option<String> {
    if histogram.is_empty() {
        return None;
    }
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    serializer.serialize(histogram, &mut bytes).expect("memory takes every byte");
    Some(BASE64_STANDARD.encode(&bytes))
}

/// The figures of a histogram; `None` if it is empty.
pub(crate) fn distribution(histogram: &Histogram<u64>) -> Option<Distribution> {
    let at = |quantile| histogram.value_at_quantile(quantile);
    (!histogram.is_empty()).then(|| Distribution {
        count: histogram.len(),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: histogram.max(),
        mean: histogram.mean(),
        deviation: histogram.stdev(),
    })
}

#[cfg(test)]
mod tests {
    use super::{End, Span, WorkerStats, distribution};
    use crate::account::live_counters::{LiveCounters, LiveTotals, OutcomeKind};
    use crate::account::measured_span::When;
    use syncline_contract::{Cause, FailureKind};

    fn span(due: u64, started: u64, ended: u64) -> Span {
        Span { due, started, ended }
    }

    #[test]
    fn every_outcome_is_counted_once_and_by_its_cause() {
        let live = LiveCounters::new(false);
        let mut stats = WorkerStats::new(1, 0);
        let mut ends = vec![End::Committed, End::Aborted, End::Unknown];
        ends.extend(Cause::ALL.map(End::Conflicted));
        ends.extend(FailureKind::ALL.map(End::Failed));
        for end in &ends {
            stats.started(0);
            stats.ended(0, true, When::Inside, *end, 2, span(5, 10, 30), &live);
        }
        stats.ended(0, false, When::Before, End::Committed, 1, span(5, 10, 30), &live);
        let outcomes = stats.kinds[0].outcomes;
        outcomes.assert_sum();
        assert_eq!(outcomes.conflicted, [1; 3]);
        assert_eq!(outcomes.failed, [1; 5]);
        assert_eq!(outcomes.attempted, ends.len() as u64);
        assert_eq!((outcomes.committed, outcomes.committed_after_retry), (1, 1));
        let mut tally = LiveTotals::new();
        tally.read(&[live]);
        assert_eq!(tally.count(OutcomeKind::Committed), 2, "the warm-up is live, too");
        assert_eq!(
            (tally.count(OutcomeKind::Conflicted), tally.count(OutcomeKind::Failed)),
            (3, 5)
        );
    }

    #[test]
    fn service_starts_with_the_first_try_and_response_with_the_due_time() {
        let live = LiveCounters::new(false);
        let mut stats = WorkerStats::new(1, 0);
        stats.started(0);
        stats.ended(0, true, When::Inside, End::Committed, 1, span(1_000, 4_000, 5_000), &live);
        let mut merged = WorkerStats::new(1, 0);
        merged.merge(&stats);
        merged.merge(&stats);
        let service = distribution(&merged.kinds[0].service).unwrap();
        let response = distribution(&merged.kinds[0].response).unwrap();
        assert_eq!((service.count, service.p50), (2, 1_000));
        assert_eq!(response.max, 4_001, "three digits: the highest equivalent value");
        assert_eq!(distribution(&WorkerStats::new(1, 0).kinds[0].service), None);
    }

    #[test]
    fn a_histogram_grows_with_its_times_up_to_an_hour() {
        let live = LiveCounters::new(false);
        let mut stats = WorkerStats::new(1, 0);
        for ended in [1, 5_000_000_000, u64::MAX] {
            stats.started(0);
            stats.ended(0, true, When::Inside, End::Committed, 1, span(0, 0, ended), &live);
        }
        let mut merged = WorkerStats::new(1, 0);
        merged.merge(&stats);
        let service = distribution(&merged.kinds[0].service).unwrap();
        assert_eq!(service.count, 3);
        assert!((5_000_000_000..5_010_000_000).contains(&service.p50), "{service:?}");
        let hour = 3_600_000_000_000;
        assert!((hour..hour + hour / 1_000).contains(&service.max), "{service:?}");
    }

    #[test]
    fn a_lost_transaction_is_a_bug() {
        let mut stats = WorkerStats::new(1, 0);
        stats.started(0);
        let merged = std::panic::catch_unwind(|| WorkerStats::new(1, 0).merge(&stats));
        assert!(merged.is_err());
    }
}
