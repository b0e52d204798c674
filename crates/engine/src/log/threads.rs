//! The log's own threads: one prepares segment files, one archives segments if there is an archive, and the
//! others write what no caller writes.
//!
//! They sleep until they are signalled, and are joined before the log's lock is released. A thread that
//! panics fails the log with its reason.

use crate::error::{Error, Result};
use crate::log::driver::{Shared, StopCondition};
use crate::log::ring::NO_WORKER;
use crate::panics::guarded;
use crate::sync::signal::{Signal, Wake};
use crate::sync::thread::{Builder, JoinHandle};
use std::sync::Arc;
use std::time::Duration;
use syncline_vfs::Disk;

/// The time between two attempts to archive a segment.
const ARCHIVE_PAUSE: Duration = Duration::from_secs(1);

/// Which threads a log has of its own.
#[derive(Clone, Debug)]
pub(crate) enum Threads {
    /// One that prepares files, and those that write.
    Own,
    /// Those that write. Another thread waits for this signal and then calls
    /// [`Log::prepare_file`](crate::log::Log::prepare_file).
    Writers(Arc<Signal>),
    /// None, as in simulations: only waiting callers move it.
    #[cfg_attr(not(test), allow(dead_code, reason = "for simulations"))]
    None,
}

/// The threads of an open log.
#[derive(Debug)]
pub(super) struct Running {
    handles: Vec<JoinHandle<()>>,
}

impl Running {
    pub(super) fn start<D: Disk>(shared: &Arc<Shared<D>>) -> Result<Running> {
        let mut threads = Running { handles: Vec::new() };
        let started = threads.spawn_all(shared);
        if started.is_err() {
            threads.stop(shared);
            return started.map(|()| Running { handles: Vec::new() });
        }
        shared.files_signal.raise();
        shared.archive_signal.raise();
        Ok(threads)
    }

    fn spawn_all<D: Disk>(&mut self, shared: &Arc<Shared<D>>) -> Result<()> {
        if shared.prepares_files {
            self.spawn("log files", shared, prepare_files)?;
        }
        if shared.options.archive.is_some() {
            self.spawn("log archive", shared, archive)?;
        }
        for _ in 0..shared.options.writes_in_flight_max {
            self.spawn("log writer", shared, write)?;
        }
        Ok(())
    }

    fn spawn<D: Disk>(
        &mut self,
        name: &'static str,
        shared: &Arc<Shared<D>>,
        body: fn(&Shared<D>),
    ) -> Result<()> {
        let shared = Arc::clone(shared);
        let thread = Builder::new().name(name.to_owned());
        let handle = thread
            .spawn(move || guarded(name, || body(&shared), |because| shared.fail(because)))
            .map_err(|source| Error::Thread { source })?;
        self.handles.push(handle);
        Ok(())
    }

    /// Ends and joins the threads.
    pub(super) fn stop<D: Disk>(self, shared: &Shared<D>) {
        if shared.prepares_files {
            shared.files_signal.stop();
        }
        shared.archive_signal.stop();
        shared.writer_signal.stop();
        for handle in self.handles {
            // Its panics were caught and have failed the log.
            let _ended = handle.join();
        }
    }
}

fn prepare_files<D: Disk>(shared: &Shared<D>) {
    while shared.files_signal.wait() {
        shared.prepare_file();
    }
}

/// Archives what is released. After a failure, which [`Log::archive_failure`](crate::log::Log) reports, it
/// tries again after a pause.
fn archive<D: Disk>(shared: &Shared<D>) {
    loop {
        let woken = if shared.is_unarchived() {
            shared.archive_signal.wait_for(ARCHIVE_PAUSE)
        } else if shared.archive_signal.wait() {
            Wake::Raised
        } else {
            Wake::Stopped
        };
        // What was released before the end is archived, too.
        while shared.archive_segment().is_ok_and(|archived| archived) {}
        if woken == Wake::Stopped {
            return;
        }
    }
}

fn write<D: Disk>(shared: &Shared<D>) {
    while shared.writer_signal.wait() {
        let held_back = StopCondition::Enough(&|_| shared.is_held_back());
        while !shared.is_held_back() && shared.drive(NO_WORKER, &held_back) > 0 {}
    }
}
