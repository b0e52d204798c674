//! Many reads at once into borrowed buffers, through an io_uring of the calling thread.
//!
//! Each thread that reads in batches sets up a ring of its own when it needs one for the first time. Where
//! the kernel refuses a ring, the thread does not ask again, and its batches are read one by one.
//!
//! Invariants:
//! 1. No call returns, and none unwinds, while the kernel may still write into a caller's buffer: the ring
//!    is empty or dropped by then, and dropping it waits.
//! 2. A read that did not fill its buffer is not filled for the caller either: the caller reads again, which
//!    finds the end of the file or the error, in its own words.
//! 3. The caller's code runs while other reads are under way. It may come back here: the ring is not in its
//!    place meanwhile, so these reads are made one by one.

#![allow(unsafe_code, reason = "io_uring submissions point to memory that the kernel writes later")]

use super::read_ring::ReadRing;
use crate::BatchRead;
use std::cell::RefCell;
use std::os::fd::BorrowedFd;

/// Reads in flight at most.
const DEPTH: u32 = 64;

thread_local! {
    static READER: RefCell<State> = const { RefCell::new(State::Unused) };
}

/// The ring of a thread.
enum State {
    Unused,
    Ready(Box<ReadRing>),
    /// In use by a call, refused by the kernel, or broken.
    Absent,
}

impl State {
    fn ring(self) -> Option<Box<ReadRing>> {
        match self {
            State::Unused => ReadRing::new(DEPTH).map(Box::new),
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
    let ring = if reads.len() > 1 { READER.replace(State::Absent).ring() } else { None };
    let begun = match ring {
        Some(mut ring) => {
            let begun = read_through(&mut ring, file, reads, completed);
            if !ring.is_broken() {
                READER.set(State::Ready(ring));
            }
            begun
        }
        None => 0,
    };
    for (position, read) in reads.iter_mut().enumerate().skip(begun) {
        completed(position, read, false);
    }
}

/// Returns how many reads have been made, from the first on; fewer than all if the ring broke.
fn read_through(
    ring: &mut ReadRing,
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
            unsafe { ring.push(file, memory, *offset, next as u64) };
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
    use super::read;
    use crate::BatchRead;
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
