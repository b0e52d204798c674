//! When a group is ready to flush: when its write begins although workers are still running their passes.
//!
//! A group that waits for the end of all passes contains all clients, so the processors are idle while it is
//! written. Instead the log's own thread writes it concurrently with the passes, once the clients that are
//! not in it have work left for about as long as the write takes. Not earlier: every write costs processor
//! time, and the commits that miss this group need another one.
//!
//! That pays only if the work of all clients together takes longer than a write. Otherwise the processors
//! wait in any case, and two alternating groups take two writes where one would do. The passes measure this
//! work: their duration, and the number of commits they produced. Without measuring the work itself, a group
//! that had waited for a write would look like one that takes long.
//!
//! A client is *out* if a worker has it and it waits for no commit. The group itself shows how much work they
//! have left: the rest will arrive at the rate of the commits so far. If that does not happen, because they
//! wait for something else or only read, the group waits for the end of the passes after all, but not
//! forever: where passes always overlap, a group that has waited for many writes is *past its deadline*.
//!
//! All of this is only advice: a late or duplicate observation makes a group larger or smaller, nothing else.
//! So these are plain atomics, and not part of the models of the log. In a model there is no time: staged
//! commits are always past their deadline there, so that the hand-over is explored.

use crate::ids::Csn;
use crate::sync::IS_MODEL;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use syncline_instrument::Nanos;

/// The share of the newest value in a smoothed one: 1 part in this many.
const SMOOTHING: u64 = 8;

/// A group is ready to flush when the remaining work takes at most 3/2 of a write: one processor does some of
/// it alone, while the others are already idle.
const LEFT_HALVES: u64 = 3;

/// Groups are written concurrently with passes only if all clients' work takes at least 3/2 of a write.
const WORK_HALVES: u64 = 3;

/// A group is past its deadline after forming for this many writes, and at least this long.
const DEADLINE_WRITES: u64 = 16;
const DEADLINE_NS_MIN: Nanos = 1_000_000;

/// The assumed duration of a write before the first one was measured.
const FIRST_WRITE_NS: Nanos = 10_000_000;

/// Estimates how long a write and the clients' remaining work take.
#[derive(Debug)]
pub(super) struct FlushPolicy {
    /// The first commit that was in no frame at the last launch, and the time of that launch; or the time
    /// when its write ended, if nothing was staged until then.
    next: AtomicU64,
    since: AtomicU64,
    /// The smoothed duration of a write; zero before the first.
    write_ns: AtomicU64,
    /// Clients of all workers, and the number of workers that have any.
    clients: AtomicI64,
    workers: AtomicI64,
    /// A worker's smoothed time per commit; zero before the first.
    commit_ns: AtomicU64,
}

impl FlushPolicy {
    /// For a log whose next commit is `next`.
    pub(super) fn new(next: Csn, now: Nanos) -> FlushPolicy {
        FlushPolicy {
            next: AtomicU64::new(next.0),
            since: AtomicU64::new(now),
            write_ns: AtomicU64::new(0),
            clients: AtomicI64::new(0),
            workers: AtomicI64::new(0),
            commit_ns: AtomicU64::new(0),
        }
    }

    /// A worker's number of clients changes from `before` to `now`.
    pub(super) fn change_clients(&self, before: usize, now: usize) {
        self.clients.fetch_add(now as i64 - before as i64, Relaxed);
        self.workers.fetch_add(i64::from(now > 0) - i64::from(before > 0), Relaxed);
    }

    /// A worker's pass took `span` and produced `commits` commits, at least one.
    pub(super) fn passed(&self, span: Nanos, commits: u64) {
        smooth(&self.commit_ns, span / commits);
    }

    /// Everything before `next` is in frames now.
    pub(super) fn launched(&self, next: Csn, now: Nanos) {
        self.next.store(next.0, Relaxed);
        self.since.store(now, Relaxed);
    }

    /// A write took from `began` to `ended`, and `taken` is the next number.
    pub(super) fn written(&self, (began, ended): (Nanos, Nanos), taken: Csn) {
        smooth(&self.write_ns, ended.saturating_sub(began));
        if self.staged(taken) == 0 {
            self.since.store(ended, Relaxed);
        }
    }

    /// True if the group staged up to the number `taken` is ready to flush. Call it only while no write is in
    /// flight.
    #[inline]
    pub(super) fn is_ready_to_flush(&self, taken: Csn, now: impl FnOnce() -> Nanos) -> bool {
        let staged = self.staged(taken);
        let clients = self.clients.load(Relaxed).max(0) as u64;
        let out = clients.saturating_sub(staged);
        // Decided without reading the clock: a group that has formed for less than a write is not worth one.
        if staged == 0 || clients == 0 || 2 * out > LEFT_HALVES * staged {
            return false;
        }
        let write_ns = self.write_ns.load(Relaxed);
        let workers = self.workers.load(Relaxed).max(1) as u64;
        let work_ns = clients * self.commit_ns.load(Relaxed) / workers;
        if 2 * work_ns < WORK_HALVES * write_ns {
            return false;
        }
        let elapsed = now().saturating_sub(self.since.load(Relaxed));
        elapsed >= write_ns && 2 * out * elapsed <= LEFT_HALVES * write_ns * staged
    }

