//! When a group is ready to flush: when its write begins although workers are still at their passes.
//!
//! A group that waits for the end of all passes takes all clients with it, and while it is written the
//! processors have nothing to do. So it is written beside the passes, by the log's own thread, once the
//! clients that are not in it have work left for about as long as the write takes. Not earlier: a write
//! costs processor time as such, whoever waits for it, and what is not in this group makes one more.
//!
//! That pays only where all clients together have more work than a write takes: else the processors wait in
//! any case, and two groups in turn take two writes where one would do. How long their work is, is told by
//! the passes: so long they were, and so many commits came of them. Without that look at the work itself a
//! group that had waited for a write would be taken for one that takes long.
//!
//! Clients are *out* that the workers have and that wait for no commit. How much work is left for them is
//! told by the group itself: so many commits came in so long a time, and the rest will come as fast. If that
//! is not so, since they wait for something else or only read, the group waits for the end of the passes as
//! ever, but not for ever: where passes always overlap, one that has waited for many writes is *overdue*.
//!
//! All of this is advice: what is seen late or twice makes a group larger or smaller, and nothing else.
//! So these are plain atomics, and no part of the models of the log. In a model there is no time: there
//! whatever is staged is overdue, so that the hand-over is explored.

use crate::ids::Csn;
use crate::sync::IS_MODEL;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use syncline_instrument::Nanos;

/// What the last writes took counts by so much: one part in so many.
const SMOOTHING: u64 = 8;

/// A group is ready to flush when what is left takes three halves of a write: some of it is done by one
/// processor alone, while the others have nothing left.
const LEFT_HALVES: u64 = 3;

/// Groups are written beside passes where all clients' work takes at least three halves of a write.
const WORK_HALVES: u64 = 3;

/// A group is overdue that has been forming for so many writes, and at least for so long.
const WRITES_OVERDUE: u64 = 16;
const OVERDUE_NS_MIN: Nanos = 1_000_000;

/// What a write is thought to take at most, before the first.
const FIRST_WRITE_NS: Nanos = 10_000_000;

/// See the module.
#[derive(Debug)]
pub(super) struct FlushPolicy {
    /// The first commit that was in no frame at the last launch, and when that was; or when its write
    /// had ended, if nothing was staged until then.
    next: AtomicU64,
    since: AtomicU64,
    /// What a write takes, smoothed; zero before the first.
    write_ns: AtomicU64,
    /// Clients of all workers, and workers that have some.
    clients: AtomicI64,
    workers: AtomicI64,
    /// What a worker takes for a commit, smoothed; zero before the first.
    commit_ns: AtomicU64,
}

impl FlushPolicy {
    /// Of a log whose next commit is `next`.
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

    /// A worker that had so many clients has so many now.
    pub(super) fn change_clients(&self, before: usize, now: usize) {
        self.clients.fetch_add(now as i64 - before as i64, Relaxed);
        self.workers.fetch_add(i64::from(now > 0) - i64::from(before > 0), Relaxed);
    }

    /// A worker's pass took so long and so many commits came of it, at least one.
    pub(super) fn passed(&self, span: Nanos, commits: u64) {
        smooth(&self.commit_ns, span / commits);
    }

    /// Everything before `next` is in frames now.
    pub(super) fn launched(&self, next: Csn, now: Nanos) {
        self.next.store(next.0, Relaxed);
        self.since.store(now, Relaxed);
    }

    /// A write began and ended then, and `taken` is the next number.
    pub(super) fn written(&self, (began, ended): (Nanos, Nanos), taken: Csn) {
        smooth(&self.write_ns, ended.saturating_sub(began));
        if self.staged(taken) == 0 {
            self.since.store(ended, Relaxed);
        }
    }

