//! Reads under way, into buffers that the queue owns meanwhile.
//!
//! A thread begins reads, does other things, and takes what has completed when it wants. Only reads of files
//! of the real disk are under way in the meaning of the word; those of other disks, or where the kernel
//! refuses an io_uring, are made when they begin, and passed on later, the newest first, since no order is
//! promised.
//!
//! Invariants:
//! 1. While the kernel may write into a buffer, the queue owns it. The ring is declared first, so that it is
//!    dropped first, and dropping it waits for what is under way.
//! 2. Each read is passed on once, unless the queue is dropped.

#![allow(unsafe_code, reason = "io_uring submissions point to memory that the kernel writes later")]

use super::transfer_ring::TransferRing;
use crate::AlignedBuffer;
use std::os::fd::BorrowedFd;

/// Whether the queue has a ring.
#[derive(Debug)]
enum Ring {
    /// No read has needed one so far.
    Unused,
    Ready(Box<TransferRing>),
    Refused,
}

/// A read that has been passed to a [`ReadQueue`].
#[derive(Debug)]
pub struct QueuedRead {
    /// Identifies the read to the caller.
    pub token: u64,
    /// Where the bytes go, until its end.
    pub buffer: AlignedBuffer,
    /// Where they begin in the file.
    pub offset: u64,
}

/// Reads under way. [`File::begin_read`](crate::File::begin_read) adds one.
#[derive(Debug)]
pub struct ReadQueue {
    ring: Ring,
    depth: u32,
    /// The reads in the ring, by their position.
    under_way: Vec<Option<QueuedRead>>,
    /// Positions of reads that are in the ring and not submitted, in their order.
    unsubmitted: Vec<usize>,
    /// Reads to be passed on, each with whether its buffer is filled.
    completed: Vec<(QueuedRead, bool)>,
}

impl ReadQueue {
    /// A queue for up to `depth` reads at a time, 1 to 4096.
    pub fn new(depth: u32) -> ReadQueue {
        ReadQueue {
            ring: Ring::Unused,
            depth: depth.clamp(1, 4_096),
            under_way: Vec::new(),
            unsubmitted: Vec::new(),
            completed: Vec::new(),
        }
    }

    /// Reads that have begun and have not been passed on.
    pub fn len(&self) -> usize {
        let in_ring = match &self.ring {
            Ring::Ready(ring) => ring.outstanding() as usize,
            Ring::Unused | Ring::Refused => 0,
        };
        in_ring + self.completed.len()
    }

    /// True if no read is under way.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if another read may begin.
    pub fn has_room(&self) -> bool {
        self.len() < self.depth as usize
    }

    /// Hands what has begun to the system.
    pub fn submit(&mut self) {
        self.submit_ring(false);
    }

    /// Hands what has begun to the system, waits until `at_least` reads have completed, or all if there are
    /// fewer, and passes on those and whatever else has completed: each with whether its buffer is filled. If
    /// not, nothing is known about the read, and the caller reads again to learn why.
    pub fn wait(&mut self, at_least: usize, each: &mut dyn FnMut(QueuedRead, bool)) {
        let mut left = at_least.min(self.len());
        loop {
            self.submit_ring(left > self.completed.len());
            self.take_completed();
            while let Some((read, is_filled)) = self.completed.pop() {
                left = left.saturating_sub(1);
                each(read, is_filled);
            }
            if left == 0 {
                return;
            }
        }
    }

    /// Adds a read whose bytes are there, or that failed.
    pub(crate) fn push_completed(&mut self, read: QueuedRead, is_filled: bool) {
        self.completed.push((read, is_filled));
    }

