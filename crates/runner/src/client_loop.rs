//! One client: draws, begins, performs, commits, retries, and tells how it ended.
//!
//! A drawn transaction is told its ending exactly once. What is under way when the future is dropped
//! stands in `Slot::open`, which outlives the future.
//!
//! In a closed loop a client may wait around its transactions ([`Waits`]): the start, and with it the
//! times, come after the keying.
//!
//! The clock is read once a transaction: the end of one is the start of the next, as long as nobody
//! else ran in between; after a turn was given to others it is read again.

use crate::arrival::{Schedule, Taken, Times};
use crate::control::Control;
use crate::executor::{Timers, yield_now};
use crate::follower::{Fate, Followed, Follower};
use crate::live::Live;
use crate::meter::{End, Meter, Span};
use crate::span::{When, inside_ns};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::rc::Rc;
use syncline_contract::{
    Asked, Client, Ending, Failure, FailureKind, Plan, Session, Stop, Target, Timer, Transaction,
    Waits,
};
use syncline_metering::{Nanos, Ticker, clock};

/// A client gives the others a turn after that many transactions that never had to wait.
const TURN: u32 = 16;
/// The first pause before a lost connection is made again; it doubles up to the longest.
const PAUSE_NS: Nanos = 10_000_000;
const PAUSE_NS_MAX: Nanos = clock::SECOND;
/// A client that cannot connect for that long ends the run.
const HOPELESS_NS: Nanos = 30 * clock::SECOND;

/// What a worker's clients share.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each says one thing of the plan, and none excludes another"
)]
pub(crate) struct Desk<'r, T: Target> {
    pub target: &'r T,
    pub part: &'r T::Worker,
    pub plan: &'r Plan,
    pub retries: u32,
    /// How long after it was due a transaction is tried again; none sets no limit.
    pub retry_within_ns: Option<Nanos>,
    /// How late an arrival may start; none starts all.
    pub skip_after_ns: Option<Nanos>,
    /// A connection for each transaction.
    pub connects_each: bool,
    /// Clients wait around their transactions as the workload says: in a closed loop, unless the plan
    /// leaves it out.
    pub waits: bool,
    /// A refused statement fails its transaction only.
    pub goes_on_after_errors: bool,
    pub follower: Option<&'r dyn Follower>,
    pub operations: bool,
    pub times: Times,
    pub control: &'r Control,
    pub live: &'r Live,
    pub schedule: Option<&'r Mutex<Schedule>>,
    pub meter: RefCell<Meter>,
    pub timers: Rc<Timers>,
    /// The clock of this thread; exact where a follower may compare the times of several.
    pub ticker: Ticker,
}

impl<T: Target> Desk<'_, T> {
    /// Now, by the clock of this thread.
    #[inline]
    fn tick(&self) -> Nanos {
        self.timers.tick(&self.ticker)
    }

    /// A client has not been in a transaction since `now`, which becomes the time now.
    fn between(&self, now: &mut Nanos) {
        let until = self.tick();
        self.between_until(*now, until);
        *now = until;
    }

    /// The same, of a time that is known.
    #[inline]
    fn between_until(&self, from: Nanos, until: Nanos) {
        if until > from {
            self.meter.borrow_mut().between_ns += inside_ns(from, until, &self.times);
        }
    }

    /// True if a transaction that was due then is still to be tried again.
    fn may_retry(&self, due: Nanos) -> bool {
        let limit = self.retry_within_ns;
        limit.is_none_or(|most| self.timers.now() <= due.saturating_add(most))
    }

    /// Keeps the times of the operations of one try, where they are timed.
    #[inline(never)]
    fn keep_operations(&self, line: &mut Line<T::Session>) {
        line.asked.settle(&mut line.session);
        self.meter.borrow_mut().operations(line.asked.times());
    }

    /// True if a client goes on, on its connection, after a failure of that kind: the abort behind it
    /// has left the session usable.
    fn goes_on_after(&self, kind: FailureKind) -> bool {
        self.goes_on_after_errors && kind == FailureKind::Statement
    }
}

/// A client and what must outlive its future.
#[derive(Debug)]
#[repr(C)] // What every client needs first, then the client itself, which may be long.
pub(crate) struct Slot<C> {
    pub number: usize,
    /// The drawn transaction that has not been told its ending.
    pub open: Option<Open>,
    /// Transactions of the measured span that it may still attempt.
    pub left: u64,
    /// Commits in the measured span.
    pub commits: u64,
    pub client: C,
}

