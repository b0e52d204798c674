//! The worker of a network store: one wait for the sockets of all its sessions.
//!
//! 1. A socket's readiness is stored in its slot until it is consumed, so that a report between two
//!    polls of a session is not lost.
//! 2. Slots are addressed by their number. A report about a closed socket may reach the next one in the
//!    same slot, which then makes one failed attempt.
//! 3. The poll's own time-outs are whole milliseconds, too coarse for an open loop. So a bounded wait
//!    ends by a kernel timer that is registered like a socket.
//! 4. Writability is reported only to a session whose write was blocked. A Unix socket becomes writable
//!    each time its peer reads, so reporting that would wake the thread once more for each request,
//!    before its answer arrives.

use super::readiness::Readiness;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token};
use parking_lot::Mutex;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Wake, Waker};
use std::time::Duration;
use syncline_contract::{Failure, FailureKind, TargetResult, Worker};
use syncline_instrument::{Nanos, clock};

/// The maximum number of events of one poll; the next poll returns the rest.
const EVENTS: usize = 256;
const ALARM: Token = Token(usize::MAX);
const TIMER: Token = Token(usize::MAX - 1);

/// Waits for sockets; clones share the same poll.
#[derive(Clone, Debug)]
pub struct Poller {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    poll: RefCell<(Poll, Events)>,
    registry: Arc<Registry>,
    timer: OwnedFd,
    alarm: Arc<Alarm>,
    sockets: Arc<Mutex<Sockets>>,
}

#[derive(Debug, Default)]
struct Sockets {
    slots: Vec<Option<Arc<Readiness>>>,
    free: Vec<usize>,
    /// The sockets whose wait fails at a deadline.
    deadlines: Vec<(Nanos, Arc<Readiness>)>,
}

/// Ends the wait from another thread.
#[derive(Debug)]
struct Alarm(mio::Waker);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let woken = self.0.wake();
        woken.expect("an open poll can be woken");
    }
}

impl Poller {
    /// Creates a poll for the calling thread.
    pub fn new() -> TargetResult<Poller> {
        let made = || -> io::Result<Inner> {
            let poll = Poll::new()?;
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            let mut source = SourceFd(&timer.as_raw_fd());
            poll.registry().register(&mut source, TIMER, Interest::READABLE)?;
            let alarm = mio::Waker::new(poll.registry(), ALARM)?;
            Ok(Inner {
                registry: Arc::new(poll.registry().try_clone()?),
                poll: RefCell::new((poll, Events::with_capacity(EVENTS))),
                timer,
                alarm: Arc::new(Alarm(alarm)),
                sockets: Arc::default(),
            })
        };
        let inner = Rc::new(made().map_err(|error| cannot_poll(&error))?);
        Ok(Poller { inner })
    }

    /// Watches a socket until the result is dropped.
    pub(super) fn watch(&self, socket: RawFd) -> io::Result<Watched> {
        let mut sockets = self.inner.sockets.lock();
        let slot = sockets.free.pop().unwrap_or(sockets.slots.len());
        let mut source = SourceFd(&socket);
        let registry = &self.inner.registry;
        let registered = registry.register(&mut source, Token(slot), Interest::READABLE);
        if let Err(error) = registered {
            if slot < sockets.slots.len() {
                sockets.free.push(slot);
            }
            return Err(error);
        }
        let readiness = Arc::new(Readiness::new());
        if slot == sockets.slots.len() {
            sockets.slots.push(None);
        }
        sockets.slots[slot] = Some(Arc::clone(&readiness));
        Ok(Watched {
            sockets: Arc::clone(&self.inner.sockets),
            registry: Arc::clone(registry),
            socket,
            slot,
            readiness,
            watches_writable: AtomicBool::new(false),
        })
    }

