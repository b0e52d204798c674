//! The registry of begins: it knows which old versions open transactions may still need.
//!
//! Each session has a seat on its own cache line. A seat is *idle*, or holds the read point of the session's
//! transaction, or is *doomed*: the memory for old versions was full, this transaction was the oldest, and
//! versions that it needs may be gone.
//!
//! [`Registry::oldest`] returns the *bound*: no transaction, now or later, reads at a point before it. So an
//! old version superseded at or before the bound, and a ghost not newer than it, may be dropped.
//!
//! Why a begin cannot slip through: a begin stores a point, fences, and only then reads the point at which it
//! will really read. A collector reads the durable LSN `h`, fences, and only then reads the seats. One of the
//! two fences comes first. If it is the begin's, the collector sees its seat, with a point not above the real
//! one. If it is the collector's, the begin reads its point after `h` was read, and neither the durable LSN
//! nor the published prefix goes back: its point is at least `h`, and the bound is at most `h`.

use crate::error::{Error, Result};
use crate::ids::Csn;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use crate::sync::rank::SEATS;
use crate::sync::ranked::Mutex;
use crate::sync::{IS_MODEL, OnceLock};
use crossbeam_utils::CachePadded;

const IDLE: u64 = u64::MAX;
const DOOMED: u64 = u64::MAX - 1;

const CHUNK: usize = if IS_MODEL { 2 } else { 64 };
const CHUNKS: usize = if IS_MODEL { 2 } else { 1024 };

/// Maximum sessions at a time.
pub(crate) const SESSIONS_MAX: usize = CHUNK * CHUNKS;

#[derive(Debug)]
struct Seat {
    begin: AtomicU64,
}

/// A chunk of seats, each on its own cache line.
type Seats = Box<[CachePadded<Seat>]>;

/// The seats of all sessions.
#[derive(Debug)]
pub(super) struct Registry {
    chunks: Box<[OnceLock<Seats>]>,
    /// Seats below this number exist.
    made: AtomicU32,
    free: Mutex<Vec<u32>, SEATS>,
}

impl Registry {
    pub(super) fn new() -> Registry {
        Registry {
            chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
            made: AtomicU32::new(0),
            free: Mutex::new(Vec::new()),
        }
    }

    /// A seat for a session: a freed one, or a new one.
    pub(super) fn claim(&self) -> Result<u32> {
        let mut free = self.free.lock();
        if let Some(seat) = free.pop() {
            return Ok(seat);
        }
        let seat = self.made.load(Ordering::Relaxed);
        let Some(chunk) = self.chunks.get(seat as usize / CHUNK) else {
            return Err(Error::Sessions { sessions_max: SESSIONS_MAX });
        };
        let idle = |_| CachePadded::new(Seat { begin: AtomicU64::new(IDLE) });
        chunk.get_or_init(|| (0..CHUNK).map(idle).collect());
        self.made.store(seat + 1, Ordering::SeqCst);
        Ok(seat)
    }

    /// Frees the seat of a session that has ended.
    pub(super) fn release(&self, seat: u32) {
        self.leave(seat);
        self.free.lock().push(seat);
    }