/// A transaction under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    kind: usize,
    measured: bool,
    span: Span,
}

impl<C: Client> Slot<C> {
    /// Ends what was under way when the future was dropped: its outcome is not known.
    pub(crate) fn close(
        &mut self,
        meter: &mut Meter,
        live: &Live,
        times: &Times,
        follower: Option<&dyn Follower>,
    ) {
        if let Some(open) = self.open.take() {
            let span = Span {
                ended: clock::now(),
                ..open.span
            };
            let (kind, measured) = (open.kind, open.measured);
            // What was cut was cut behind the span.
            meter.busy_ns += inside_ns(span.started, span.ended, times);
            meter.ended(kind, measured, When::After, End::Unknown, 1, span, live);
            if let Some(follower) = follower.filter(|_| open.measured) {
                let cut = followed(self.number, open.kind, End::Unknown, 1, span);
                follower.ended(&Followed { late: true, ..cut });
            }
            self.client.ended(open.kind, Ending::Unknown);
        }
    }
}

/// A connection, and what its transaction has asked for. Side by side, so that both are reached from one
/// place: two references that were just handed on and are read back at once as a pair stall the processor.
struct Line<S> {
    session: S,
    asked: Asked,
}

/// What became of a drawn transaction, and how many tries it took.
struct Attempt {
    end: End,
    tries: u32,
    failure: Option<Box<Failure>>,
}

/// Runs a client until the run ends, or its store fails for good.
///
/// Many clients' futures are more than a core's cache holds, so this one is short. Its line is captured: what
/// is an argument of an `async fn` has a place in its future twice. And what only a new connection needs is
/// in memory of its own.
pub(crate) fn client_loop<'r, T: Target, C: Client>(
    slot: &'r mut Slot<C>,
    session: T::Session,
    desk: &'r Desk<'_, T>,
) -> impl Future<Output = ()> + 'r {
    let timer: Rc<dyn Timer> = Rc::<Timers>::clone(&desk.timers);
    let asked = Asked::new(desk.operations).with_timer(timer);
    let mut line = Line { session, asked };
    async move {
        let mut turn = 0;
        let mut now = desk.times.start;
        desk.between(&mut now);
        while !desk.control.ending() && slot.left > 0 {
            let due = match desk.schedule {
                None if now >= desk.times.deadline => break,
                None => now,
                Some(schedule) => {
                    let (number, left) = (slot.number, &mut slot.left);
                    let Some(taken) = next_arrival(number, left, schedule, now, desk).await else {
                        break;
                    };
                    now = now.max(desk.tick());
                    taken.due
                }
            };
            let kind = slot.client.draw();
            let mut waits = Waits::default();
            if desk.waits {
                waits = slot.client.waits(kind);
            }
            let Some(due) = keyed(due, waits, desk).await else {
                desk.between(&mut now);
                slot.client.ended(kind, Ending::Undone);
                break;
            };
            desk.between_until(now, due);
            now = now.max(due);
            let measured = due >= desk.times.measure;
            if measured && !desk.control.take_one() {
                slot.client.ended(kind, Ending::Undone);
                break;
            }
            slot.left -= u64::from(measured);
            let mut span = Span {
                due,
                started: now,
                ended: now,
            };
            slot.open = Some(Open {
                kind,
                measured,
                span,
            });
            if measured {
                desk.meter.borrow_mut().started(kind);
            }
            let drawn = Draw {
                kind,
                measured,
                due,
            };
            let attempt = attempt(&mut slot.client, &drawn, &mut line, desk).await;
            now = desk.tick();
            span.ended = now;
            finish(slot, kind, measured, &attempt, span, &line.asked, desk);
            let failure = attempt.failure;
            if let Some(failure) = failure.filter(|failure| !desk.goes_on_after(failure.kind)) {
                if failure.kind.stops_run() {
                    desk.control.fail(*failure);
                    break;
                }
                desk.meter.borrow_mut().connection_lost(*failure);
                drop(line.session);
                line.session = match Box::pin(reconnect(desk)).await {
                    Some(session) => session,
                    None => break,
                };
                desk.between(&mut now);
            } else if desk.connects_each {
                drop(line.session);
                line.session = match Box::pin(connected_anew(desk)).await {
                    Some(session) => session,
                    None => break,
                };
                desk.between(&mut now);
            }
            if waits.after_ns > 0 {
                desk.timers.sleep_until(now + waits.after_ns).await;
                desk.between(&mut now);
            }
            turn += 1;
            if turn == TURN {
                turn = 0;
                yield_now().await;
                desk.between(&mut now);
            }
        }
    }
}

