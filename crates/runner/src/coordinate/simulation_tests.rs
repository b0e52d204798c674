//! Clients of a store with a known delay in simulated time, compared with arithmetic.
//!
//! `simulation.rs` has the simulation itself.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

use crate::account::live_counters::{LiveCounters, LiveTotals, OutcomeKind};
use crate::account::measured_span::{self, Counts, SpanEnd};
use crate::account::worker_stats::WorkerStats;
use crate::coordinate::simulation::{BEGIN, Dues, Simulation, times, worker_s_clients};
use crate::drive::control::Control;
use crate::drive::executor::Phase;
use crate::plan::{Arrival, RunPlan};
use std::time::Duration;
use syncline_instrument::{Nanos, clock};

/// A run to simulate.
#[derive(Clone, Copy, Debug)]
struct Run {
    clients: usize,
    workers: usize,
    delay_ns: Nanos,
    warm_up_ns: Nanos,
    /// The span of a run by time; `None` for a run by `transactions`, which needs one worker.
    duration_ns: Option<Nanos>,
    transactions: Option<u64>,
    arrival: Arrival,
    seed: u64,
}

/// The figures of a run.
#[derive(Clone, Copy, Debug)]
struct Figures {
    rate_per_s: f64,
    span_ns: Nanos,
    commits_in_span: u64,
    /// Commits of the transactions that started in the span.
    committed: u64,
    late: u64,
    to_last_end_ns: Nanos,
    /// Live counts of commits: until the end of the span, and in total.
    live: (u64, u64),
    mean_service_ns: f64,
}

impl Run {
    fn plan(&self) -> RunPlan {
        RunPlan {
            clients: self.clients,
            duration: self.duration_ns.map(Duration::from_nanos),
            transactions: self.transactions,
            warm_up: Duration::from_nanos(self.warm_up_ns),
            arrival: self.arrival,
            seed: self.seed,
            ..RunPlan::default()
        }
    }

    fn simulation(&self) -> Simulation {
        Simulation { delay_ns: self.delay_ns, workers: self.workers }
    }

    fn go(&self) -> Figures {
        let times = times(&self.plan());
        let control = Control::new(self.workers, self.transactions);
        let mut all = WorkerStats::new(1, 0);
        let mut live = Vec::new();
        for worker in 0..self.workers {
            let one = LiveCounters::new(false);
            let control = match self.transactions {
                Some(_) => &control,
                // Each worker has its own simulated time, and so its own end of the span.
                None => &Control::new(1, None),
            };
            all.merge(&self.work(worker, control, &one));
            live.push(one);
        }
        let end = match self.duration_ns {
            Some(_) => SpanEnd::Time { ended_at: control.ended_at() },
            None => SpanEnd::Count { last_ended: all.last_ended },
        };
        let kind = &all.kinds[0];
        let counted = measured_span::counted(end, kind.in_span, kind.started());
        let span_ns = measured_span::length(&times, end);
        let mut tally = LiveTotals::new();
        tally.read(&live);
        Figures {
            rate_per_s: counted.committed as f64 * 1e9 / span_ns as f64,
            span_ns,
            commits_in_span: counted.committed,
            committed: kind.outcomes.committed,
            late: kind.late,
            to_last_end_ns: all.last_ended.saturating_sub(times.measure),
            live: (tally.count(OutcomeKind::Committed), tally.count_whole(OutcomeKind::Committed)),
            mean_service_ns: kind.service.mean(),
        }
    }

    fn work(&self, worker: usize, control: &Control, live: &LiveCounters) -> WorkerStats {
        let plan = self.plan();
        let simulation = self.simulation();
        let (stats, _schedule) = simulation.work(worker, &plan, times(&plan), control, live, None);
        stats
    }

    fn numbers(&self, worker: usize) -> impl Iterator<Item = usize> {
        worker_s_clients(worker, self.workers, self.clients)
    }

    /// Commits in the span by arithmetic, and the length of the span.
    fn arithmetic(&self) -> (u64, Nanos) {
        let (clients, delay) = (self.clients as u64, self.delay_ns);
        match (self.arrival, self.duration_ns) {
            (Arrival::Closed, Some(duration)) => {
                // A client's k-th commit is k delays after its start.
                let each = (self.warm_up_ns + duration) / delay - self.warm_up_ns / delay;
                (clients * each, duration)
            }
            (Arrival::Closed, None) => {
                // All clients commit at the same times; the first start in the span begins the budget.
                let budget = self.transactions.unwrap();
                let first = self.warm_up_ns.div_ceil(delay) * delay - self.warm_up_ns;
                (budget, first + budget.div_ceil(clients) * delay)
            }
            (_, duration) => {
                let duration = duration.unwrap();
                let dues = self.simulation().dues(&self.plan(), usize::MAX);
                let groups = dues.into_iter().enumerate();
                let groups = groups.map(|(group, dues)| self.queued(group, dues, duration));
                (groups.sum(), duration)
            }
        }
    }

    /// Commits in the span of one worker's clients, which take arrivals in turn: a queue with a known service
    /// time.
    fn queued(&self, group: usize, dues: Dues, duration: Nanos) -> u64 {
        let end = self.warm_up_ns + duration;
        let mut free: Vec<Nanos> = self.numbers(group).map(|_| 0).collect();
        let mut commits = 0;
        let mut serve = |due: Nanos, free: &mut Vec<Nanos>| {
            let next = (0..free.len()).min_by_key(|client| free[*client]).unwrap();
            free[next] = free[next].max(due) + self.delay_ns;
            commits += u64::from(free[next] > self.warm_up_ns && free[next] <= end);
        };
        for due in dues.warm_up {
            // The backlog of the warm-up is dropped when the span begins.
            if *free.iter().min().unwrap() < self.warm_up_ns {
                serve(due, &mut free);
            }
        }
        for due in dues.measured {
            if *free.iter().min().unwrap() < Nanos::MAX {
                serve(due, &mut free);
            }
        }
        commits
    }
}

