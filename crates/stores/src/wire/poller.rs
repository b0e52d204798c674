//! The worker's part of a network store: one wait for the sockets of all its sessions.
//!
//! 1. A socket's readiness is kept in its own place until it was used up, so that what was told between
//!    two polls of a session is not lost.
//! 2. Places are found by their number. A word about a socket that is gone may reach the next one of that
//!    number; it then tries in vain, once.
//! 3. The poll's own time-outs are whole milliseconds, which would be felt in an open loop. So a bounded
//!    wait ends by a timer of the kernel's that stands among the sockets.
//! 4. Of room to write is told only who found none. A Unix socket gets room each time its peer reads, so
//!    that to be told of it would wake the thread once more for each question, before there is an answer.

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

/// The most that one look takes in; what is left is told by the next.
const EVENTS: usize = 256;
const ALARM: Token = Token(usize::MAX);
const TIMER: Token = Token(usize::MAX - 1);

/// Waits for sockets; clones are the same one.
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
    places: Vec<Option<Arc<Readiness>>>,
    free: Vec<usize>,
    /// Who fails if nothing comes in time.
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
        let rung = self.0.wake();
        rung.expect("a poll that is open can be woken");
    }
}

impl Poller {
    /// A poll of its own, for the calling thread.
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
        let inner = Rc::new(made().map_err(|error| no_poll(&error))?);
        Ok(Poller { inner })
    }

    /// Watches a socket until the returned is dropped.
    pub(super) fn watch(&self, socket: RawFd) -> io::Result<Watched> {
        let mut sockets = self.inner.sockets.lock();
        let place = sockets.free.pop().unwrap_or(sockets.places.len());
        let mut source = SourceFd(&socket);
        let registry = &self.inner.registry;
        let registered = registry.register(&mut source, Token(place), Interest::READABLE);
        if let Err(error) = registered {
            if place < sockets.places.len() {
                sockets.free.push(place);
            }
            return Err(error);
        }
        let readiness = Arc::new(Readiness::new());
        if place == sockets.places.len() {
            sockets.places.push(None);
        }
        sockets.places[place] = Some(Arc::clone(&readiness));
        Ok(Watched {
            sockets: Arc::clone(&self.inner.sockets),
            registry: Arc::clone(registry),
            socket,
            place,
            readiness,
            tells_of_room: AtomicBool::new(false),
        })
    }

    /// Looks what has happened, after at most that long.
    fn look(&self, longest: Option<Duration>) {
        let mut poll = self.inner.poll.borrow_mut();
        let (poll, events) = &mut *poll;
        let longest = match longest {
            Some(longest) if !longest.is_zero() => {
                self.set_timer(longest);
                None
            }
            other => other,
        };
        match poll.poll(events, longest) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => panic!("the wait for sockets failed: {error}"),
        }
        let sockets = self.inner.sockets.lock();
        for event in &*events {
            let Token(place) = event.token();
            if let Some(Some(readiness)) = sockets.places.get(place) {
                let over = event.is_error() || event.is_read_closed() || event.is_write_closed();
                readiness.told(event.is_readable() || over, event.is_writable() || over, over);
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
        set.expect("a timer takes every length of time above zero");
    }

    /// The time until the first deadline, if that comes sooner; forgets those that were taken off.
    fn until_deadline(&self, longest: Option<Duration>) -> Option<Duration> {
        let mut sockets = self.inner.sockets.lock();
        let deadlines = &mut sockets.deadlines;
        if deadlines.is_empty() {
            return longest;
        }
        deadlines.retain(|(due, readiness)| readiness.due() == Some(*due));
        let first = deadlines.iter().map(|(due, _)| *due).min();
        let now = clock::now();
        let left = first.map(|due| Duration::from_nanos(due.saturating_sub(now)));
        match (longest, left) {
            (Some(longest), Some(left)) => Some(longest.min(left)),
            (longest, left) => longest.or(left),
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
    fn wait(&self, longest: Option<Duration>) {
        self.look(self.until_deadline(longest));
        self.wake_late();
    }

    fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.inner.alarm))
    }
}

/// A socket under watch.
#[derive(Debug)]
pub(super) struct Watched {
    sockets: Arc<Mutex<Sockets>>,
    registry: Arc<Registry>,
    socket: RawFd,
    place: usize,
    readiness: Arc<Readiness>,
    tells_of_room: AtomicBool,
}

impl Watched {
    /// What is known of it.
    pub(super) fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// From now on it is told, or no more, when there is room to write; first whether there is some now.
    #[inline]
    pub(super) fn notify_writable(&self, wanted: bool) -> io::Result<()> {
        if self.tells_of_room.load(Relaxed) == wanted {
            return Ok(());
        }
        self.tells_of_room.store(wanted, Relaxed);
        let interest =
            if wanted { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let mut source = SourceFd(&self.socket);
        self.registry.reregister(&mut source, Token(self.place), interest)
    }

    /// From now on waiting fails after that long; with none it may take as long as it likes.
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
    /// The kernel itself forgets a socket that is closed.
    fn drop(&mut self) {
        let mut sockets = self.sockets.lock();
        sockets.places[self.place] = None;
        sockets.free.push(self.place);
        self.readiness.set_due(None);
    }
}

fn no_poll(error: &io::Error) -> Failure {
    let what =
        format!("this process cannot wait for sockets: {error}; check its limit of open files");
    Failure::new(FailureKind::Limit, what)
}
