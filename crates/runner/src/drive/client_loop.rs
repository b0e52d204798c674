//! The loop of one client: draw a transaction, begin, perform, commit, retry, and report the outcome.
//!
//! The client learns the ending of each drawn transaction exactly once. `ClientState::open` holds the
//! transaction under way and outlives the future, for the case that the future is dropped.
//!
//! In a closed loop a client may wait around its transactions ([`Waits`]). A transaction starts, for all
//! times, after the keying.
//!
//! The clock is read once per transaction: the end of one is the start of the next, if no other client ran in
//! between. After a yield it is read again.

use crate::account::live_counters::LiveCounters;
use crate::account::measured_span::PhaseTimes;
use crate::account::measured_span::{When, inside_ns};
use crate::account::worker_stats::{End, Span, WorkerStats};
use crate::drive::arrival::{ClaimedArrival, Schedule};
use crate::drive::control::Control;
use crate::drive::executor::{Timers, yield_now};
use crate::drive::transaction_listener::{
    TransactionEvent, TransactionListener, TransactionOutcome,
};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::rc::Rc;
use syncline_contract::{
    Client, Ending, Failure, FailureKind, Plan, RequestTracker, Session, Stop, Target, Timer,
    Transaction, Waits,
};
use syncline_instrument::{Nanos, Ticker, clock};

/// A client yields to the others after this many transactions.
const TRANSACTIONS_PER_TURN: u32 = 16;
/// The first pause before a lost connection is reopened; it doubles up to the maximum.
const RECONNECT_BACKOFF_NS: Nanos = 10_000_000;
const RECONNECT_BACKOFF_NS_MAX: Nanos = clock::SECOND;
/// A client that cannot connect for this long ends the run.
const RECONNECT_TIMEOUT_NS: Nanos = 30 * clock::SECOND;

/// The data that a worker's clients share.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is one setting of the plan, independent of the others"
)]
pub(crate) struct ClientContext<'r, T: Target> {
    pub target: &'r T,
    pub part: &'r T::Worker,
    pub plan: &'r Plan,
    pub retries: u32,
    /// How long after its due time a transaction is still retried; `None` sets no limit.
    pub retry_within_ns: Option<Nanos>,
    /// How late an arrival may start; `None` starts all.
    pub skip_after_ns: Option<Nanos>,
    /// Each transaction has its own connection.
    pub connects_each: bool,
    /// Clients keep the workload's keying and think times: in a closed loop, unless the plan omits them.
    pub waits: bool,
    /// A refused statement fails only its transaction and not the run.
    pub continue_on_error: bool,
    pub listener: Option<&'r dyn TransactionListener>,
    pub operations: bool,
    pub times: PhaseTimes,
    pub control: &'r Control,
    pub live: &'r LiveCounters,
    pub schedule: Option<&'r Mutex<Schedule>>,
    pub stats: RefCell<WorkerStats>,
    pub timers: Rc<Timers>,
    /// The clock of this thread; exact if a listener may compare the times of several threads.
    pub ticker: Ticker,
}

impl<T: Target> ClientContext<'_, T> {
    /// Now, by the clock of this thread.
    #[inline]
    fn tick(&self) -> Nanos {
        self.timers.tick(&self.ticker)
    }

    /// Counts the time since `now` as time between transactions, and sets `now` to the current time.
    fn between(&self, now: &mut Nanos) {
        let until = self.tick();
        self.between_until(*now, until);
        *now = until;
    }

    /// Counts a known time as time between transactions.
    #[inline]
    fn between_until(&self, from: Nanos, until: Nanos) {
        if until > from {
            self.stats.borrow_mut().between_ns += inside_ns(from, until, &self.times);
        }
    }

    /// True if a transaction with this due time may still be retried.
    fn may_retry(&self, due: Nanos) -> bool {
        let limit = self.retry_within_ns;
        limit.is_none_or(|most| self.timers.now() <= due.saturating_add(most))
    }

    /// Records the times of the operations of one try.
    #[inline(never)]
    fn record_operations(&self, connection: &mut Connection<T::Session>) {
        connection.requests.complete_times(&mut connection.session);
        self.stats.borrow_mut().operations(connection.requests.times());
    }

    /// True if a client continues on its connection after a failure of this kind: the abort has left the
    /// session usable.
    fn goes_on_after(&self, kind: FailureKind) -> bool {
        self.continue_on_error && kind == FailureKind::Statement
    }
}

