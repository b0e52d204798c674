//! An io_uring for many transfers, that is reads and writes, at the same time.
//!
//! Invariants of [`TransferRing`]:
//! 1. Dropping it waits for every transfer that was submitted: afterwards the kernel uses no buffer any more.
//! 2. If submitting fails, the ring is *broken*: transfers that were still queued are never submitted, those
//!    under way complete, and nothing new may be queued.

#![allow(unsafe_code, reason = "io_uring submissions point to memory that the kernel uses later")]

use super::uring::is_passing;
use io_uring::squeue::Entry;
use io_uring::{IoUring, opcode, types};
use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::thread;
use std::time::Duration;

/// The pause between two looks for completions when the kernel does not let the thread wait for them.
const PAUSE: Duration = Duration::from_micros(50);

/// Transfers that are queued, under way or completed.
pub(crate) struct TransferRing {
    ring: IoUring,
    depth: u32,
    /// Transfers that are queued or under way, or whose completion has not been taken.
    outstanding: u32,
    is_broken: bool,
}

impl TransferRing {
    /// A ring for that many transfers at a time; none if the kernel refuses it.
    pub(crate) fn new(depth: u32) -> Option<TransferRing> {
        let ring = IoUring::new(depth).ok()?;
        Some(TransferRing { ring, depth, outstanding: 0, is_broken: false })
    }

    pub(crate) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Transfers that are queued and not submitted.
    pub(crate) fn queued(&mut self) -> usize {
        self.ring.submission().len()
    }

    /// True if another transfer may be queued.
    pub(crate) fn has_room(&self) -> bool {
        self.outstanding < self.depth && !self.is_broken
    }

    /// Queues a read into `length` bytes from `buffer` on. There must be room.
    ///
    /// # Safety
    ///
    /// The memory must stay valid, and nothing else may use it, until the read has completed or the ring is
    /// dropped. The file must stay open until the next submission.
    pub(crate) unsafe fn push_read(
        &mut self,
        file: BorrowedFd<'_>,
        (buffer, length): (*mut u8, usize),
        offset: u64,
        token: u64,
    ) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let read = opcode::Read::new(types::Fd(file.as_raw_fd()), buffer, length).offset(offset);
        // SAFETY: the caller keeps the buffer as the kernel needs it.
        unsafe { self.push(&read.build().user_data(token)) };
    }

    /// Queues a write of these bytes. There must be room.
    ///
    /// # Safety
    ///
    /// The bytes must stay valid and unchanged until the write has completed or the ring is dropped. The file
    /// must stay open until the next submission.
    pub(crate) unsafe fn push_write(
        &mut self,
        file: BorrowedFd<'_>,
        bytes: &[u8],
        offset: u64,
        token: u64,
    ) {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let file = types::Fd(file.as_raw_fd());
        let write = opcode::Write::new(file, bytes.as_ptr(), length).offset(offset);
        // SAFETY: the caller keeps the bytes as the kernel needs them.
        unsafe { self.push(&write.build().user_data(token)) };
    }

    /// Queues an entry.
    ///
    /// # Safety
    ///
    /// What the entry points to must stay valid until it has completed or the ring is dropped.
    unsafe fn push(&mut self, entry: &Entry) {
        assert!(self.has_room(), "a ring takes no more transfers than it was made for");
        // SAFETY: as the caller promises.
        let pushed = unsafe { self.ring.submission().push(entry) };
        assert!(pushed.is_ok(), "the ring has an entry for each transfer");
        self.outstanding += 1;
    }

    /// Submits what is queued, and waits until a transfer has completed if `waits`. Returns how many of
    /// the queued transfers, the last ones, will never be submitted because the ring is broken.
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

    /// Passes on the token and the result of each transfer that has completed.
    pub(crate) fn take_completed(&mut self, mut each: impl FnMut(u64, i32)) {
        for completion in self.ring.completion() {
            self.outstanding -= 1;
            each(completion.user_data(), completion.result());
        }
    }
}

impl Drop for TransferRing {
    fn drop(&mut self) {
        while self.outstanding > 0 {
            self.submit(true);
            self.take_completed(|_, _| ());
        }
    }
}

impl fmt::Debug for TransferRing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TransferRing")
            .field("outstanding", &self.outstanding)
            .finish_non_exhaustive()
    }
}
