//! The coordinator's eyes: opens the gate, watches the clock, samples intervals, ends the span.
//!
//! Phases: connecting, warm-up, measured span, drain. The measured span ends at the deadline, whoever has
//! left before, when the transactions are used up, when it is asked to stop, or when the store fails for
//! good.

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
use syncline_record::{Interval, LookingPair};

/// What a meter does on its way may take it so long, while the kernel waits for its processors: not when the
/// clients are about to leave, whose threads take their counts along.
pub(crate) const METER_STEP_NS: Nanos = 100_000_000;
/// How often the coordinator looks whether it was asked to stop.
pub(crate) const POLL_NS: Nanos = 20_000_000;
/// How long transactions under way may take to end once the run was asked to stop: whoever stops it does not
/// wait for a store that hangs.
pub(crate) const STOP_DRAIN_NS: Nanos = clock::SECOND;
/// A last interval shorter than this share of the others is left out.
const LAST_INTERVAL: f64 = 0.05;
/// How long the idle rate of flushes is watched, where flushes stand in for syncs.
const IDLE_NS: Nanos = 300_000_000;

/// What the coordinator saw from the gate on.
pub(crate) struct RunPhases {
    pub times: PhaseTimes,
    /// Read when the clients started.
    pub first: Reading,
    /// Flushes a nanosecond of the idle store, if they were watched.
    pub idle_flushes_per_ns: Option<f64>,
    /// None if the run ended before it.
    pub span: Option<Span>,
    pub intervals: Vec<Interval>,
    /// True if it was asked to stop.
    pub asked: bool,
    /// Why there is too little free space to go on.
    pub shortage: Option<String>,
    /// When the last transaction of the budget was seen to be taken.
    budget_taken: Option<Nanos>,
    /// Processor time of the coordinating thread.
    pub coordinator_cpu_ns: Nanos,
    /// What looking costs, if it was to be weighed.
    pub weighed: Vec<LookingPair>,
}

/// The measured span: readings at its two ends, and what was acknowledged between them.
pub(crate) struct Span {
    pub commits: u64,
    pub readings: (Reading, Reading),
    /// What the store counted inside itself between them.
    pub internals: Vec<Internal>,
    /// The ways of commits that were acknowledged between them, of a sample.
    pub commit_paths: Option<CommitPaths>,
    /// What was seen of its process between them, if it was metered.
    pub profile: Option<Profile>,
    /// What looking used up meanwhile.
    pub spent: Option<ProfilerCpuTime>,
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
            steal: finite(machine.steal),
            foreign_cpus: finite(machine.foreign_cpus),
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
    /// None if the run ended before its clients started.
    pub(crate) fn watch(&self, control: &Control, live: &[LiveCounters]) -> Option<RunPhases> {
        self.observer.event(Event::Connecting { clients: self.plan.clients });
        if !self.all_connect(control) {
            return None;
        }
        let idle_flushes_per_ns = self.watch_idle();
        let scale = self.plan.unmetered_beside.then(|| self.overhead_timing());
        let mut meter = self.meter();
        // Without a warm-up the span begins at the gate: who looks must look before it opens.
        let cold = self.plan.warm_up.is_zero() && scale.is_none();
        if let Some(meter) = meter.as_mut().filter(|_| cold) {
            meter.start(&|| committed(live));
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
            asked: false,
            shortage: None,
            budget_taken: None,
            coordinator_cpu_ns: 0,
            weighed: Vec::new(),
        };
        if let Some(scale) = scale {
            let until = watched.times.measure;
            self.warm_up(control, &mut watched, until - scale.all_ns());
            self.observer.event(Event::MeasuringOverhead);
            watched.weighed = self.measure_overhead(control, live, scale, until, &mut meter);
        }
        self.warm_up(control, &mut watched, times.measure);
        self.span(control, live, &mut watched, meter.as_mut());
        if let (Some(span), Some(meter)) = (watched.span.as_mut(), meter) {
            // Before the drain: the store's processes may end with their clients.
            span.spent = Some(meter.spent());
            span.profile = Some(meter.finish());
        }
        self.drain(control, watched.budget_taken);
        watched.coordinator_cpu_ns = clock::thread_cpu() - cpu;
        Some(watched)
    }

    /// Waits until all clients are connected; false if the run ends before.
    pub(crate) fn all_connect(&self, control: &Control) -> bool {
        while !control.all_connected() {
            if self.asked_to_stop() || control.ending() || control.any_left() {
                return false;
            }
            Control::rest(POLL_NS);
        }
        !self.asked_to_stop()
    }

    /// The phases from now on, where that long is weighed what looking costs.
    fn times(&self, weighing_ns: Nanos) -> PhaseTimes {
        let start = clock::now();
        let warm_up_ns = clock::nanos(self.plan.warm_up).saturating_add(weighing_ns);
        let measure = start.saturating_add(warm_up_ns);
        let duration = self.plan.duration.map_or(Nanos::MAX, clock::nanos);
        PhaseTimes { start, measure, deadline: measure.saturating_add(duration) }
    }

