//! Many reads at once, through an io_uring of the calling thread.
//!
//! Each thread that reads in batches sets up a ring of its own when it needs one for the first time. Where
//! the kernel refuses a ring, the thread does not ask again, and its batches are read one by one.
//!
//! Invariants of [`BatchReader`]:
//! 1. No call returns while the kernel may still write into a caller's buffer: every operation that was
//!    submitted has completed.
//! 2. If submitting fails, the ring is dropped once what was submitted has completed. Operations that were
//!    still queued are never submitted.
//! 3. A read that did not fill its buffer has no result here: the caller reads again, which finds the end of
//!    the file or the error, in its own words.

#![allow(unsafe_code, reason = "io_uring submissions point to memory that the kernel writes later")]

use super::uring::is_passing;
use crate::BatchRead;
use io_uring::{IoUring, opcode, types};
use std::cell::RefCell;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Reads in flight at most.
const DEPTH: u32 = 64;

/// The pause between two looks for completions when the kernel does not let the thread wait for them.
const PAUSE: Duration = Duration::from_micros(50);

thread_local! {
    static READER: RefCell<State> = const { RefCell::new(State::Unused) };
}

/// The ring of a thread.
enum State {
    Unused,
    Ready(Box<BatchReader>),
    Refused,
}

/// Reads into the buffers of the batch and returns the number of reads that filled theirs; these are marked.
/// Returns none if this thread has no ring.
pub(super) fn read(file: BorrowedFd<'_>, reads: &mut [BatchRead<'_>]) -> Option<usize> {
    READER.with_borrow_mut(|state| {
        if let State::Unused = state {
            *state = match IoUring::new(DEPTH) {
                Ok(ring) => State::Ready(Box::new(BatchReader { ring })),
                Err(_refused) => State::Refused,
            };
        }
        let State::Ready(reader) = state else {
            return None;
        };
        let (filled, is_broken) = reader.read(file, reads);
        if is_broken {
            *state = State::Refused;
        }
        Some(filled)
    })
}

struct BatchReader {
    ring: IoUring,
}

impl BatchReader {
    /// Returns how many reads filled their buffers, and whether the ring must not be used again.
    fn read(&mut self, file: BorrowedFd<'_>, reads: &mut [BatchRead<'_>]) -> (usize, bool) {
        let (mut next, mut in_flight, mut filled) = (0, 0, 0);
        let mut is_broken = false;
        while next < reads.len() && !is_broken || in_flight > 0 {
            while next < reads.len() && in_flight < DEPTH && !is_broken {
                let read = &mut reads[next];
                let length = u32::try_from(read.buffer.len()).unwrap_or(u32::MAX);
                let fd = types::Fd(file.as_raw_fd());
                let entry = opcode::Read::new(fd, read.buffer.as_mut_ptr(), length)
                    .offset(read.offset)
                    .build()
                    .user_data(next as u64);
                // SAFETY: the buffer is borrowed by the caller for longer than this call, and by invariant 1
                // the kernel no longer uses it when the call returns.
                let pushed = unsafe { self.ring.submission().push(&entry) };
                assert!(pushed.is_ok(), "the ring has an entry for each read in flight");
                next += 1;
                in_flight += 1;
            }
            if is_broken {
                std::thread::sleep(PAUSE);
            } else if let Err(error) = self.ring.submit_and_wait(1)
                && !is_passing(&error)
            {
                is_broken = true;
                // The kernel has taken entries from the front of the queue; the rest it will never see.
                in_flight -= self.ring.submission().len() as u32;
            }
            for completion in self.ring.completion() {
                in_flight -= 1;
                let read = &mut reads[completion.user_data() as usize];
                if usize::try_from(completion.result()) == Ok(read.buffer.len()) {
                    read.is_filled = true;
                    filled += 1;
                }
            }
        }
        (filled, is_broken)
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::BatchRead;
    use std::os::fd::AsFd;

    #[test]
    fn more_reads_than_the_ring_holds_fill_their_own_buffers() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
        let mut buffers = vec![[0; 40]; 300];
        let mut reads: Vec<BatchRead<'_>> = buffers
            .iter_mut()
            .enumerate()
            .map(|(index, buffer)| BatchRead::new(buffer, (index * 1_337) as u64))
            .collect();
        let Some(filled) = read(file.as_fd(), &mut reads) else {
            // io_uring is blocked here: nothing to test.
            return;
        };
        assert_eq!(filled, 300);
        assert!(reads.iter().all(|read| read.is_filled));
        for (index, buffer) in buffers.iter().enumerate() {
            assert_eq!(buffer[..], bytes[index * 1_337..][..40], "read {index}");
        }
    }

    #[test]
    fn reads_at_the_end_and_refused_ones_are_left_to_the_caller() {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &[7; 100]).unwrap();
        let mut buffers = [[0; 60]; 3];
        let mut reads: Vec<BatchRead<'_>> = buffers
            .iter_mut()
            .enumerate()
            .map(|(index, buffer)| BatchRead::new(buffer, 50 * index as u64))
            .collect();
        let Some(filled) = read(file.as_fd(), &mut reads) else { return };
        assert_eq!(filled, 1);
        assert_eq!([true, false, false], [0, 1, 2].map(|index| reads[index].is_filled));
        let folder = tempfile::tempdir().unwrap();
        let write_only = std::fs::File::create(folder.path().join("file")).unwrap();
        let mut buffer = [0; 8];
        let mut reads = [BatchRead::new(&mut buffer, 0)];
        assert_eq!(read(write_only.as_fd(), &mut reads), Some(0));
    }
}