/// When the drawn transaction starts in a closed loop: at once, or when it has been keyed in. None if
/// the run ends first.
#[inline]
async fn keyed<T: Target>(due: Nanos, waits: Waits, desk: &Desk<'_, T>) -> Option<Nanos> {
    if waits.before_ns == 0 {
        return Some(due);
    }
    desk.timers.sleep_until(due + waits.before_ns).await;
    let now = desk.timers.now();
    let over = desk.control.ending() || now >= desk.times.deadline;
    (!over).then_some(now)
}

#[inline]
fn finish<T: Target, C: Client>(
    slot: &mut Slot<C>,
    kind: usize,
    measured: bool,
    attempt: &Attempt,
    span: Span,
    asked: &Asked,
    desk: &Desk<'_, T>,
) {
    let (end, tries) = (attempt.end, attempt.tries);
    let when = When::of(span.ended, &desk.times, desk.control.still_counts());
    if let Some(follower) = desk.follower {
        let carried = !measured && when == When::Inside && !desk.control.has_budget();
        if measured || carried {
            if desk.operations {
                follower.operations(slot.number, asked.times());
            }
            follower.ended(&Followed {
                late: when == When::After,
                began_in_warm_up: carried,
                ..followed(slot.number, kind, end, tries, span)
            });
        }
    }
    let mut meter = desk.meter.borrow_mut();
    meter.busy_ns += inside_ns(span.started, span.ended, &desk.times);
    meter.ended(kind, measured, when, end, tries, span, desk.live);
    slot.commits += u64::from(measured && end == End::Committed);
    slot.open = None;
    slot.client.ended(kind, end.told());
}

#[cold]
fn followed(client: usize, kind: usize, end: End, tries: u32, span: Span) -> Followed {
    Followed {
        client,
        kind: Some(kind),
        due: span.due,
        started: span.started,
        ended: span.ended,
        fate: end.fate(),
        tries,
        late: false,
        began_in_warm_up: false,
    }
}

impl End {
    /// What a follower is told.
    fn fate(self) -> Fate {
        match self {
            End::Committed => Fate::Committed,
            End::Aborted => Fate::Aborted,
            End::Conflicted(cause) => Fate::Conflicted(cause),
            End::Failed(kind) => Fate::Failed(kind),
            End::Unknown => Fate::Unknown,
        }
    }

    /// What the client is told.
    fn told(self) -> Ending {
        match self {
            End::Committed => Ending::Committed,
            End::Aborted | End::Conflicted(_) | End::Failed(_) => Ending::Undone,
            End::Unknown => Ending::Unknown,
        }
    }
}

/// A drawn transaction, as those who try it need to know it. Handed on by reference: a copy of what was just
/// written in pieces stalls the processor.
struct Draw {
    kind: usize,
    measured: bool,
    due: Nanos,
}

/// Tries a drawn transaction as often as the plan allows.
#[inline]
async fn attempt<T: Target, C: Client>(
    client: &mut C,
    drawn: &Draw,
    line: &mut Line<T::Session>,
    desk: &Desk<'_, T>,
) -> Attempt {
    let mut tries = 1;
    loop {
        let Err(stop) = once(client, drawn.kind, line, desk).await else {
            return Attempt {
                end: End::Committed,
                tries,
                failure: None,
            };
        };
        line.session.abort().await;
        let (end, failure) = match stop {
            Stop::Abort => (End::Aborted, None),
            Stop::Failed(failure) => (End::Failed(failure.kind), Some(failure)),
            Stop::Unknown(failure) => (End::Unknown, Some(failure)),
            Stop::Conflict(cause) => {
                desk.meter.borrow_mut().conflicts += 1;
                if tries <= desk.retries && desk.may_retry(drawn.due) {
                    tries += 1;
                    desk.meter
                        .borrow_mut()
                        .retried(drawn.kind, drawn.measured, cause);
                    // Whoever was in the way may be a client of this very worker.
                    yield_now().await;
                    continue;
                }
                (End::Conflicted(cause), None)
            }
        };
        return Attempt {
            end,
            tries,
            failure,
        };
    }
}

