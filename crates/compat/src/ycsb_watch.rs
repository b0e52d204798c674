//! YCSB's measurements of every operation, kept per client and kind.
//!
//! 1. Latencies are of committed operations, from their first try (service) and from their scheduled start
//!    (intended), in histograms as YCSB keeps them.
//! 2. In a run limited by time, operations in progress at the end of the warm-up count too
//!    (`TransactionListener`).
//! 3. YCSB measures each call of its database interface, so a read-modify-write also counts as a read and as
//!    an update. Its read lasts until the answer of the read in its last try; its update lasts from there to
//!    the commit, since an update of YCSB is complete when the call returns.

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use syncline_contract::{OperationId, Workload};
use syncline_instrument::Nanos;
use syncline_runner::{TransactionEvent, TransactionListener, TransactionOutcome};

/// The measurements of one kind of operation; times are in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    pub(super) committed: u64,
    /// Undone or refused.
    pub(super) failed: u64,
    /// Of unknown outcome.
    pub(super) unknown: u64,
    pub(super) service: Histogram<u64>,
    pub(super) intended: Histogram<u64>,
}

impl Measurement {
    fn none() -> Measurement {
        let empty = Histogram::new(3).expect("three digits are kept");
        Measurement { committed: 0, failed: 0, unknown: 0, service: empty.clone(), intended: empty }
    }

    /// The number of operations with any outcome.
    pub(super) fn all(&self) -> u64 {
        self.committed + self.failed + self.unknown
    }

    fn add(&mut self, other: &Measurement) {
        self.committed += other.committed;
        self.failed += other.failed;
        self.unknown += other.unknown;
        for (sum, one) in
            [(&mut self.service, &other.service), (&mut self.intended, &other.intended)]
        {
            sum.add(one).expect("a histogram grows as needed");
        }
    }

    /// Counts an operation; `times` are its service and intended latencies, if known.
    fn count(&mut self, outcome: TransactionOutcome, times: Option<[Nanos; 2]>) {
        match outcome {
            TransactionOutcome::Committed => self.committed += 1,
            TransactionOutcome::Aborted
            | TransactionOutcome::Conflicted(_)
            | TransactionOutcome::Failed(_) => self.failed += 1,
            TransactionOutcome::Unknown => self.unknown += 1,
            TransactionOutcome::Skipped => return,
        }
        let Some([service, intended]) = times.filter(|_| outcome == TransactionOutcome::Committed)
        else {
            return;
        };
        for (histogram, ns) in [(&mut self.service, service), (&mut self.intended, intended)] {
            let recorded = histogram.record(ns);
            recorded.expect("a histogram grows as needed");
        }
    }
}

/// The kinds of a read-modify-write and its parts, by position.
#[derive(Clone, Debug)]
struct Parts {
    whole: usize,
    read: usize,
    update: usize,
    /// Whether each operation of the plan reads, by its number.
    reads: Vec<bool>,
}

impl Parts {
    fn of<W: Workload>(workload: &W) -> Option<Parts> {
        let kind = |name: &str| {
            let mut names = workload.transactions().iter();
            names.position(|one| *one == name)
        };
        let operations = workload.plan().operations().iter();
        Some(Parts {
            whole: kind("read-modify-write")?,
            read: kind("read")?,
            update: kind("update")?,
            reads: operations.map(|one| !one.action.writes()).collect(),
        })
    }
}

/// The measurements of one client.
#[derive(Debug, Default)]
struct ClientMeasurements {
    /// One entry per kind; empty until an operation ends, since a histogram takes 16 KiB.
    kinds: Vec<Measurement>,
    /// Committed transactions.
    transactions: u64,
    /// The duration of the read of the next transaction to end, if it was timed.
    read_ns: Option<Nanos>,
}

/// Measures the operations of a run.
#[derive(Debug)]
pub(super) struct Watch {
    clients: Vec<Mutex<ClientMeasurements>>,
    kinds: usize,
    parts: Option<Parts>,
}

impl Watch {
    /// A watch for the clients of a workload.
    pub(super) fn new<W: Workload>(clients: usize, workload: &W) -> Watch {
        Watch {
            clients: (0..clients).map(|_| Mutex::default()).collect(),
            kinds: workload.transactions().len(),
            parts: Parts::of(workload),
        }
    }

    /// The measurements of a kind, for all clients together.
    pub(super) fn measurement(&self, kind: usize) -> Measurement {
        let mut all = Measurement::none();
        for client in &self.clients {
            if let Some(one) = client.lock().kinds.get(kind) {
                all.add(one);
            }
        }
        all
    }

    /// Committed transactions, each counted once.
    pub(super) fn transactions(&self) -> u64 {
        let each = self.clients.iter().map(|client| client.lock().transactions);
        each.sum()
    }
}

