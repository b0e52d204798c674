//! The coordinator's control of the phases: opens the gate, samples intervals, ends the measured span.
//!
//! Phases: connecting, warm-up, measured span, drain. The measured span ends at the deadline (even if all
//! clients have left before), when the transactions are used up, when a stop is requested, or when the store
//! fails for good.

use crate::account::live_counters::{LiveCounters, LiveTotals, OutcomeKind, committed};
use crate::account::measured_span::PhaseTimes;
use crate::account::sampler::Reading;
use crate::coordinate::coordinator::Coordinator;
use crate::coordinate::observer::Event;
use crate::coordinate::overhead::OverheadTiming;
use crate::drive::arrival::Schedule;
use crate::drive::control::{Control, Start};
use crate::drive::executor::Phase;
use parking_lot::Mutex;
use std::sync::atomic::Ordering;
use syncline_contract::{ClientModel, CommitPaths, Internal, StoreProcess, Target, Workload};
use syncline_host::Process;
use syncline_instrument::{Nanos, clock};
use syncline_profile::Profile;
use syncline_profiler::{Profiler, ProfilerCpuTime, Subject};
use syncline_record::{Interval, OverheadPair};

/// A step of the profiler during the span may take up to this long, because the kernel waits for its
/// processors. No step starts later than this before the clients leave: their threads take their counts with
/// them.
pub(crate) const PROFILER_STEP_NS: Nanos = 100_000_000;
/// The interval between two checks for a stop request.
pub(crate) const POLL_NS: Nanos = 20_000_000;
/// How long transactions under way may take to end after a stop request, so that a store that hangs does not
/// keep the user waiting.
pub(crate) const STOP_DRAIN_NS: Nanos = clock::SECOND;
/// A last interval shorter than this share of the others is left out.
const LAST_INTERVAL: f64 = 0.05;
/// How long the idle rate of flushes is measured where flushes stand in for syncs.
const IDLE_NS: Nanos = 300_000_000;

/// The coordinator's data from the opening of the gate on.
pub(crate) struct RunPhases {
    pub times: PhaseTimes,
    /// Read when the clients started.
    pub first: Reading,
    /// Flushes per nanosecond of the idle store, if they were measured.
    pub idle_flushes_per_ns: Option<f64>,
    /// `None` if the run ended before the measured span.
    pub span: Option<Span>,
    pub intervals: Vec<Interval>,
    /// True if a stop was requested.
    pub stop_requested: bool,
    /// Why there is too little free space to continue.
    pub shortage: Option<String>,
    /// When the coordinator noticed that the whole budget was taken.
    budget_taken: Option<Nanos>,
    /// Processor time of the coordinating thread.
    pub coordinator_cpu_ns: Nanos,
    /// The slices of the profiler's overhead A/B test, if the plan requests it.
    pub overhead_pairs: Vec<OverheadPair>,
}

/// The measured span: readings at its two ends, and the commits acknowledged between them.
pub(crate) struct Span {
    pub commits: u64,
    pub readings: (Reading, Reading),
    /// The growth of the store's internal figures between them.
    pub internals: Vec<Internal>,
    /// The commit paths of a sample of the commits acknowledged between them.
    pub commit_paths: Option<CommitPaths>,
    /// The profile of the store's process between them, if the profiler is on.
    pub profile: Option<Profile>,
    /// The processor time that the profiler used meanwhile.
    pub profiler_cpu: Option<ProfilerCpuTime>,
}

#[derive(Clone)]
struct Mark {
    reading: Reading,
    tally: LiveTotals,
}

impl RunPhases {
    fn close_interval<T: Target, W: Workload>(
        &mut self,
        coordinator: &Coordinator<'_, T, W>,
        last: &Mark,
        now: &Mark,
    ) {
        let measure = self.times.measure;
        let count = |how| now.tally.count(how) - last.tally.count(how);
        let service_ns = |share| now.tally.service_ns(&last.tally, share);
        let response_ns = |share| now.tally.response_ns(&last.tally, share);
        let machine = coordinator.sampler.between(&last.reading, &now.reading);
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
        let interval = Interval {
            repetition: 1,
            start_ns: last.reading.at.saturating_sub(measure),
            end_ns: now.reading.at.min(self.times.deadline).saturating_sub(measure),
            committed: count(OutcomeKind::Committed),
            aborted: count(OutcomeKind::Aborted),
            conflicted: count(OutcomeKind::Conflicted),
            failed: count(OutcomeKind::Failed),
            unfinished: count(OutcomeKind::Unknown),
            service_p50_ns: service_ns(0.5),
            service_p99_ns: service_ns(0.99),
            service_max_ns: service_ns(1.0),
            response_p50_ns: response_ns(0.5),
            response_p99_ns: response_ns(0.99),
            response_max_ns: response_ns(1.0),
            response_histogram: now.tally.response_histogram(&last.tally),
            steal: finite(machine.steal),
            foreign_cpus: finite(machine.other_cpus),
            busy: finite(machine.busy),
            pressure_cpu: finite(machine.pressure_cpu),
            pressure_io: finite(machine.pressure_io),
            queue_length: finite(machine.queue_length),
            device_busy: finite(machine.device_busy),
            page_faults: machine.page_faults,
        };
        coordinator.observer.event(Event::Interval(&interval));
        self.intervals.push(interval);
    }
}