/// One try.
#[inline]
async fn once<T: Target, C: Client>(
    client: &mut C,
    kind: usize,
    line: &mut Line<T::Session>,
    desk: &Desk<'_, T>,
) -> Result<(), Stop> {
    line.asked.clear();
    line.session.begin(client.shape(kind));
    let mut transaction = Transaction::new(&mut line.session, &mut line.asked);
    // What was performed is looked at here and not kept during the commit, for the same reason as a line.
    let ended = match client.perform(kind, &mut transaction).await {
        Ok(()) => line.session.commit().await,
        Err(stop) => Err(stop),
    };
    if desk.operations {
        desk.keep_operations(line);
    }
    ended
}

/// Waits for the next arrival that is not too late; none if the run ends first.
async fn next_arrival<T: Target>(
    client: usize,
    left: &mut u64,
    schedule: &Mutex<Schedule>,
    mut now: Nanos,
    desk: &Desk<'_, T>,
) -> Option<Taken> {
    let mut taken = schedule.lock().take(now)?;
    while desk
        .skip_after_ns
        .is_some_and(|most| now > taken.due.saturating_add(most))
    {
        skip(client, schedule, taken, now, desk);
        // A skipped one is one of as many as are asked for, or a plan of a count might never end.
        let counted = taken.due >= desk.times.measure;
        if desk.control.ending() || (counted && !desk.control.take_one()) {
            return None;
        }
        *left -= u64::from(counted);
        if *left == 0 {
            return None;
        }
        now = desk.timers.now();
        taken = schedule.lock().take(now)?;
    }
    if taken.due > now {
        desk.timers.sleep_until(taken.due).await;
    }
    if desk.control.ending() {
        schedule.lock().give_back(taken, desk.timers.now());
        return None;
    }
    schedule.lock().started(taken);
    Some(taken)
}

#[cold]
fn skip<T: Target>(
    client: usize,
    schedule: &Mutex<Schedule>,
    taken: Taken,
    now: Nanos,
    desk: &Desk<'_, T>,
) {
    schedule.lock().skip(taken);
    if let Some(follower) = desk.follower.filter(|_| taken.due >= desk.times.measure) {
        follower.ended(&Followed {
            client,
            kind: None,
            due: taken.due,
            started: now,
            ended: now,
            fate: Fate::Skipped,
            tries: 0,
            late: false,
            began_in_warm_up: false,
        });
    }
}

/// A connection for the next transaction, in place of one that was good.
async fn connected_anew<T: Target>(desk: &Desk<'_, T>) -> Option<T::Session> {
    match desk.target.connect(desk.plan, desk.part).await {
        Ok(session) => Some(session),
        Err(failure) if failure.kind == FailureKind::Connection => reconnect(desk).await,
        Err(failure) => {
            desk.control.fail(failure);
            None
        }
    }
}

/// Makes a lost connection again, with growing pauses; none if the run ends first. A run that ends while a
/// client still tries in vain has failed: its store is gone, and the rate is that of a shorter run.
async fn reconnect<T: Target>(desk: &Desk<'_, T>) -> Option<T::Session> {
    let hopeless = desk.timers.now() + HOPELESS_NS;
    let mut pause_ns = PAUSE_NS;
    let mut in_vain = None;
    while !desk.control.ending() {
        let now = desk.timers.now();
        desk.timers.sleep_until(now + pause_ns).await;
        match desk.target.connect(desk.plan, desk.part).await {
            Ok(session) => {
                desk.meter.borrow_mut().reconnects += 1;
                return Some(session);
            }
            Err(failure) if failure.kind == FailureKind::Connection && now < hopeless => {
                pause_ns = (pause_ns * 2).min(PAUSE_NS_MAX);
                in_vain = Some(failure);
            }
            Err(failure) => desk.control.fail(failure),
        }
    }
    if let Some(failure) = in_vain {
        desk.control.fail(failure);
    }
    None
}