    /// True if the group that is staged, up to the number `taken`, is ready to flush. To be asked while
    /// nothing is being written.
    #[inline]
    pub(super) fn is_ready_to_flush(&self, taken: Csn, now: impl FnOnce() -> Nanos) -> bool {
        let staged = self.staged(taken);
        let clients = self.clients.load(Relaxed).max(0) as u64;
        let out = clients.saturating_sub(staged);
        // Without a look at the clock: a group that has formed for less than a write is not worth one.
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
        elapsed >= OVERDUE_NS_MIN.max(WRITES_OVERDUE * write_ns)
    }

    fn staged(&self, taken: Csn) -> u64 {
        taken.0.saturating_sub(self.next.load(Relaxed))
    }
}

/// What counts for one more figure.
fn smooth(known: &AtomicU64, figure: Nanos) {
    let smoothed = match known.load(Relaxed) {
        0 => figure,
        before => before - before / SMOOTHING + figure / SMOOTHING,
    };
    known.store(smoothed, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::{FIRST_WRITE_NS, FlushPolicy, OVERDUE_NS_MIN, WRITES_OVERDUE};
    use crate::ids::Csn;

    /// Ten clients of two workers, a commit takes forty, and a write a hundred.
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
    fn a_group_is_ripe_when_the_rest_lasts_as_long_as_its_write_and_not_before() {
        let policy = policy();
        let is_ready_to_flush =
            |staged: u64, now| policy.is_ready_to_flush(Csn(1 + staged), || now);
        assert!(!is_ready_to_flush(0, 10_000), "there is nothing");
        // It forms from 100 on, where nothing was staged any more. Thirty a commit: the last five take 150.
        assert!(!is_ready_to_flush(4, 220), "six take 180");
        assert!(is_ready_to_flush(5, 250));
        assert!(!is_ready_to_flush(5, 260), "five take 160");
        assert!(is_ready_to_flush(6, 280));
        assert!(!is_ready_to_flush(9, 190), "the pass is shorter than the write");
        assert!(is_ready_to_flush(10, 200), "nobody is out");
    }

    #[test]
    fn what_is_staged_while_a_write_is_on_its_way_counts_from_its_launch() {
        let policy = policy();
        policy.launched(Csn(6), 1000);
        policy.written((1000, 1100), Csn(9));
        let is_ready_to_flush =
            |staged: u64, now| policy.is_ready_to_flush(Csn(6 + staged), || now);
        assert!(!is_ready_to_flush(5, 1151), "five in 151, and five are left");
        assert!(is_ready_to_flush(5, 1150));
    }

    #[test]
    fn where_all_work_takes_less_than_its_write_nothing_is_ripe() {
        let policy = policy();
        let is_ready_to_flush = || policy.is_ready_to_flush(Csn(7), || 280);
        assert!(is_ready_to_flush());
        // Half of what it was by and by: ten clients take 100 on two processors.
        (0..40).for_each(|_| policy.passed(100, 5));
        assert!(!is_ready_to_flush());
        // On one processor they take twice as long.
        policy.change_clients(5, 0);
        policy.change_clients(5, 10);
        assert!(is_ready_to_flush());
    }

    #[test]
    fn without_clients_nothing_is_ripe_and_everything_is_overdue_at_last() {
        let policy = FlushPolicy::new(Csn(1), 0);
        let is_past_deadline = |now| policy.is_past_deadline(Csn(9), || now);
        let first = WRITES_OVERDUE * FIRST_WRITE_NS;
        assert!(!is_past_deadline(first - 1) && is_past_deadline(first));
        assert!(!policy.is_ready_to_flush(Csn(9), || first));
        assert!(!policy.is_past_deadline(Csn(1), || first), "nothing is staged");
        policy.written((0, 7), Csn(1));
        assert!(!is_past_deadline(OVERDUE_NS_MIN + 6) && is_past_deadline(OVERDUE_NS_MIN + 7));
        policy.launched(Csn(9), first);
        assert!(!policy.is_past_deadline(Csn(10), || first));
    }
}