    /// True if something has been staged for too long.
    pub(super) fn is_past_deadline(&self, taken: Csn, now: impl FnOnce() -> Nanos) -> bool {
        if self.staged(taken) == 0 || IS_MODEL {
            return self.staged(taken) > 0;
        }
        let write_ns = match self.write_ns.load(Relaxed) {
            0 => FIRST_WRITE_NS,
            write_ns => write_ns,
        };
        let elapsed = now().saturating_sub(self.since.load(Relaxed));
        elapsed >= DEADLINE_NS_MIN.max(DEADLINE_WRITES * write_ns)
    }

    fn staged(&self, taken: Csn) -> u64 {
        taken.0.saturating_sub(self.next.load(Relaxed))
    }
}

/// Adds a value to a smoothed one.
fn smooth(known: &AtomicU64, figure: Nanos) {
    let smoothed = match known.load(Relaxed) {
        0 => figure,
        before => before - before / SMOOTHING + figure / SMOOTHING,
    };
    known.store(smoothed, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::{DEADLINE_NS_MIN, DEADLINE_WRITES, FIRST_WRITE_NS, FlushPolicy};
    use crate::ids::Csn;

    /// Ten clients on two workers; a commit takes 40, and a write 100.
    fn policy() -> FlushPolicy {
        let policy = FlushPolicy::new(Csn(1), 0);
        policy.change_clients(0, 5);
        policy.change_clients(0, 9);
        policy.change_clients(9, 5);
        policy.passed(200, 5);
        policy.written((0, 100), Csn(1));
        policy
    }

    #[test]
    fn a_group_is_ready_when_the_remaining_work_lasts_as_long_as_its_write() {
        let policy = policy();
        let is_ready_to_flush =
            |staged: u64, now| policy.is_ready_to_flush(Csn(1 + staged), || now);
        assert!(!is_ready_to_flush(0, 10_000), "nothing is staged");
        // It forms from 100 on, when nothing was staged any more. At 30 per commit the last five take 150.
        assert!(!is_ready_to_flush(4, 220), "six take 180");
        assert!(is_ready_to_flush(5, 250));
        assert!(!is_ready_to_flush(5, 260), "five take 160");
        assert!(is_ready_to_flush(6, 280));
        assert!(!is_ready_to_flush(9, 190), "the pass is shorter than the write");
        assert!(is_ready_to_flush(10, 200), "no client is out");
    }

    #[test]
    fn commits_staged_during_a_write_count_from_its_launch() {
        let policy = policy();
        policy.launched(Csn(6), 1000);
        policy.written((1000, 1100), Csn(9));
        let is_ready_to_flush =
            |staged: u64, now| policy.is_ready_to_flush(Csn(6 + staged), || now);
        assert!(!is_ready_to_flush(5, 1151), "five in 151, and five are left");
        assert!(is_ready_to_flush(5, 1150));
    }

    #[test]
    fn no_group_is_ready_if_all_work_takes_less_than_a_write() {
        let policy = policy();
        let is_ready_to_flush = || policy.is_ready_to_flush(Csn(7), || 280);
        assert!(is_ready_to_flush());
        // Approaches half of what it was: ten clients take 100 on two processors.
        (0..40).for_each(|_| policy.passed(100, 5));
        assert!(!is_ready_to_flush());
        // On one processor they take twice as long.
        policy.change_clients(5, 0);
        policy.change_clients(5, 10);
        assert!(is_ready_to_flush());
    }

    #[test]
    fn without_clients_no_group_is_ready_but_deadlines_pass() {
        let policy = FlushPolicy::new(Csn(1), 0);
        let is_past_deadline = |now| policy.is_past_deadline(Csn(9), || now);
        let first = DEADLINE_WRITES * FIRST_WRITE_NS;
        assert!(!is_past_deadline(first - 1) && is_past_deadline(first));
        assert!(!policy.is_ready_to_flush(Csn(9), || first));
        assert!(!policy.is_past_deadline(Csn(1), || first), "nothing is staged");
        policy.written((0, 7), Csn(1));
        assert!(!is_past_deadline(DEADLINE_NS_MIN + 6) && is_past_deadline(DEADLINE_NS_MIN + 7));
        policy.launched(Csn(9), first);
        assert!(!policy.is_past_deadline(Csn(10), || first));
    }
}