impl TransactionListener for Watch {
    fn ended(&self, one: &TransactionEvent) {
        let Some(kind) = one.kind else {
            return;
        };
        let mut client = self.clients[one.client].lock();
        let ClientMeasurements { kinds, transactions, read_ns } = &mut *client;
        if kinds.is_empty() {
            kinds.resize(self.kinds, Measurement::none());
        }
        let service = one.ended.saturating_sub(one.started);
        let intended = one.ended.saturating_sub(one.due);
        *transactions += u64::from(one.outcome == TransactionOutcome::Committed);
        kinds[kind].count(one.outcome, Some([service, intended]));
        let read_ns = read_ns.take();
        if let Some(parts) = self.parts.as_ref().filter(|parts| parts.whole == kind) {
            let waited = one.started.saturating_sub(one.due);
            let read = read_ns.map(|ns| [ns, waited + ns]);
            let update = read_ns.map(|ns| [service.saturating_sub(ns), intended]);
            kinds[parts.read].count(one.outcome, read);
            kinds[parts.update].count(one.outcome, update);
        }
    }

    fn operations(&self, client: usize, times: &[(OperationId, Nanos)]) {
        let Some(parts) = &self.parts else {
            return;
        };
        let is_read = |id: &OperationId| parts.reads.get(id.0).copied().unwrap_or_default();
        let read = times.iter().find(|(id, _)| is_read(id));
        self.clients[client].lock().read_ns = read.map(|(_, ns)| *ns);
    }
}

#[cfg(test)]
mod tests {
    use super::Watch;
    use syncline_contract::Workload;
    use syncline_runner::{TransactionEvent, TransactionListener, TransactionOutcome};
    use syncline_workloads::AnyWorkload;

    fn workload() -> AnyWorkload {
        let options = [("workload".to_owned(), "f".to_owned())];
        AnyWorkload::parse("ycsb", &options).unwrap()
    }

    fn kind(workload: &AnyWorkload, name: &str) -> usize {
        let mut names = workload.transactions().iter();
        names.position(|one| *one == name).unwrap()
    }

    const ONE: TransactionEvent = TransactionEvent {
        client: 0,
        kind: None,
        due: 1_000,
        started: 3_000,
        ended: 5_000,
        outcome: TransactionOutcome::Committed,
        tries: 1,
        late: false,
        began_in_warm_up: false,
    };

    #[test]
    fn operations_are_kept_by_kind_from_both_beginnings() {
        let workload = workload();
        let watch = Watch::new(2, &workload);
        let update = kind(&workload, "update");
        let one = TransactionEvent { kind: Some(update), ..ONE };
        watch.ended(&one);
        watch.ended(&TransactionEvent { client: 1, ended: 9_000, ..one });
        for outcome in
            [TransactionOutcome::Aborted, TransactionOutcome::Unknown, TransactionOutcome::Skipped]
        {
            watch.ended(&TransactionEvent { outcome, ..one });
        }
        let found = watch.measurement(update);
        assert_eq!((found.service.len(), found.intended.len()), (2, 2));
        assert_eq!((found.service.min(), found.intended.min()), (2_000, 4_000));
        assert_eq!((found.committed, found.failed, found.unknown), (2, 1, 1));
        assert_eq!(watch.measurement(kind(&workload, "read")).all(), 0);
        assert_eq!(watch.transactions(), 2);
    }

    /// f28.
    #[test]
    fn a_read_modify_write_is_a_read_and_an_update_too() {
        let workload = workload();
        let watch = Watch::new(1, &workload);
        let of = |name: &str| kind(&workload, name);
        let operations = workload.plan().operations();
        let id = |writes: bool| {
            let found = operations.iter().position(|one| one.action.writes() == writes);
            syncline_contract::OperationId(found.unwrap())
        };
        watch.operations(0, &[(id(false), 500), (id(true), 700)]);
        watch.ended(&TransactionEvent { kind: Some(of("read-modify-write")), ..ONE });
        watch.ended(&TransactionEvent { kind: Some(of("read")), ..ONE });
        let least = |name: &str| {
            let found = watch.measurement(of(name));
            let times = (found.service.min(), found.intended.min());
            (found.committed, times)
        };
        assert_eq!(least("read-modify-write"), (1, (2_000, 4_000)));
        assert_eq!(least("read"), (2, (500, 2_500)));
        // The update is the rest of the whole: 2,000 less 500 ns.
        let (committed, (service, intended)) = least("update");
        assert_eq!(committed, 1);
        assert!((1_499..=1_500).contains(&service) && (3_998..=4_000).contains(&intended));
        assert_eq!(watch.transactions(), 2);
    }
}
