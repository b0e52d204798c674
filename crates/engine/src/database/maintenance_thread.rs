//! The maintenance thread does what should be done before a caller needs it: it prepares log files, adds
//! memory for pages, and runs checkpoints.
//!
//! One thread does all three, so that an open database costs little while nothing happens. None of the three
//! depends on it: a thread that finds no prepared log file, no memory or too long a log does the work itself
//! or drives the checkpoint.
//!
//! 1. **Log files.** The log raises the signal when it has begun a segment or freed a file; the thread then
//!    prepares the next file ([`Log::prepare_file`](crate::log::Log::prepare_file)).
//! 2. **Memory.** The system backs fresh memory when it is first written to, which takes long where a
//!    hypervisor has to find it. A thread that splits a leaf or copies an image for a checkpoint would wait
//!    for that, and others would wait for its latches. So when the buffer's blocks run low it raises the
//!    signal, and the thread adds new ones (`Buffer::preallocate`).
//! 3. **Checkpoints.** `checkpoint_pacing` decides when one begins, and pauses between its steps.
//!
//! States: asleep, serving a signal, in a step of a checkpoint. A step is one write or one sync, so a raised
//! signal waits at most for that: the thread serves signals during every pause of the pacing, also during a
//! pause of length zero. Preparing a log file in turn delays the next step; it takes one sync for each 4 MiB.

use crate::buffer::Buffer;
use crate::database::checkpoint_pacing::CheckpointPacing;
use crate::database::engine::Engine;
use crate::error::{Error, Result};
use crate::panics::guarded;
use crate::sync::rank::{Held, MAINTENANCE_THREAD};
use crate::sync::signal::{Signal, Wake};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use syncline_instrument::clock;
use syncline_vfs::Disk;

/// The thread's name.
const NAME: &str = "maintenance";

/// Dropping it ends the thread and waits for it.
#[derive(Debug)]
pub(crate) struct MaintenanceThread {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

/// Serves the signal of an engine during pauses.
pub(super) struct Maintenance<D: Disk> {
    pub(super) engine: Arc<Engine<D>>,
    add_memory: fn(&Buffer),
}

impl MaintenanceThread {
    pub(crate) fn start<D: Disk>(engine: &Arc<Engine<D>>) -> Result<MaintenanceThread> {
        MaintenanceThread::start_with(engine, Buffer::preallocate)
    }

    /// Starts it with the function that adds memory.
    pub(super) fn start_with<D: Disk>(
        engine: &Arc<Engine<D>>,
        add_memory: fn(&Buffer),
    ) -> Result<MaintenanceThread> {
        let signal = Arc::clone(engine.core.buffer.low());
        let maintenance = Maintenance { engine: Arc::clone(engine), add_memory };
        let core = Arc::clone(&engine.core);
        let thread = std::thread::Builder::new()
            .name(NAME.to_owned())
            .spawn(move || {
                guarded(
                    NAME,
                    move || maintenance.run(),
                    |because| {
                        core.log.fail(because);
                        // The threads that wait for the checkpoint get the error instead.
                        core.set_pressed(false);
                    },
                );
            })
            .map_err(|source| Error::Thread { source })?;
        // The first log file behind the current one.
        signal.raise();
        Ok(MaintenanceThread { signal, thread: Some(thread) })
    }
}

impl Drop for MaintenanceThread {
    fn drop(&mut self) {
        let _held = Held::<MAINTENANCE_THREAD>::awaited();
        self.signal.stop();
        if let Some(thread) = self.thread.take() {
            // The thread's panics were caught and have failed the log.
            let _ended = thread.join();
        }
    }
}

impl<D: Disk> Maintenance<D> {
    fn run(self) {
        if self.engine.options.checkpoint_by_itself {
            CheckpointPacing::new(&self).run();
        } else {
            while self.signal().wait() {
                self.serve();
            }
        }
    }

    /// Sleeps and serves the signal meanwhile. Returns true if the thread must end.
    pub(super) fn pause(&self, span: Duration) -> bool {
        let began = clock::now();
        loop {
            let over = Duration::from_nanos(clock::now().saturating_sub(began));
            match self.signal().wait_for(span.saturating_sub(over)) {
                Wake::Stopped => return true,
                Wake::Elapsed => return false,
                Wake::Raised => self.serve(),
            }
            if over >= span {
                return false;
            }
        }
    }

    fn serve(&self) {
        self.engine.core.log.prepare_file();
        (self.add_memory)(&self.engine.core.buffer);
    }

    fn signal(&self) -> &Signal {
        self.engine.core.buffer.low()
    }
}