    /// Registers a begin. Returns the result of `point`, called after the seat was taken with `floor`;
    /// `point` never goes below `floor`.
    #[inline]
    pub(super) fn enter(&self, seat: u32, floor: Csn, point: impl FnOnce() -> Csn) -> Csn {
        let seat = self.seat(seat);
        seat.begin.store(floor.0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let point = point();
        debug_assert!(point >= floor);
        point
    }

    /// The transaction's read point has moved: it no longer needs anything older.
    #[inline]
    pub(super) fn advance(&self, seat: u32, to: Csn) {
        let begin = &self.seat(seat).begin;
        let before = begin.load(Ordering::Relaxed);
        if before != DOOMED {
            // Only a doom can come in between, and it must stay.
            let doomed = begin.compare_exchange(before, to.0, Ordering::Release, Ordering::Relaxed);
            debug_assert!(doomed.is_ok() || doomed == Err(DOOMED));
        }
    }

    #[inline]
    pub(super) fn leave(&self, seat: u32) {
        self.seat(seat).begin.store(IDLE, Ordering::Release);
    }

    /// True if versions that the transaction needs may be gone. Call it after each lookup: a doom comes
    /// before anything is dropped, and lookup and drop are under the same latch or mutex.
    #[inline]
    pub(super) fn is_doomed(&self, seat: u32) -> bool {
        self.seat(seat).begin.load(Ordering::SeqCst) == DOOMED
    }

    /// The bound: the oldest begin, at most the durable LSN, which `durable_lsn` reads first.
    pub(super) fn oldest(&self, durable_lsn: impl FnOnce() -> Csn) -> Csn {
        let durable_lsn = durable_lsn();
        fence(Ordering::SeqCst);
        let begins = self.seats().map(|seat| seat.begin.load(Ordering::SeqCst));
        // Idle and doomed seats are above every commit.
        Csn(begins.fold(durable_lsn.0, u64::min))
    }

    /// Dooms the transaction with the oldest begin if that is before `before`. True if one was doomed.
    pub(super) fn doom_oldest(&self, before: Csn) -> bool {
        let begins = self.seats().map(|seat| (seat.begin.load(Ordering::SeqCst), seat));
        let Some((begin, seat)) = begins.min_by_key(|(begin, _)| *begin) else {
            return false;
        };
        begin < before.0
            && seat
                .begin
                .compare_exchange(begin, DOOMED, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
    }

    /// The number of open transactions.
    pub(super) fn open(&self) -> usize {
        let begins = self.seats().map(|seat| seat.begin.load(Ordering::SeqCst));
        begins.filter(|&begin| begin != IDLE).count()
    }

    /// The number of seats.
    #[inline]
    pub(super) fn seats_made(&self) -> u64 {
        self.made.load(Ordering::Relaxed).into()
    }

    fn seats(&self) -> impl Iterator<Item = &Seat> {
        let made = self.made.load(Ordering::SeqCst) as usize;
        let chunks = self.chunks.iter().map_while(OnceLock::get);
        chunks.flat_map(|chunk| chunk.iter().map(|seat| &**seat)).take(made)
    }

    #[inline]
    fn seat(&self, seat: u32) -> &Seat {
        let chunk = self.chunks[seat as usize / CHUNK].get();
        &chunk.expect("a seat is claimed before use")[seat as usize % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::Registry;
    use crate::ids::Csn;
    use crate::stop_on_drop::StopOnDrop;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    #[test]
    fn the_bound_is_the_oldest_begin_and_never_above_the_durable_lsn() {
        let registry = Registry::new();
        let seats: Vec<u32> = (0..130).map(|_| registry.claim().unwrap()).collect();
        let bound = |durable_lsn| registry.oldest(|| Csn(durable_lsn)).0;
        assert_eq!(bound(50), 50);
        assert_eq!(registry.enter(seats[129], Csn(40), || Csn(41)), Csn(41));
        registry.enter(seats[3], Csn(45), || Csn(45));
        assert_eq!(bound(50), 40);
        assert_eq!(bound(30), 30);
        registry.advance(seats[129], Csn(48));
        assert_eq!(bound(50), 45);
        assert_eq!(registry.open(), 2);
        registry.release(seats[3]);
        assert_eq!(bound(50), 48);
        assert_eq!(registry.claim().unwrap(), seats[3]);
    }

    #[test]
    fn the_oldest_is_doomed_and_stays_doomed_until_it_ends() {
        let registry = Registry::new();
        let (old, new) = (registry.claim().unwrap(), registry.claim().unwrap());
        registry.enter(old, Csn(10), || Csn(10));
        registry.enter(new, Csn(20), || Csn(20));
        assert!(!registry.doom_oldest(Csn(10)));
        assert!(registry.doom_oldest(Csn(15)));
        assert!(registry.is_doomed(old) && !registry.is_doomed(new));
        registry.advance(old, Csn(30));
        assert!(registry.is_doomed(old));
        assert_eq!(registry.oldest(|| Csn(90)), Csn(20));
        registry.leave(old);
        registry.enter(old, Csn(40), || Csn(40));
        assert!(!registry.is_doomed(old));
    }

    /// A collector and a beginner race; the begin's real point is never below a bound that was used.
    #[test]
    fn no_begin_slips_through() {
        let registry = Registry::new();
        let seat = registry.claim().unwrap();
        let (durable_lsn, dropped) = (AtomicU64::new(1), AtomicU64::new(0));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    durable_lsn.fetch_add(1, Ordering::SeqCst);
                    let bound = registry.oldest(|| Csn(durable_lsn.load(Ordering::SeqCst)));
                    dropped.fetch_max(bound.0, Ordering::SeqCst);
                }
            });
            let _over = StopOnDrop::new(&stop);
            for _ in 0..200_000 {
                let look = || Csn(durable_lsn.load(Ordering::SeqCst));
                let point = registry.enter(seat, look(), look);
                // Whatever is dropped while the begin is registered does not affect its point.
                assert!(dropped.load(Ordering::SeqCst) <= point.0);
                std::hint::spin_loop();
                assert!(dropped.load(Ordering::SeqCst) <= point.0);
                registry.leave(seat);
            }
        });
    }
}