/// A client and the data that must outlive its future.
#[derive(Debug)]
#[repr(C)] // The fields that every client needs come first, then the client, which may be large.
pub(crate) struct ClientState<C> {
    pub number: usize,
    /// The transaction under way, whose ending the client does not know yet.
    pub open: Option<OpenTransaction>,
    /// Transactions of the measured span that the client may still attempt.
    pub left: u64,
    /// Commits in the measured span.
    pub commits: u64,
    pub client: C,
}

/// A transaction under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenTransaction {
    kind: usize,
    measured: bool,
    span: Span,
}

impl<C: Client> ClientState<C> {
    /// Ends the transaction that was under way when the future was dropped; its outcome is unknown.
    pub(crate) fn close(
        &mut self,
        stats: &mut WorkerStats,
        live: &LiveCounters,
        times: &PhaseTimes,
        listener: Option<&dyn TransactionListener>,
    ) {
        if let Some(open) = self.open.take() {
            let span = Span { ended: clock::now(), ..open.span };
            let (kind, measured) = (open.kind, open.measured);
            // Transactions are abandoned only after the span.
            stats.busy_ns += inside_ns(span.started, span.ended, times);
            stats.ended(kind, measured, When::After, End::Unknown, 1, span, live);
            if let Some(listener) = listener.filter(|_| open.measured) {
                let abandoned = event(self.number, open.kind, End::Unknown, 1, span);
                listener.ended(&TransactionEvent { late: true, ..abandoned });
            }
            self.client.ended(open.kind, Ending::Unknown);
        }
    }
}

/// A session and the requests of its transaction. They are in one struct so that one reference reaches both:
/// two references that were just passed on and are read back as a pair stall the processor.
struct Connection<S> {
    session: S,
    requests: RequestTracker,
}

/// The outcome of a drawn transaction, and the number of its tries.
struct Attempt {
    end: End,
    tries: u32,
    failure: Option<Box<Failure>>,
}

/// Runs a client until the run ends, or its store fails for good.
///
/// The futures of many clients do not fit into a core's cache, so this one is kept small. It captures its
/// arguments because an `async fn` stores each argument in its future twice. Code that only a new connection
/// needs is boxed.
pub(crate) fn client_loop<'r, T: Target, C: Client>(
    state: &'r mut ClientState<C>,
    session: T::Session,
    context: &'r ClientContext<'_, T>,
) -> impl Future<Output = ()> + 'r {
    let timer: Rc<dyn Timer> = Rc::<Timers>::clone(&context.timers);
    let requests = RequestTracker::new(context.operations).with_timer(timer);
    let mut connection = Connection { session, requests };
    async move {
        let mut turn = 0;
        let mut now = context.times.start;
        context.between(&mut now);
        while !context.control.ending() && state.left > 0 {
            let due = match context.schedule {
                None if now >= context.times.deadline => break,
                None => now,
                Some(schedule) => {
                    let (number, left) = (state.number, &mut state.left);
                    let Some(taken) = next_arrival(number, left, schedule, now, context).await
                    else {
                        break;
                    };
                    now = now.max(context.tick());
                    taken.due
                }
            };
            let kind = state.client.draw();
            let mut waits = Waits::default();
            if context.waits {
                waits = state.client.waits(kind);
            }
            let Some(due) = wait_keying_time(due, waits, context).await else {
                context.between(&mut now);
                state.client.ended(kind, Ending::Undone);
                break;
            };
            context.between_until(now, due);
            now = now.max(due);
            let measured = due >= context.times.measure;
            if measured && !context.control.take_one() {
                state.client.ended(kind, Ending::Undone);
                break;
            }
            state.left -= u64::from(measured);
            let mut span = Span { due, started: now, ended: now };
            state.open = Some(OpenTransaction { kind, measured, span });
            if measured {
                context.stats.borrow_mut().started(kind);
            }
            let drawn = DrawnTransaction { kind, measured, due };
            let attempt = attempt(&mut state.client, &drawn, &mut connection, context).await;
            now = context.tick();
            span.ended = now;
            finish(state, kind, measured, &attempt, span, &connection.requests, context);
            let failure = attempt.failure;
            if let Some(failure) = failure.filter(|failure| !context.goes_on_after(failure.kind)) {
                if failure.kind.stops_run() {
                    context.control.fail(*failure);
                    break;
                }
                context.stats.borrow_mut().connection_lost(*failure);
                drop(connection.session);
                connection.session = match Box::pin(reconnect(context)).await {
                    Some(session) => session,
                    None => break,
                };
                context.between(&mut now);
            } else if context.connects_each {
                drop(connection.session);
                connection.session = match Box::pin(connect_again(context)).await {
                    Some(session) => session,
                    None => break,
                };
                context.between(&mut now);
            }
            if waits.after_ns > 0 {
                context.timers.sleep_until(now + waits.after_ns).await;
                context.between(&mut now);
            }
            turn += 1;
            if turn == TRANSACTIONS_PER_TURN {
                turn = 0;
                yield_now().await;
                context.between(&mut now);
            }
        }
    }
}

