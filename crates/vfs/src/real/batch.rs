//! Many reads at once into borrowed buffers, or many writes, through an io_uring of the calling thread.
//!
//! Each thread that reads or writes in batches sets up a ring of its own when it needs one for the first
//! time. Where the kernel refuses a ring, the thread does not ask again, and its batches are read and written
//! one by one.
//!
//! Invariants:
//! 1. No call returns, and none unwinds, while the kernel may still use a caller's memory: the ring is empty
//!    or dropped by then, and dropping it waits.
//! 2. A read that did not fill its buffer is not filled for the caller either: the caller reads again, which
//!    finds the end of the file or the error, in its own words. The same holds for writes.
//! 3. The caller's code runs while other reads are under way. It may come back here: the ring is not in its
//!    place meanwhile, so these reads are made one by one.

#![allow(unsafe_code, reason = "io_uring submissions point to memory that the kernel uses later")]

use super::transfer_ring::TransferRing;
use crate::{BatchRead, BatchWrite};
use std::cell::RefCell;
use std::os::fd::BorrowedFd;

/// Transfers in flight at most.
const DEPTH: u32 = 64;

thread_local! {
    static RING: RefCell<State> = const { RefCell::new(State::Unused) };
}

/// The ring of a thread.
enum State {
    Unused,
    Ready(Box<TransferRing>),
    /// In use by a call, refused by the kernel, or broken.
    Absent,
}

impl State {
    fn ring(self) -> Option<Box<TransferRing>> {
        match self {
            State::Unused => TransferRing::new(DEPTH).map(Box::new),
            State::Ready(ring) => Some(ring),
            State::Absent => None,
        }
    }
}