/// A random configuration: by time or by count, closed or open, with or without a warm-up.
fn configuration(random: &mut fastrand::Rng) -> Run {
    let clients = random.usize(1..=40);
    let delay_ns = random.u64(20_000..900_000_000);
    let by_count = random.u32(0..4) == 0;
    let capacity_per_s = clients as f64 * 1e9 / delay_ns as f64;
    let rate_per_s = capacity_per_s * (0.3 + 1.2 * random.f64());
    let arrival = match random.u32(0..4) {
        _ if by_count => Arrival::Closed,
        0 | 1 => Arrival::Closed,
        2 => Arrival::Fixed { rate_per_s },
        _ => Arrival::Poisson { rate_per_s },
    };
    let delays = |most: f64, random: &mut fastrand::Rng| -> Nanos {
        (delay_ns as f64 * most * random.f64()) as Nanos
    };
    Run {
        clients,
        workers: if by_count { 1 } else { random.usize(1..=clients.min(3)) },
        delay_ns,
        warm_up_ns: if random.bool() { delays(20.0, random) } else { 0 },
        duration_ns: (!by_count).then(|| delay_ns + delays(150.0, random)),
        transactions: by_count.then(|| random.u64(1..5_000)),
        arrival,
        seed: random.u64(..),
    }
}

/// f01: the definition of docs/method.md holds for 50 random configurations.
#[test]
fn a_rate_agrees_with_arithmetic_for_a_store_with_a_known_delay() {
    let mut random = fastrand::Rng::with_seed(20_261_128);
    for number in 0..50 {
        let run = configuration(&mut random);
        let (commits, span_ns) = run.arithmetic();
        let expected = commits as f64 * 1e9 / span_ns as f64;
        let figures = run.go();
        let off = (figures.rate_per_s - expected).abs();
        assert!(off <= expected * 0.01, "{number}: {figures:?}, expected {expected} of {run:?}");
        // The error of a rate at the ends of its span is at most one transaction per client.
        let capacity = run.clients as f64 * 1e9 / run.delay_ns as f64;
        let one_each = run.clients as f64 * 1e9 / figures.span_ns as f64;
        assert!(figures.rate_per_s <= capacity + one_each, "{figures:?} {run:?}");
        if run.warm_up_ns == 0 {
            assert!(figures.rate_per_s <= capacity * 1.000_001, "{figures:?} {run:?}");
        }
        assert!((figures.mean_service_ns / run.delay_ns as f64 - 1.0).abs() < 0.001);
        if run.duration_ns.is_some() {
            assert_eq!(figures.live.0 - warmed(&run, &figures), figures.commits_in_span);
        }
    }
}

/// Commits of the warm-up: all except those in the span and those after it.
fn warmed(run: &Run, figures: &Figures) -> u64 {
    let (_, all) = figures.live;
    let late = all - figures.live.0;
    assert_eq!(late, figures.late, "{run:?}");
    all - late - figures.commits_in_span
}

/// f01 itself: 20 clients that take 0.9 s each can do 22.2/s, but were reported with 40/s.
#[test]
fn transactions_that_end_after_the_deadline_are_in_no_rate() {
    let run = Run {
        clients: 20,
        workers: 2,
        delay_ns: 900_000_000,
        warm_up_ns: 0,
        duration_ns: Some(clock::SECOND),
        transactions: None,
        arrival: Arrival::Closed,
        seed: 1,
    };
    let figures = run.go();
    assert_eq!((figures.committed, figures.late), (40, 20));
    assert_eq!((figures.commits_in_span, figures.span_ns), (20, clock::SECOND));
    // The rate that pgbench and sysbench report: all of them, over the time to the end of the last one.
    let by_all = figures.committed as f64 * 1e9 / figures.to_last_end_ns as f64;
    assert!((by_all - 20.0 / 0.9).abs() < 1e-6, "{figures:?}");
    let warm = Run { warm_up_ns: clock::SECOND, duration_ns: Some(100 * clock::SECOND), ..run };
    let figures = warm.go();
    assert!((figures.rate_per_s / (20.0 / 0.9) - 1.0).abs() < 0.01, "{figures:?}");
}

#[test]
fn a_stopped_run_counts_what_had_ended_by_then() {
    let run = Run {
        clients: 3,
        workers: 1,
        delay_ns: 1_000,
        warm_up_ns: 0,
        duration_ns: Some(clock::SECOND),
        transactions: None,
        arrival: Arrival::Closed,
        seed: 1,
    };
    let (control, live) = (Control::new(1, None), LiveCounters::new(false));
    control.advance(Phase::Ending);
    let stats = run.work(0, &control, &live);
    assert_eq!(stats.kinds[0].in_span, Counts::default());
    let times = times(&run.plan());
    let stopped = |ended_at| measured_span::length(&times, SpanEnd::Time { ended_at });
    assert_eq!(stopped(BEGIN + 400), 400);
    assert_eq!(stopped(Nanos::MAX), clock::SECOND);
    assert_eq!(stopped(BEGIN - 1), 0);
}