impl<T: Target, W: Workload> Coordinator<'_, T, W> {
    /// Runs all phases; `None` if the run ended before its clients started.
    pub(crate) fn watch(&self, control: &Control, live: &[LiveCounters]) -> Option<RunPhases> {
        self.observer.event(Event::Connecting { clients: self.plan.clients });
        if !self.all_connect(control) {
            return None;
        }
        let idle_flushes_per_ns = self.watch_idle();
        let scale = self.plan.overhead_test.then(|| self.overhead_timing());
        let mut profiler = self.open_profiler();
        // Without a warm-up the span begins at the gate, so the profiler must start before it opens.
        let cold = self.plan.warm_up.is_zero() && scale.is_none();
        if let Some(profiler) = profiler.as_mut().filter(|_| cold) {
            profiler.start(&|| committed(live));
        }
        let first = self.read();
        let cpu = clock::thread_cpu();
        let times = self.times(scale.map_or(0, OverheadTiming::all_ns));
        control.open(Start { times, schedules: self.schedules(times) });
        let mut watched = RunPhases {
            times,
            first,
            idle_flushes_per_ns,
            span: None,
            intervals: Vec::new(),
            stop_requested: false,
            shortage: None,
            budget_taken: None,
            coordinator_cpu_ns: 0,
            overhead_pairs: Vec::new(),
        };
        if let Some(scale) = scale {
            let until = watched.times.measure;
            self.warm_up(control, &mut watched, until - scale.all_ns());
            self.observer.event(Event::MeasuringOverhead);
            watched.overhead_pairs =
                self.measure_overhead(control, live, scale, until, &mut profiler);
        }
        self.warm_up(control, &mut watched, times.measure);
        self.span(control, live, &mut watched, profiler.as_mut());
        if let (Some(span), Some(profiler)) = (watched.span.as_mut(), profiler) {
            // Before the drain: the store's processes may end with their clients.
            span.profiler_cpu = Some(profiler.cpu_time());
            span.profile = Some(profiler.finish());
        }
        self.drain(control, watched.budget_taken);
        watched.coordinator_cpu_ns = clock::thread_cpu() - cpu;
        Some(watched)
    }

    /// Waits until all clients are connected; false if the run ends before that.
    pub(crate) fn all_connect(&self, control: &Control) -> bool {
        while !control.all_connected() {
            if self.stop_requested() || control.ending() || control.any_left() {
                return false;
            }
            Control::rest(POLL_NS);
        }
        !self.stop_requested()
    }

    /// The times of the phases from now on. `overhead_ns` is the time of the profiler's overhead A/B test.
    fn times(&self, overhead_ns: Nanos) -> PhaseTimes {
        let start = clock::now();
        let warm_up_ns = clock::nanos(self.plan.warm_up).saturating_add(overhead_ns);
        let measure = start.saturating_add(warm_up_ns);
        let duration = self.plan.duration.map_or(Nanos::MAX, clock::nanos);
        PhaseTimes { start, measure, deadline: measure.saturating_add(duration) }
    }

    /// Clients with a thread each share one schedule, so that any free client takes the next arrival. Workers
    /// that drive many clients have one schedule each and never wait for each other.
    fn schedules(&self, times: PhaseTimes) -> Vec<Mutex<Schedule>> {
        let groups = match self.target.capabilities().client_model {
            ClientModel::Threads => 1,
            ClientModel::Futures | ClientModel::Queue => self.workers,
        };
        (0..groups)
            .filter_map(|group| {
                Schedule::new(self.plan.arrival, group, groups, self.plan.seed, times)
            })
            .map(Mutex::new)
            .collect()
    }

    /// The idle rate of flushes, in flushes per nanosecond. Measured only where flushes stand in for syncs:
    /// with one client, if syncs are not counted.
    fn watch_idle(&self) -> Option<f64> {
        let needed = self.sampler.calls_refusal().is_some() && self.plan.clients == 1;
        if !needed {
            return None;
        }
        let before = self.read();
        before.block?.flushes?;
        while clock::now() < before.at + IDLE_NS && !self.stop_requested() {
            Control::rest(POLL_NS);
        }
        let now = self.read();
        let flushes = now.block?.flushes?.saturating_sub(before.block?.flushes?);
        Some(flushes as f64 / (now.at - before.at) as f64)
    }

    fn warm_up(&self, control: &Control, watched: &mut RunPhases, until: Nanos) {
        if clock::now() < until {
            self.observer.event(Event::WarmingUp);
        }
        while clock::now() < until && !self.over(control, watched) {
            Control::rest(POLL_NS.min(until.saturating_sub(clock::now())));
        }
    }

    /// The profiler, ready to start; `None` if the plan has it off or the store's process is unknown.
    pub(crate) fn open_profiler(&self) -> Option<Profiler> {
        let options = self.plan.profiler.as_ref()?;
        let process = match self.sampler.process() {
            StoreProcess::InProcess => Process::Own,
            StoreProcess::Other(pid) => Process::Other(pid),
            StoreProcess::Unknown(_) => return None,
        };
        let mut profiler = Profiler::open(&Subject::of(process), options);
        profiler.prepare();
        Some(profiler)
    }

    fn span(
        &self,
        control: &Control,
        live: &[LiveCounters],
        watched: &mut RunPhases,
        mut profiler: Option<&mut Profiler>,
    ) {
        let PhaseTimes { start, measure, deadline } = watched.times;
        let interval_ns = clock::nanos(self.plan.interval);
        let cold = measure == start;
        if let Some(profiler) = profiler.as_mut().filter(|_| !cold) {
            profiler.start(&|| committed(live));
        }
        let begun = if cold {
            let (reading, tally) = (watched.first, LiveTotals::new());
            Mark { reading, tally }
        } else {
            self.mark(live)
        };
        let inside = self.target.internals();
        // Discard the commit paths from before the span.
        drop(self.target.take_commit_paths());
        let commits_before = begun.tally.count_whole(OutcomeKind::Committed);
        self.observer.event(Event::Measuring);
        let mut next = measure + interval_ns;
        let mut last = begun.clone();
        loop {
            let over = self.over(control, watched);
            let now = clock::now();
            if over || now >= deadline {
                break;
            }
            if now >= next {
                next += interval_ns * ((now - next) / interval_ns + 1);
                let mark = self.mark(live);
                watched.close_interval(self, &last, &mark);
                last = mark;
            }
            if let Some(profiler) = profiler.as_mut().filter(|_| deadline - now > PROFILER_STEP_NS)
            {
                profiler.tick(&|| committed(live));
            }
            Control::rest(POLL_NS.min(next.min(deadline).saturating_sub(now)));
        }
        if let Some(profiler) = &mut profiler {
            profiler.stop(&|| committed(live));
        }
        let mark = self.mark(live);
        let internals = grown(&inside, self.target.internals());
        let commit_paths = self.target.take_commit_paths();
        let rest_ns = mark.reading.at.min(deadline).saturating_sub(last.reading.at);
        if watched.intervals.is_empty() || rest_ns as f64 >= interval_ns as f64 * LAST_INTERVAL {
            watched.close_interval(self, &last, &mark);
        }
        watched.span = Some(Span {
            // Includes commits after the deadline, because the readings include their cost.
            commits: mark.tally.count_whole(OutcomeKind::Committed) - commits_before,
            readings: (begun.reading, mark.reading),
            internals,
            commit_paths,
            profile: None,
            profiler_cpu: None,
        });
    }

    fn mark(&self, live: &[LiveCounters]) -> Mark {
        let mut tally = LiveTotals::new();
        tally.read(live);
        // Both get the same time, or an interval's count and its length would be of different times.
        let at = clock::now();
        let mut reading = self.read();
        reading.at = at;
        Mark { reading, tally }
    }

    /// Lets transactions under way end, for at most the plan's drain.
    fn drain(&self, control: &Control, since: Option<Nanos>) {
        control.advance(Phase::Ending);
        let until = self.drained(since.unwrap_or_else(clock::now));
        if !control.all_left() {
            self.observer.event(Event::Draining);
        }
        let mut last = until;
        while !control.all_left() && clock::now() < last {
            if last == until && self.stop_requested() {
                last = until.min(clock::now() + STOP_DRAIN_NS);
            }
            control.wait_for_all(last.min(clock::now() + POLL_NS));
        }
    }

    pub(crate) fn drained(&self, since: Nanos) -> Nanos {
        since.saturating_add(clock::nanos(self.plan.drain))
    }

    fn over(&self, control: &Control, watched: &mut RunPhases) -> bool {
        watched.stop_requested |= self.stop_requested();
        if watched.shortage.is_none() {
            watched.shortage = self.disk.shortage();
        }
        if watched.stop_requested || watched.shortage.is_some() {
            return true;
        }
        if !control.budget_taken() {
            // Clients whose next arrival is after the deadline have left. The span still lasts until the
            // deadline, or the rate would depend on the distance between arrivals.
            return control.ending();
        }
        if control.all_left() {
            return true;
        }
        // The last transactions still belong to the span, if they end within the drain.
        let now = clock::now();
        now >= self.drained(*watched.budget_taken.get_or_insert(now))
    }

    pub(crate) fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The growth of a store's internal figures.
fn grown(before: &[Internal], now: Vec<Internal>) -> Vec<Internal> {
    let of = |part: &Internal| before.iter().find(|old| old.name == part.name).cloned();
    let parts = now.into_iter();
    parts.map(|part| of(&part).map_or_else(|| part.clone(), |old| part.since(&old))).collect()
}
