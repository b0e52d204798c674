//! The page loader reads the pages of a database behind its opening.
//!
//! Opening reads no pages: a transaction that needs one loads it. In a database that fits in memory this
//! thread loads all others, in the order of their numbers and with long reads, and ends when none is left. It
//! rests after each read for as long as the read took, so that it takes at most half of the disk from the
//! transactions. A page that cannot be read is left alone: the call that
//! needs it gets the error.

use crate::database::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::PageId;
use crate::panics::guarded;
use crate::sync::rank::{Held, PAGE_LOADER};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use syncline_instrument::clock;
use syncline_vfs::Disk;

/// Bytes of images in one step.
const STEP_BYTES: u64 = 1 << 20;

/// Dropping it ends the thread and waits for it.
#[derive(Debug)]
pub(crate) struct PageLoader {
    ends: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl PageLoader {
    pub(crate) fn start<D: Disk>(engine: &Arc<Engine<D>>) -> Result<PageLoader> {
        let ends = Arc::new((Mutex::new(false), Condvar::new()));
        let (engine, rests) = (Arc::clone(engine), Arc::clone(&ends));
        let thread = std::thread::Builder::new()
            .name("page loader".to_owned())
            .spawn(move || {
                let core = &engine.core;
                let work = || {
                    let mut next = Some(PageId(1));
                    while let Some(from) = next {
                        let began = clock::now();
                        next = core.buffer.load_some(from, STEP_BYTES);
                        let took = clock::now().saturating_sub(began);
                        if rest(&rests, Duration::from_nanos(took)) {
                            return;
                        }
                    }
                };
                guarded("page loader", work, |because| core.log.fail(because));
            })
            .map_err(|source| Error::Thread { source })?;
        Ok(PageLoader { ends, thread: Some(thread) })
    }
}

/// Sleeps. Returns true if the thread must end.
fn rest((ends, bell): &(Mutex<bool>, Condvar), span: Duration) -> bool {
    let _held = Held::<PAGE_LOADER>::awaited();
    let mut ends = ends.lock();
    if !*ends {
        bell.wait_for(&mut ends, span);
    }
    *ends
}

impl Drop for PageLoader {
    fn drop(&mut self) {
        let (ends, bell) = &*self.ends;
        {
            let _held = Held::<PAGE_LOADER>::awaited();
            *ends.lock() = true;
        }
        bell.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread's panics were caught and have failed the log.
            let _ended = thread.join();
        }
    }
}
