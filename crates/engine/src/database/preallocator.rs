//! The preallocator prepares memory for leaves and pre-images before it is needed.
//!
//! The system backs fresh memory when it is first written to, which takes long where a hypervisor has to find
//! it. A thread that splits a leaf or copies an image for a checkpoint would wait for that, and others would
//! wait for its latches. So when the buffer's blocks run low it raises a signal, and this thread adds new
//! ones (`Buffer::preallocate`). Nothing depends on it: a thread that finds no block adds one itself.

use crate::buffer::Buffer;
use crate::database::engine::Engine;
use crate::error::{Error, Result};
use crate::panics::guarded;
use crate::sync::signal::Signal;
use std::sync::Arc;
use std::thread::JoinHandle;
use syncline_vfs::Disk;

/// Dropping it ends the thread and waits for it.
#[derive(Debug)]
pub(crate) struct Preallocator {
    low: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

impl Preallocator {
    pub(crate) fn start<D: Disk>(engine: &Arc<Engine<D>>) -> Result<Preallocator> {
        Preallocator::start_with(engine, Buffer::preallocate)
    }

    /// Starts it with the function that it calls when the signal is raised.
    pub(super) fn start_with<D: Disk>(
        engine: &Arc<Engine<D>>,
        stock: fn(&Buffer),
    ) -> Result<Preallocator> {
        let low = Arc::clone(engine.core.buffer.low());
        let engine = Arc::clone(engine);
        let thread = std::thread::Builder::new()
            .name("page blocks".to_owned())
            .spawn(move || {
                let core = &engine.core;
                let work = || {
                    while core.buffer.low().wait() {
                        stock(&core.buffer);
                    }
                };
                guarded("page blocks", work, |because| core.log.fail(because));
            })
            .map_err(|source| Error::Thread { source })?;
        Ok(Preallocator { low, thread: Some(thread) })
    }
}

impl Drop for Preallocator {
    fn drop(&mut self) {
        self.low.stop();
        if let Some(thread) = self.thread.take() {
            // The thread's panics were caught and have failed the log.
            let _ended = thread.join();
        }
    }
}