    /// Begins a read through the ring, or gives it back if there is none with room.
    pub(super) fn push(
        &mut self,
        file: BorrowedFd<'_>,
        mut read: QueuedRead,
    ) -> Option<QueuedRead> {
        if let Ring::Unused = self.ring {
            let ring = TransferRing::new(self.depth).map(Box::new);
            self.ring = ring.map_or(Ring::Refused, Ring::Ready);
        }
        let Ring::Ready(ring) = &mut self.ring else {
            return Some(read);
        };
        if !ring.has_room() {
            return Some(read);
        }
        let position = self.under_way.iter().position(Option::is_none).unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() - 1
        });
        let memory = (read.buffer.as_mut_ptr(), read.buffer.len());
        // SAFETY: the buffer's bytes do not move with it, the queue keeps it until the read has completed,
        // and by invariant 1 it outlives the ring. Callers submit before they close the file.
        unsafe { ring.push_read(file, memory, read.offset, position as u64) };
        self.under_way[position] = Some(read);
        self.unsubmitted.push(position);
        None
    }

    fn submit_ring(&mut self, waits: bool) {
        let Ring::Ready(ring) = &mut self.ring else {
            return;
        };
        for _ in 0..ring.submit(waits) {
            let position = self.unsubmitted.pop().expect("the last ones are not submitted");
            let read = self.under_way[position].take().expect("a read in the ring has a buffer");
            self.completed.push((read, false));
        }
        let submitted = self.unsubmitted.len().saturating_sub(ring.queued());
        self.unsubmitted.drain(..submitted);
    }

    fn take_completed(&mut self) {
        let ReadQueue { ring: Ring::Ready(ring), under_way, completed, .. } = self else {
            return;
        };
        ring.take_completed(|token, result| {
            let read = under_way[token as usize].take().expect("a read in the ring has a buffer");
            let is_filled = usize::try_from(result) == Ok(read.buffer.len());
            completed.push((read, is_filled));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{QueuedRead, ReadQueue, Ring};
    use crate::{AlignedBuffer, Disk, File, OpenOptions, RealDisk};
    use std::path::Path;

    const BYTES: u64 = 4096;

    /// A file of 256 blocks, each of which holds its number.
    fn numbered(folder: &Path) -> impl File {
        let file = RealDisk.open(&folder.join("file"), OpenOptions::READ_WRITE).unwrap();
        for block in 0..=255_u8 {
            file.write_at(&[block; BYTES as usize], u64::from(block) * BYTES).unwrap();
        }
        file
    }

    fn read_of(block: u64) -> QueuedRead {
        let buffer = AlignedBuffer::zeroed(BYTES as usize);
        QueuedRead { token: block, buffer, offset: block * BYTES }
    }

    #[test]
    fn each_read_is_passed_on_once_with_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let file = numbered(folder.path());
        let mut queue = ReadQueue::new(16);
        let (mut next, mut seen) = (0, [0; 256]);
        while next < 256 || !queue.is_empty() {
            while next < 256 && queue.has_room() {
                file.begin_read(&mut queue, read_of(next));
                next += 1;
            }
            assert!(queue.len() <= 16);
            let before = queue.len();
            let mut passed_on = 0;
            queue.wait(3, &mut |read, is_filled| {
                assert!(is_filled, "block {}", read.token);
                assert!(read.buffer.iter().all(|&byte| u64::from(byte) == read.token));
                seen[read.token as usize] += 1;
                passed_on += 1;
            });
            assert!(passed_on >= before.min(3) && queue.len() == before - passed_on);
        }
        assert_eq!(seen, [1; 256]);
    }

    #[test]
    fn reads_beyond_the_depth_and_beyond_the_end_are_passed_on_too() {
        let folder = tempfile::tempdir().unwrap();
        let file = numbered(folder.path());
        let mut queue = ReadQueue::new(2);
        for block in [1, 2, 3, 300] {
            file.begin_read(&mut queue, read_of(block));
        }
        queue.submit();
        let mut seen = Vec::new();
        queue.wait(usize::MAX, &mut |read, is_filled| seen.push((read.token, is_filled)));
        seen.sort_unstable();
        assert_eq!(seen, [(1, true), (2, true), (3, true), (300, false)]);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_queue_may_be_dropped_with_reads_under_way_and_works_without_a_ring() {
        let folder = tempfile::tempdir().unwrap();
        let file = numbered(folder.path());
        let mut queue = ReadQueue::new(64);
        (0..64).for_each(|block| file.begin_read(&mut queue, read_of(block)));
        queue.submit();
        drop(queue);
        let mut queue = ReadQueue::new(64);
        queue.ring = Ring::Refused;
        (0..3).for_each(|block| file.begin_read(&mut queue, read_of(block)));
        let mut seen = Vec::new();
        queue.wait(1, &mut |read, is_filled| {
            assert!(is_filled && read.buffer[0] == read.token as u8);
            seen.push(read.token);
        });
        assert_eq!(seen, [2, 1, 0], "the newest first");
    }
}
