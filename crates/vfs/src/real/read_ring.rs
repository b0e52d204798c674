//! An io_uring for many reads at the same time.
//!
//! Invariants of [`ReadRing`]:
//! 1. Dropping it waits for every read that was submitted: afterwards the kernel writes into no buffer any
//!    more.
//! 2. If submitting fails, the ring is *broken*: reads that were still queued are never submitted, those
//!    under way complete, and nothing new may be queued.

#![allow(unsafe_code, reason = "io_uring submissions point to memory that the kernel writes later")]

use super::uring::is_passing;
use io_uring::{IoUring, opcode, types};
use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::thread;
use std::time::Duration;

/// The pause between two looks for completions when the kernel does not let the thread wait for them.
const PAUSE: Duration = Duration::from_micros(50);

/// Reads that are queued, under way or completed.
pub(crate) struct ReadRing {
    ring: IoUring,
    depth: u32,
    /// Reads that are queued or under way, or whose completion has not been taken.
    outstanding: u32,
    is_broken: bool,
}

impl ReadRing {
    /// A ring for that many reads at a time; none if the kernel refuses it.
    pub(crate) fn new(depth: u32) -> Option<ReadRing> {
        let ring = IoUring::new(depth).ok()?;
        Some(ReadRing { ring, depth, outstanding: 0, is_broken: false })
    }

    pub(crate) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Reads that are queued and not submitted.
    pub(crate) fn queued(&mut self) -> usize {
        self.ring.submission().len()
    }

    /// True if another read may be queued.
    pub(crate) fn has_room(&self) -> bool {
        self.outstanding < self.depth && !self.is_broken
    }

    /// Queues a read into `length` bytes from `buffer` on. There must be room.
    ///
    /// # Safety
    ///
    /// The memory must stay valid, and nothing else may use it, until the read has completed or the ring is
    /// dropped. The file must stay open until the next submission.
    pub(crate) unsafe fn push(
        &mut self,
        file: BorrowedFd<'_>,
        (buffer, length): (*mut u8, usize),
        offset: u64,
        token: u64,
    ) {
        assert!(self.has_room(), "a ring takes no more reads than it was made for");
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let entry = opcode::Read::new(types::Fd(file.as_raw_fd()), buffer, length)
            .offset(offset)
            .build()
            .user_data(token);
        // SAFETY: the caller keeps the buffer as the kernel needs it.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the ring has an entry for each read");
        self.outstanding += 1;
    }

    /// Submits what is queued, and waits until a read has completed if `waits`. Returns how many of the
    /// queued reads, the last ones, will never be submitted because the ring is broken.
    pub(crate) fn submit(&mut self, waits: bool) -> u32 {
        let is_idle = self.ring.submission().is_empty();
        let waits = waits && self.outstanding > 0 && self.ring.completion().is_empty();
        if is_idle && !waits {
            return 0;
        }
        if self.is_broken {
            if waits {
                thread::sleep(PAUSE);
            }
            return 0;
        }
        match self.ring.submit_and_wait(usize::from(waits)) {
            Err(error) if !is_passing(&error) => {
                self.is_broken = true;
                // The kernel has taken entries from the front of the queue; the rest it will never see.
                let never_submitted = self.ring.submission().len() as u32;
                self.outstanding -= never_submitted;
                never_submitted
            }
            _ => 0,
        }
    }

    /// Passes on the token and the result of each read that has completed.
    pub(crate) fn take_completed(&mut self, mut each: impl FnMut(u64, i32)) {
        for completion in self.ring.completion() {
            self.outstanding -= 1;
            each(completion.user_data(), completion.result());
        }
    }
}

impl Drop for ReadRing {
    fn drop(&mut self) {
        while self.outstanding > 0 {
            self.submit(true);
            self.take_completed(|_, _| ());
        }
    }
}

impl fmt::Debug for ReadRing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ReadRing")
            .field("outstanding", &self.outstanding)
            .finish_non_exhaustive()
    }
}