/// The start of a drawn transaction in a closed loop: at once, or after the keying time. `None` if the run
/// ends first.
#[inline]
async fn wait_keying_time<T: Target>(
    due: Nanos,
    waits: Waits,
    context: &ClientContext<'_, T>,
) -> Option<Nanos> {
    if waits.before_ns == 0 {
        return Some(due);
    }
    context.timers.sleep_until(due + waits.before_ns).await;
    let now = context.timers.now();
    let over = context.control.ending() || now >= context.times.deadline;
    (!over).then_some(now)
}

#[inline]
fn finish<T: Target, C: Client>(
    state: &mut ClientState<C>,
    kind: usize,
    measured: bool,
    attempt: &Attempt,
    span: Span,
    requests: &RequestTracker,
    context: &ClientContext<'_, T>,
) {
    let (end, tries) = (attempt.end, attempt.tries);
    let when = When::of(span.ended, &context.times, context.control.still_counts());
    if let Some(listener) = context.listener {
        let carried = !measured && when == When::Inside && !context.control.has_budget();
        if measured || carried {
            if context.operations {
                listener.operations(state.number, requests.times());
            }
            listener.ended(&TransactionEvent {
                late: when == When::After,
                began_in_warm_up: carried,
                ..event(state.number, kind, end, tries, span)
            });
        }
    }
    let mut stats = context.stats.borrow_mut();
    stats.busy_ns += inside_ns(span.started, span.ended, &context.times);
    stats.ended(kind, measured, when, end, tries, span, context.live);
    state.commits += u64::from(measured && end == End::Committed);
    state.open = None;
    state.client.ended(kind, end.ending());
}

#[cold]
fn event(client: usize, kind: usize, end: End, tries: u32, span: Span) -> TransactionEvent {
    TransactionEvent {
        client,
        kind: Some(kind),
        due: span.due,
        started: span.started,
        ended: span.ended,
        outcome: end.outcome(),
        tries,
        late: false,
        began_in_warm_up: false,
    }
}

impl End {
    /// The outcome for a listener.
    fn outcome(self) -> TransactionOutcome {
        match self {
            End::Committed => TransactionOutcome::Committed,
            End::Aborted => TransactionOutcome::Aborted,
            End::Conflicted(cause) => TransactionOutcome::Conflicted(cause),
            End::Failed(kind) => TransactionOutcome::Failed(kind),
            End::Unknown => TransactionOutcome::Unknown,
        }
    }

    /// The ending for the client.
    fn ending(self) -> Ending {
        match self {
            End::Committed => Ending::Committed,
            End::Aborted | End::Conflicted(_) | End::Failed(_) => Ending::Undone,
            End::Unknown => Ending::Unknown,
        }
    }
}

/// A drawn transaction. Passed by reference: copying data that was just written in pieces stalls the
/// processor.
struct DrawnTransaction {
    kind: usize,
    measured: bool,
    due: Nanos,
}

/// Tries a drawn transaction as often as the plan allows.
#[inline]
async fn attempt<T: Target, C: Client>(
    client: &mut C,
    drawn: &DrawnTransaction,
    connection: &mut Connection<T::Session>,
    context: &ClientContext<'_, T>,
) -> Attempt {
    let mut tries = 1;
    loop {
        let Err(stop) = once(client, drawn.kind, connection, context).await else {
            return Attempt { end: End::Committed, tries, failure: None };
        };
        connection.session.abort().await;
        let (end, failure) = match stop {
            Stop::Abort => (End::Aborted, None),
            Stop::Failed(failure) => (End::Failed(failure.kind), Some(failure)),
            Stop::Unknown(failure) => (End::Unknown, Some(failure)),
            Stop::Conflict(cause) => {
                context.stats.borrow_mut().conflicts += 1;
                if tries <= context.retries && context.may_retry(drawn.due) {
                    tries += 1;
                    context.stats.borrow_mut().retried(drawn.kind, drawn.measured, cause);
                    // The other transaction may belong to a client of this worker.
                    yield_now().await;
                    continue;
                }
                (End::Conflicted(cause), None)
            }
        };
        return Attempt { end, tries, failure };
    }
}

