//! The pass loop, and the wait of the thread when no client is ready.

use super::pinned_futures::PinnedFutures;
use super::prefetch::{PrefetchRange, prefetch_value};
use super::signal::{Phase, Signal};
use super::timers::Timers;
use super::waker::{DriveGuard, Shared, Task};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;
use syncline_contract::Worker;
use syncline_instrument::{Nanos, clock};

/// A waiting thread wakes this long before a sleeper is due and then spins: the time that a wake from a wait
/// may take on a virtual machine.
const SPIN_NS: Nanos = 60_000;
/// While clients stay ready, the worker's part is polled (for answers on sockets) once in this many passes,
/// so that waiting clients do not starve.
const PASSES_PER_POLL: u32 = 16;

/// Drives futures. Dropping it drops the futures that have not finished.
pub(crate) struct Executor<'t, F, P> {
    futures: PinnedFutures<F>,
    tasks: Vec<(Arc<Task>, Waker)>,
    shared: Arc<Shared>,
    timers: &'t Timers,
    part: &'t P,
    prefetch: PrefetchRange,
    unfinished: usize,
    spun_ns: Nanos,
}

impl<'t, F: Future<Output = ()>, P: Worker> Executor<'t, F, P> {
    /// For futures that sleep on `timers` and wait in `part`. Must be driven on the calling thread.
    pub(crate) fn new(
        futures: impl IntoIterator<Item = F>,
        timers: &'t Timers,
        part: &'t P,
    ) -> Self {
        let futures = PinnedFutures::new(futures);
        let shared = Shared::new(futures.len(), part.waker());
        let tasks = (0..futures.len())
            .map(|index| {
                let task = Task::new(index, shared.clone());
                let waker = Waker::from(task.clone());
                (task, waker)
            })
            .collect();
        Executor {
            unfinished: futures.len(),
            futures,
            tasks,
            shared,
            timers,
            part,
            prefetch: PrefetchRange::default(),
            spun_ns: 0,
        }
    }

    /// Sets the memory to prefetch in addition to the futures themselves.
    pub(crate) fn with_prefetch(mut self, prefetch: PrefetchRange) -> Self {
        self.prefetch = prefetch;
        self
    }

    /// Drives until every future has finished or the signal is [`Phase::Abort`].
    pub(crate) fn drive(&mut self, signal: &Signal) {
        let _driving = DriveGuard::start(&self.shared, self.futures.len());
        for (_, waker) in &self.tasks {
            waker.wake_by_ref();
        }
        let mut running = Vec::with_capacity(self.futures.len());
        // Passes since the part was last polled.
        let mut passes = 0;
        while self.unfinished > 0 {
            let phase = signal.phase();
            if phase == Phase::Abort {
                break;
            }
            self.wake_sleepers(phase);
            DriveGuard::take_ready(&self.shared, &mut running);
            if running.is_empty() {
                self.wait(signal);
                passes = 0;
            } else {
                self.part.pass_started();
                self.pass(&mut running);
                self.part.pass_ended();
                passes += 1;
                if passes == PASSES_PER_POLL {
                    self.part.wait(Some(Duration::ZERO));
                    passes = 0;
                }
            }
        }
    }

    /// Nanoseconds spent spinning until a sleeper was due: processor time that is not work.
    pub(crate) fn spun_ns(&self) -> Nanos {
        self.spun_ns
    }

    fn pass(&mut self, running: &mut Vec<usize>) {
        for (at, &index) in running.iter().enumerate() {
            self.prefetch_next(&running[at + 1..]);
            let (task, waker) = &self.tasks[index];
            task.taken();
            let finished = self.futures.poll(index, &mut Context::from_waker(waker));
            self.unfinished -= usize::from(finished);
        }
        running.clear();
    }

    /// Prefetches the data of the next two clients.
    #[inline]
    fn prefetch_next(&self, next: &[usize]) {
        if let Some(&second) = next.get(1) {
            prefetch_value::<Task>(&self.tasks[second].0);
        }
        if let Some(&first) = next.first() {
            self.futures.prefetch(first);
            self.prefetch.prefetch(first);
        }
    }

    fn wake_sleepers(&self, phase: Phase) {
        if phase != Phase::Running {
            self.timers.end();
        } else if self.timers.next_due().is_some() {
            self.timers.wake_due(self.timers.now());
        }
    }

    /// Waits in the worker's part until a wake or until shortly before the next sleeper is due, and spins
    /// from there. A wake that came after the queues were read ends the wait at once.
    ///
    /// Never inlined: the profiler recognizes an idle worker by this function's name on its stack.
    #[inline(never)]
    fn wait(&mut self, signal: &Signal) {
        let Some(due) = self.timers.next_due() else {
            self.part.wait(None);
            return;
        };
        #[cfg(any(test, feature = "simulation"))]
        if self.timers.skip_to(due, signal) {
            return;
        }
        let now = clock::now();
        let left = due.saturating_sub(now);
        if left > SPIN_NS {
            let longest = Duration::from_nanos(left - SPIN_NS);
            self.part.wait(Some(longest));
            return;
        }
        let mut until = now;
        while until < due
            && !DriveGuard::any_ready(&self.shared)
            && signal.phase() == Phase::Running
        {
            self.part.wait(Some(Duration::ZERO));
            std::hint::spin_loop();
            until = clock::now();
        }
        self.spun_ns += until - now;
    }
}

/// Runs a target's future outside its workers to its end, on the calling thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    block_on_with(future, &())
}

/// Runs one future to its end on the calling thread. The worker's own part receives the start and the end of
/// each pass.
pub(crate) fn block_on_with<T>(future: impl Future<Output = T>, part: &impl Worker) -> T {
    let mut output = None;
    let timers = Timers::default();
    let keep = async { output = Some(future.await) };
    Executor::new([keep], &timers, part).drive(&Signal::default());
    output.expect("without an abort, a drive ends when its future has finished")
}