    /// Polls for events, waiting at most that long.
    fn poll_events(&self, timeout: Option<Duration>) {
        let mut poll = self.inner.poll.borrow_mut();
        let (poll, events) = &mut *poll;
        let timeout = match timeout {
            Some(timeout) if !timeout.is_zero() => {
                self.set_timer(timeout);
                None
            }
            other => other,
        };
        match poll.poll(events, timeout) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => panic!("the wait for sockets failed: {error}"),
        }
        let sockets = self.inner.sockets.lock();
        for event in &*events {
            let Token(slot) = event.token();
            if let Some(Some(readiness)) = sockets.slots.get(slot) {
                let over = event.is_error() || event.is_read_closed() || event.is_write_closed();
                readiness.set_ready(event.is_readable() || over, event.is_writable() || over, over);
            }
        }
    }

    fn set_timer(&self, length: Duration) {
        let at = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec {
                tv_sec: length.as_secs() as i64,
                tv_nsec: length.subsec_nanos().into(),
            },
        };
        let set = timerfd_settime(&self.inner.timer, TimerfdTimerFlags::empty(), &at);
        set.expect("a timer accepts every duration above zero");
    }

    /// The time until the first deadline, or `timeout` if that is shorter; drops cancelled deadlines.
    fn until_deadline(&self, timeout: Option<Duration>) -> Option<Duration> {
        let mut sockets = self.inner.sockets.lock();
        let deadlines = &mut sockets.deadlines;
        if deadlines.is_empty() {
            return timeout;
        }
        deadlines.retain(|(due, readiness)| readiness.due() == Some(*due));
        let first = deadlines.iter().map(|(due, _)| *due).min();
        let now = clock::now();
        let left = first.map(|due| Duration::from_nanos(due.saturating_sub(now)));
        match (timeout, left) {
            (Some(timeout), Some(left)) => Some(timeout.min(left)),
            (timeout, left) => timeout.or(left),
        }
    }

    fn wake_late(&self) {
        let mut sockets = self.inner.sockets.lock();
        let deadlines = &mut sockets.deadlines;
        if deadlines.is_empty() {
            return;
        }
        let now = clock::now();
        deadlines.retain(|(due, readiness)| {
            if *due <= now {
                readiness.wake();
            }
            *due > now
        });
    }
}

impl Worker for Poller {
    fn wait(&self, timeout: Option<Duration>) {
        self.poll_events(self.until_deadline(timeout));
        self.wake_late();
    }

    fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.inner.alarm))
    }
}

/// A watched socket.
#[derive(Debug)]
pub(super) struct Watched {
    sockets: Arc<Mutex<Sockets>>,
    registry: Arc<Registry>,
    socket: RawFd,
    slot: usize,
    readiness: Arc<Readiness>,
    watches_writable: AtomicBool,
}

impl Watched {
    /// Its readiness.
    pub(super) fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Enables or disables reports of writability; enabling reports the current state first.
    #[inline]
    pub(super) fn notify_writable(&self, wanted: bool) -> io::Result<()> {
        if self.watches_writable.load(Relaxed) == wanted {
            return Ok(());
        }
        self.watches_writable.store(wanted, Relaxed);
        let interest =
            if wanted { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let mut source = SourceFd(&self.socket);
        self.registry.reregister(&mut source, Token(self.slot), interest)
    }

    /// From now on waiting fails after that time; `None` removes the limit.
    pub(super) fn limit(&self, length: Option<Duration>) {
        let due = length.map(|length| clock::now() + length.as_nanos() as Nanos);
        self.readiness.set_due(due);
        if let Some(due) = due {
            let mut sockets = self.sockets.lock();
            sockets.deadlines.push((due, Arc::clone(&self.readiness)));
        }
    }
}

impl Drop for Watched {
    /// The kernel itself removes a closed socket from the poll.
    fn drop(&mut self) {
        let mut sockets = self.sockets.lock();
        sockets.slots[self.slot] = None;
        sockets.free.push(self.slot);
        self.readiness.set_due(None);
    }
}

fn cannot_poll(error: &io::Error) -> Failure {
    let what =
        format!("this process cannot wait for sockets: {error}; check its limit of open files");
    Failure::new(FailureKind::Limit, what)
}