    /// Clients on threads of their own share one schedule, so that any free one takes the next
    /// arrival; workers that drive many clients have one each and never wait for one another.
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

    /// Flushes stand in for syncs only where one client works alone and syncs are not counted.
    fn watch_idle(&self) -> Option<f64> {
        let wanted = self.sampler.calls_refusal().is_some() && self.plan.clients == 1;
        if !wanted {
            return None;
        }
        let before = self.read();
        before.block?.flushes?;
        while clock::now() < before.at + IDLE_NS && !self.asked_to_stop() {
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

    /// The collectors of a metered run, ready to start.
    pub(crate) fn meter(&self) -> Option<Profiler> {
        let options = self.plan.meter.as_ref()?;
        let process = match self.sampler.process() {
            StoreProcess::InProcess => Process::Ours,
            StoreProcess::Other(pid) => Process::Other(pid),
            StoreProcess::Unknown(_) => return None,
        };
        let mut meter = Profiler::open(&Subject::of(process), options);
        meter.prepare();
        Some(meter)
    }

    fn span(
        &self,
        control: &Control,
        live: &[LiveCounters],
        watched: &mut RunPhases,
        mut meter: Option<&mut Profiler>,
    ) {
        let PhaseTimes { start, measure, deadline } = watched.times;
        let interval_ns = clock::nanos(self.plan.interval);
        let cold = measure == start;
        if let Some(meter) = meter.as_mut().filter(|_| !cold) {
            meter.start(&|| committed(live));
        }
        let begun = if cold {
            let (reading, tally) = (watched.first, LiveTotals::new());
            Mark { reading, tally }
        } else {
            self.mark(live)
        };
        let inside = self.target.internals();
        // What was timed before the span is not asked for again.
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
            if let Some(meter) = meter.as_mut().filter(|_| deadline - now > METER_STEP_NS) {
                meter.go_on(&|| committed(live));
            }
            Control::rest(POLL_NS.min(next.min(deadline).saturating_sub(now)));
        }
        if let Some(meter) = &mut meter {
            meter.stop(&|| committed(live));
        }
        let mark = self.mark(live);
        let internals = grown(&inside, self.target.internals());
        let commit_paths = self.target.take_commit_paths();
        let rest_ns = mark.reading.at.min(deadline).saturating_sub(last.reading.at);
        if watched.intervals.is_empty() || rest_ns as f64 >= interval_ns as f64 * LAST_INTERVAL {
            watched.close_interval(self, &last, &mark);
        }
        watched.span = Some(Span {
            // Also those behind the deadline: the readings hold what they cost.
            commits: mark.tally.count_whole(OutcomeKind::Committed) - commits_before,
            readings: (begun.reading, mark.reading),
            internals,
            commit_paths,
            profile: None,
            spent: None,
        });
    }

    fn mark(&self, live: &[LiveCounters]) -> Mark {
        let mut tally = LiveTotals::new();
        tally.read(live);
        // One moment of both, or an interval's count and its length would be of different times.
        let at = clock::now();
        let mut reading = self.read();
        reading.at = at;
        Mark { reading, tally }
    }

    /// Lets transactions under way end, for as long as the plan gives them.
    fn drain(&self, control: &Control, since: Option<Nanos>) {
        control.advance(Phase::Ending);
        let until = self.drained(since.unwrap_or_else(clock::now));
        if !control.all_left() {
            self.observer.event(Event::Draining);
        }
        let mut last = until;
        while !control.all_left() && clock::now() < last {
            if last == until && self.asked_to_stop() {
                last = until.min(clock::now() + STOP_DRAIN_NS);
            }
            control.wait_for_all(last.min(clock::now() + POLL_NS));
        }
    }

    pub(crate) fn drained(&self, since: Nanos) -> Nanos {
        since.saturating_add(clock::nanos(self.plan.drain))
    }

    fn over(&self, control: &Control, watched: &mut RunPhases) -> bool {
        watched.asked |= self.asked_to_stop();
        if watched.shortage.is_none() {
            watched.shortage = self.disk.shortage();
        }
        if watched.asked || watched.shortage.is_some() {
            return true;
        }
        if !control.budget_taken() {
            // Clients whose next arrival lies behind the deadline have left: the span still lasts as long
            // as was asked for, or the rate would be that of the arrivals' distance.
            return control.ending();
        }
        if control.all_left() {
            return true;
        }
        // The last transactions still belong to the span, as long as the drain allows.
        let now = clock::now();
        now >= self.drained(*watched.budget_taken.get_or_insert(now))
    }

    pub(crate) fn asked_to_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What a store's own counts have grown by.
fn grown(before: &[Internal], now: Vec<Internal>) -> Vec<Internal> {
    let of = |part: &Internal| before.iter().find(|old| old.name == part.name).cloned();
    let parts = now.into_iter();
    parts.map(|part| of(&part).map_or_else(|| part.clone(), |old| part.since(&old))).collect()
}