/// One try.
#[inline]
async fn once<T: Target, C: Client>(
    client: &mut C,
    kind: usize,
    connection: &mut Connection<T::Session>,
    context: &ClientContext<'_, T>,
) -> Result<(), Stop> {
    connection.requests.clear();
    connection.session.begin(client.access_pattern(kind));
    let mut transaction = Transaction::new(&mut connection.session, &mut connection.requests);
    // The result is matched here, so that the future does not store it during the commit and stays small.
    let ended = match client.perform(kind, &mut transaction).await {
        Ok(()) => connection.session.commit().await,
        Err(stop) => Err(stop),
    };
    if context.operations {
        context.record_operations(connection);
    }
    ended
}

/// Waits for the next arrival that is not too late; `None` if the run ends first.
async fn next_arrival<T: Target>(
    client: usize,
    left: &mut u64,
    schedule: &Mutex<Schedule>,
    mut now: Nanos,
    context: &ClientContext<'_, T>,
) -> Option<ClaimedArrival> {
    let mut taken = schedule.lock().take(now)?;
    while context.skip_after_ns.is_some_and(|most| now > taken.due.saturating_add(most)) {
        skip(client, schedule, taken, now, context);
        // A skipped arrival uses up the budget too, or a run by count might never end.
        let counted = taken.due >= context.times.measure;
        if context.control.ending() || (counted && !context.control.take_one()) {
            return None;
        }
        *left -= u64::from(counted);
        if *left == 0 {
            return None;
        }
        now = context.timers.now();
        taken = schedule.lock().take(now)?;
    }
    if taken.due > now {
        context.timers.sleep_until(taken.due).await;
    }
    if context.control.ending() {
        schedule.lock().return_arrival(taken, context.timers.now());
        return None;
    }
    schedule.lock().started(taken);
    Some(taken)
}

#[cold]
fn skip<T: Target>(
    client: usize,
    schedule: &Mutex<Schedule>,
    taken: ClaimedArrival,
    now: Nanos,
    context: &ClientContext<'_, T>,
) {
    schedule.lock().skip(taken);
    if let Some(listener) = context.listener.filter(|_| taken.due >= context.times.measure) {
        listener.ended(&TransactionEvent {
            client,
            kind: None,
            due: taken.due,
            started: now,
            ended: now,
            outcome: TransactionOutcome::Skipped,
            tries: 0,
            late: false,
            began_in_warm_up: false,
        });
    }
}

/// A new connection for the next transaction, in a run with a connection per transaction.
async fn connect_again<T: Target>(context: &ClientContext<'_, T>) -> Option<T::Session> {
    match context.target.connect(context.plan, context.part).await {
        Ok(session) => Some(session),
        Err(failure) if failure.kind == FailureKind::Connection => reconnect(context).await,
        Err(failure) => {
            context.control.fail(failure);
            None
        }
    }
}

/// Reopens a lost connection, with growing pauses; `None` if the run ends first. A run that ends while a
/// client still fails to connect has failed: its store is gone, and the rate is that of a shorter run.
async fn reconnect<T: Target>(context: &ClientContext<'_, T>) -> Option<T::Session> {
    let timeout = context.timers.now() + RECONNECT_TIMEOUT_NS;
    let mut pause_ns = RECONNECT_BACKOFF_NS;
    let mut last_failure = None;
    while !context.control.ending() {
        let now = context.timers.now();
        context.timers.sleep_until(now + pause_ns).await;
        match context.target.connect(context.plan, context.part).await {
            Ok(session) => {
                context.stats.borrow_mut().reconnects += 1;
                return Some(session);
            }
            Err(failure) if failure.kind == FailureKind::Connection && now < timeout => {
                pause_ns = (pause_ns * 2).min(RECONNECT_BACKOFF_NS_MAX);
                last_failure = Some(failure);
            }
            Err(failure) => context.control.fail(failure),
        }
    }
    if let Some(failure) = last_failure {
        context.control.fail(failure);
    }
    None
}
