//! Loading rows before a run, in parallel over sessions.

use crate::coordinate::dataset::Dataset;
use crate::coordinate::disk_guard::DiskGuard;
use crate::coordinate::interruptible::{block_on_until_stopped, stopped};
use crate::coordinate::observer::{Event, Observer};
use crate::error::Error;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{ScopedJoinHandle, Thread};
use std::time::Duration;
use syncline_contract::{Failure, FailureKind, Load, Rows, Session, Stop, Target, Workload};

/// Units per batch; a batch is one commit of the store's bulk path.
const BATCH: u64 = 1_000;
/// The interval between progress events.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

struct Loading<'r, T, W> {
    target: &'r T,
    workload: &'r W,
    dataset: &'r Dataset<'r>,
    disk: &'r DiskGuard,
    stop: &'r AtomicBool,
    /// Units.
    loaded: AtomicU64,
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

/// Loads the workload's initial rows, one table after another.
pub(crate) fn load<T: Target, W: Workload>(
    target: &T,
    workload: &W,
    dataset: &Dataset<'_>,
    disk: &DiskGuard,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<(), Error> {
    let loads = workload.loads();
    let of: u64 = loads.iter().map(|load| load.units).sum();
    let can = target.capabilities();
    if of == 0 || !can.keeps_rows {
        return Ok(());
    }
    let loading = Loading {
        target,
        workload,
        dataset,
        disk,
        stop,
        loaded: AtomicU64::new(0),
        failed: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = can.workers_max.unwrap_or(cores);
    let loaders = cores.min(most).min(can.clients_max.unwrap_or(cores)).max(1);
    for load in &loads {
        loading.table(load, loaders, of, observer)?;
    }
    Ok(())
}

/// Reports that a loader has ended, by a panic too, and wakes the coordinator, so that a load ends with its
/// loaders and not with the next progress event.
struct LeaveGuard<'l> {
    left: &'l AtomicUsize,
    coordinator: &'l Thread,
}

impl Drop for LeaveGuard<'_> {
    fn drop(&mut self) {
        self.left.fetch_add(1, Ordering::Release);
        self.coordinator.unpark();
    }
}

impl<T: Target, W: Workload> Loading<'_, T, W> {
    fn table(
        &self,
        load: &Load,
        loaders: usize,
        of: u64,
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        let next = AtomicU64::new(0);
        let coordinator = std::thread::current();
        let left = AtomicUsize::new(0);
        let mut shortage = None;
        let panicked = std::thread::scope(|scope| {
            let loader = |_| {
                scope.spawn(|| {
                    let _leaves = LeaveGuard { left: &left, coordinator: &coordinator };
                    self.keep(self.batches(load, &next));
                })
            };
            let threads: Vec<_> = (0..loaders).map(loader).collect();
            while left.load(Ordering::Acquire) < loaders {
                let units = self.loaded.load(Ordering::Relaxed);
                observer.event(Event::Loading { units, of });
                if let Some(why) = self.disk.shortage() {
                    shortage.get_or_insert(why);
                    self.failed.store(true, Ordering::Relaxed);
                }
                std::thread::park_timeout(PROGRESS_INTERVAL);
            }
            let joined: Vec<_> = threads.into_iter().map(ScopedJoinHandle::join).collect();
            joined.into_iter().find_map(Result::err)
        });
        if let Some(panicked) = panicked {
            return Err(Error::panicked(panicked.as_ref()));
        }
        if let Some(why) = shortage {
            return Err(Error::DiskSpace {
                target: self.target.name(),
                doing: "rows were loaded",
                why,
            });
        }
        let failure = self.failure.lock().take();
        if let Some(source) = failure {
            return Err(Error::Target {
                target: self.target.name(),
                doing: "rows were loaded",
                source,
            });
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(stopped(self.target, "rows were loaded"));
        }
        let units = self.loaded.load(Ordering::Relaxed);
        observer.event(Event::Loading { units, of });
        Ok(())
    }

    fn keep(&self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.failed.store(true, Ordering::Relaxed);
            let mut kept = self.failure.lock();
            kept.get_or_insert(failure);
        }
    }

    /// One loader: opens its own session and loads batch after batch.
    fn batches(&self, load: &Load, next: &AtomicU64) -> Result<(), Failure> {
        let part = self.target.worker()?;
        let plan = &*self.dataset.plan;
        let width = plan.tables()[load.table.0].columns.len();
        let mut batch = Rows::new(width);
        let connected = self.wait(self.target.connect(plan, &part), &part);
        let Some(mut session) = connected.transpose()? else {
            return Ok(());
        };
        while !self.stop.load(Ordering::Relaxed) && !self.failed.load(Ordering::Relaxed) {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            if first >= load.units {
                break;
            }
            let end = (first + BATCH).min(load.units);
            batch.reset(width);
            for number in first..end {
                self.workload.load_unit(load.table, number, &mut batch);
            }
            self.batch(load, &mut session, &part, &batch)?;
            self.loaded.fetch_add(end - first, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Waits for the store; `None` if a stop was requested, after which nothing more is loaded.
    fn wait<R>(&self, future: impl Future<Output = R>, part: &T::Worker) -> Option<R> {
        block_on_until_stopped(future, part, self.stop, 0)
    }

    /// Loads one batch, and retries while it conflicts with other sessions.
    fn batch(
        &self,
        load: &Load,
        session: &mut T::Session,
        part: &T::Worker,
        batch: &Rows,
    ) -> Result<(), Failure> {
        while !self.stop.load(Ordering::Relaxed) {
            let stop = match self.wait(session.load(load.table, batch), part) {
                Some(Ok(())) | None => return Ok(()),
                Some(Err(stop)) => stop,
            };
            if self.wait(session.abort(), part).is_none() {
                return Ok(());
            }
            match stop {
                Stop::Conflict(_) => {}
                Stop::Failed(failure) | Stop::Unknown(failure) => return Err(*failure),
                Stop::Abort => {
                    let what = "the target aborted a load, but only a workload may abort";
                    return Err(Failure::new(FailureKind::Statement, what));
                }
            }
        }
        Ok(())
    }
}