/// Reads into the buffers of the batch. `completed` is called once for each read, with its position and
/// whether the buffer is filled; if not, nothing is known about the read.
pub(super) fn read(
    file: BorrowedFd<'_>,
    reads: &mut [BatchRead<'_>],
    completed: &mut dyn FnMut(usize, &mut BatchRead<'_>, bool),
) {
    let begun = if reads.len() > 1 {
        with_ring(|ring| read_through(ring, file, reads, completed)).unwrap_or(0)
    } else {
        0
    };
    for (position, read) in reads.iter_mut().enumerate().skip(begun) {
        completed(position, read, false);
    }
}

/// Makes the writes of the batch. `failed` is called with each one that did not write all of its bytes.
pub(super) fn write(
    file: BorrowedFd<'_>,
    writes: &[BatchWrite<'_>],
    failed: &mut dyn FnMut(&BatchWrite<'_>),
) {
    let mut is_written = vec![false; writes.len()];
    if writes.len() > 1 {
        with_ring(|ring| write_through(ring, file, writes, &mut is_written));
    }
    let all = writes.iter().zip(is_written);
    all.filter(|(_, is_written)| !is_written).for_each(|(write, _)| failed(write));
}

/// Runs `through` with the thread's ring, if it has one that is not in use.
fn with_ring<R>(through: impl FnOnce(&mut TransferRing) -> R) -> Option<R> {
    let mut ring = RING.replace(State::Absent).ring()?;
    let result = through(&mut ring);
    if !ring.is_broken() {
        RING.set(State::Ready(ring));
    }
    Some(result)
}

fn write_through(
    ring: &mut TransferRing,
    file: BorrowedFd<'_>,
    writes: &[BatchWrite<'_>],
    is_written: &mut [bool],
) {
    let mut next = 0;
    loop {
        while next < writes.len() && ring.has_room() {
            let BatchWrite { bytes, offset } = writes[next];
            // SAFETY: the caller lends the bytes and the file for longer than this call, which leaves the
            // ring empty.
            unsafe { ring.push_write(file, bytes, offset, next as u64) };
            next += 1;
        }
        if ring.outstanding() == 0 {
            return;
        }
        ring.submit(true);
        ring.take_completed(|token, result| {
            let position = token as usize;
            is_written[position] = usize::try_from(result) == Ok(writes[position].bytes.len());
        });
    }
}

/// Returns how many reads have been made, from the first on; fewer than all if the ring broke.
fn read_through(
    ring: &mut TransferRing,
    file: BorrowedFd<'_>,
    reads: &mut [BatchRead<'_>],
    completed: &mut dyn FnMut(usize, &mut BatchRead<'_>, bool),
) -> usize {
    let mut next = 0;
    let mut ended = Vec::with_capacity(reads.len().min(DEPTH as usize));
    loop {
        while next < reads.len() && ring.has_room() {
            let BatchRead { buffer, offset } = &mut reads[next];
            let memory = (buffer.as_mut_ptr(), buffer.len());
            // SAFETY: the caller lends the buffer and the file for longer than this call, which leaves the
            // ring empty, and which drops it if it unwinds.
            unsafe { ring.push_read(file, memory, *offset, next as u64) };
            next += 1;
        }
        if ended.is_empty() && ring.outstanding() == 0 {
            return next;
        }
        // Without completed reads to pass on there is nothing to do but to wait.
        next -= ring.submit(ended.is_empty()) as usize;
        for (position, is_filled) in ended.drain(..) {
            completed(position, &mut reads[position], is_filled);
        }
        ring.take_completed(|token, result| {
            let position = token as usize;
            let is_filled = usize::try_from(result) == Ok(reads[position].buffer.len());
            ended.push((position, is_filled));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{read, write};
    use crate::{BatchRead, BatchWrite};
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Reads of each buffer's length, `step` bytes apart.
    fn reads_of<const N: usize>(buffers: &mut [[u8; N]], step: u64) -> Vec<BatchRead<'_>> {
        let reads = buffers.iter_mut().zip(0..);
        reads.map(|(buffer, index)| BatchRead::new(buffer, index * step)).collect()
    }

    /// Which of the reads filled their buffers; none if this thread has no ring. Each is reported once.
    fn filled(file: &File, reads: &mut [BatchRead<'_>]) -> Vec<bool> {
        let mut filled = vec![None; reads.len()];
        read(file.as_fd(), reads, &mut |position, _, is_filled| {
            assert_eq!(filled[position].replace(is_filled), None, "read {position}");
        });
        filled.into_iter().map(|filled| filled.expect("each read is reported")).collect()
    }

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, bytes).unwrap();
        file
    }

    /// False if io_uring is blocked here: then there is nothing to test.
    fn has_ring() -> bool {
        filled(&file_of(&[7; 8]), &mut reads_of(&mut [[0; 4]; 2], 4)) == [true, true]
    }

    #[test]
    fn more_reads_than_the_ring_holds_fill_their_own_buffers() {
        let bytes: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let file = file_of(&bytes);
        let mut buffers = vec![[0; 40]; 300];
        let all = filled(&file, &mut reads_of(&mut buffers, 1_337));
        if has_ring() {
            assert_eq!(all, [true; 300]);
            for (index, buffer) in buffers.iter().enumerate() {
                assert_eq!(buffer[..], bytes[index * 1_337..][..40], "read {index}");
            }
        }
    }

    #[test]
    fn reads_at_the_end_and_refused_ones_are_left_to_the_caller() {
        let at_end = filled(&file_of(&[7; 100]), &mut reads_of(&mut [[0; 60]; 3], 50));
        if has_ring() {
            assert_eq!(at_end, [true, false, false]);
        }
        let folder = tempfile::tempdir().unwrap();
        let write_only = File::create(folder.path().join("file")).unwrap();
        assert_eq!(filled(&write_only, &mut reads_of(&mut [[0; 8]; 2], 0)), [false, false]);
    }

    #[test]
    fn more_writes_than_the_ring_holds_are_made_and_refused_ones_are_left_to_the_caller() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        let pieces: Vec<[u8; 10]> = (0..200).map(|number| [number; 10]).collect();
        let offsets = (0..200).map(|number| (number * 37 % 200) * 10);
        let pairs = pieces.iter().zip(offsets);
        let writes: Vec<_> = pairs.map(|(bytes, offset)| BatchWrite { bytes, offset }).collect();
        let left = |file: &File| {
            let mut left = 0;
            write(file.as_fd(), &writes, &mut |_| left += 1);
            left
        };
        let expected = if has_ring() { 0 } else { writes.len() };
        assert_eq!(left(&file), expected);
        let written = std::fs::read(&path).unwrap();
        for BatchWrite { bytes, offset } in writes.iter().filter(|_| expected == 0) {
            assert_eq!(written[*offset as usize..][..10], **bytes);
        }
        let read_only = File::open(&path).unwrap();
        assert_eq!(left(&read_only), writes.len());
        assert_eq!(left(&file), expected);
    }

    #[test]
    fn a_batch_within_a_batch_is_left_to_the_caller_and_the_ring_stays_usable() {
        let file = file_of(&[7; 800]);
        let mut inner = Vec::new();
        let mut buffers = [[0; 8]; 100];
        read(file.as_fd(), &mut reads_of(&mut buffers, 8), &mut |_, _, _| {
            inner.push(filled(&file, &mut reads_of(&mut [[0; 4]; 2], 4)));
        });
        assert_eq!(inner, vec![[false, false]; 100]);
        if has_ring() {
            assert_eq!(buffers, [[7; 8]; 100]);
        }
    }

    #[test]
    fn a_panic_of_the_caller_waits_for_the_reads_under_way() {
        let file = file_of(&vec![7; 8 << 20]);
        let had_ring = has_ring();
        let mut buffers = vec![[0; 8 << 10]; 1_024];
        let mut reads = reads_of(&mut buffers, 8 << 10);
        let panics = catch_unwind(AssertUnwindSafe(|| {
            read(file.as_fd(), &mut reads, &mut |_, _, _| panic!("planted"));
        }));
        assert!(panics.is_err());
        // Whatever the kernel writes now would show.
        for buffer in &mut buffers {
            buffer.fill(0);
        }
        std::thread::yield_now();
        assert!(buffers.iter().flatten().all(|&byte| byte == 0));
        assert!(!has_ring() || !had_ring, "the ring of a call that panicked is not used again");
    }
}
