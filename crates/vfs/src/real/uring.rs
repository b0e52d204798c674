//! io_uring for one write and its sync.
//!
//! Invariants of [`Ring`]:
//! 1. At most one chain is in flight, and no call returns before every submitted operation has completed: so
//!    the kernel never reads a caller's bytes after the call.
//! 2. If waiting itself fails, the ring is broken: every later call is refused, and operations still queued
//!    are never submitted.
//! 3. A write that wrote fewer bytes than requested may or may not have cancelled the sync linked to it
//!    (kernels differ). The rest is written with a sync of its own, so the promise relies on a sync that
//!    began after the last byte was written.

#![allow(unsafe_code, reason = "io_uring submissions point to memory that the kernel reads later")]

use io_uring::squeue::{Entry, Flags};
use io_uring::{IoUring, Probe, opcode, types};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd};

const WRITE: u64 = 1;
const SYNC: u64 = 2;

/// The largest write of one submission; its length field has 32 bits, the kernel's limit is lower.
const WRITE_BYTES_MAX: usize = 1 << 30;

/// An io_uring for one write and one sync at a time.
pub(super) struct Ring {
    ring: IoUring,
    broken: bool,
}

/// The kernel's results of one submission; `None` for an operation that was not part of it.
#[derive(Clone, Copy, Default)]
struct Completions {
    write: Option<i32>,
    sync: Option<i32>,
}

impl Ring {
    /// Sets up a ring; the error is the reason in words.
    pub(super) fn new() -> Result<Ring, String> {
        let ring = IoUring::new(2).map_err(|error| refusal(&error))?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe).map_err(|error| refusal(&error))?;
        if !probe.is_supported(opcode::Write::CODE) || !probe.is_supported(opcode::Fsync::CODE) {
            return Err("this kernel's io_uring has no write or no fsync".to_owned());
        }
        Ok(Ring { ring, broken: false })
    }

    /// Writes all of `bytes` and syncs the data, as one chain that is submitted and awaited by one
    /// system call (one more for each partial write).
    pub(super) fn write_linked(
        &mut self,
        file: BorrowedFd<'_>,
        bytes: &[u8],
        offset: u64,
    ) -> io::Result<()> {
        let mut done = 0;
        loop {
            let rest = &bytes[done..];
            let write = write_entry(file, rest, offset + done as u64).flags(Flags::IO_LINK);
            let answers = self.run(&[write, sync_entry(file)])?;
            done += written(answers.write, rest.len())?;
            if done == bytes.len() {
                return outcome(answers.sync).map(drop);
            }
        }
    }

    /// Writes all of `bytes`, waits, then syncs the data, and waits again.
    pub(super) fn write_unlinked(
        &mut self,
        file: BorrowedFd<'_>,
        bytes: &[u8],
        offset: u64,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let rest = &bytes[done..];
            let answers = self.run(&[write_entry(file, rest, offset + done as u64)])?;
            done += written(answers.write, rest.len())?;
        }
        outcome(self.run(&[sync_entry(file)])?.sync).map(drop)
    }

    /// Submits the entries and returns when all of them have completed.
    ///
    /// The entries' bytes must stay valid until this returns, which the callers' borrows ensure.
    fn run(&mut self, entries: &[Entry]) -> io::Result<Completions> {
        if self.broken {
            return Err(io::Error::other("the io_uring failed before and is not used again"));
        }
        // SAFETY: the entries point into bytes borrowed by the callers for longer than this call, and by
        // invariant 1 the kernel no longer uses them when it returns.
        let pushed = unsafe { self.ring.submission().push_multiple(entries) };
        assert!(pushed.is_ok(), "the ring is empty between calls and holds two entries");
        let (mut answers, mut completed) = (Completions::default(), 0);
        while completed < entries.len() {
            if let Err(error) = self.ring.submit_and_wait(entries.len() - completed)
                && !is_passing(&error)
            {
                self.broken = true;
                return Err(error);
            }
            for completion in self.ring.completion() {
                completed += 1;
                match completion.user_data() {
                    WRITE => answers.write = Some(completion.result()),
                    _ => answers.sync = Some(completion.result()),
                }
            }
        }
        Ok(answers)
    }
}

fn write_entry(file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Entry {
    let length = bytes.len().min(WRITE_BYTES_MAX) as u32;
    opcode::Write::new(types::Fd(file.as_raw_fd()), bytes.as_ptr(), length)
        .offset(offset)
        .build()
        .user_data(WRITE)
}

fn sync_entry(file: BorrowedFd<'_>) -> Entry {
    opcode::Fsync::new(types::Fd(file.as_raw_fd()))
        .flags(types::FsyncFlags::DATASYNC)
        .build()
        .user_data(SYNC)
}

/// How many bytes a write wrote; zero is an error, since retrying could loop forever.
fn written(answer: Option<i32>, requested: usize) -> io::Result<usize> {
    match outcome(answer)? as usize {
        0 if requested > 0 => Err(ErrorKind::WriteZero.into()),
        bytes => Ok(bytes),
    }
}

fn outcome(answer: Option<i32>) -> io::Result<i32> {
    match answer.expect("each submitted operation completes once") {
        error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
        result => Ok(result),
    }
}

/// True if waiting may simply continue: a signal, or resources that completions release.
pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::ResourceBusy)
}

/// Why the kernel refuses a ring, in words.
fn refusal(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "blocked here (kernel.io_uring_disabled or a seccomp filter)".to_owned()
        }
        Some(libc::ENOSYS) => {
            "this kernel has no io_uring, or a seccomp filter hides it".to_owned()
        }
        Some(libc::ENOMEM) => "too little memory may be locked (ulimit -l)".to_owned(),
        _ => format!("the kernel refuses a ring: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Ring, outcome, refusal, written};
    use std::io::{Error, ErrorKind};
    use std::os::fd::AsFd;

    #[test]
    fn both_forms_sync_after_the_write_and_the_ring_survives_a_failure() {
        // If io_uring is blocked there is nothing to test; the refusal is tested below.
        let Ok(mut ring) = Ring::new() else { return };
        // The null device accepts every write and refuses every sync.
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap();
        for _ in 0..3 {
            let linked = ring.write_linked(null.as_fd(), b"abc", 0).unwrap_err();
            let unlinked = ring.write_unlinked(null.as_fd(), b"abc", 0).unwrap_err();
            assert_eq!(
                (linked.kind(), unlinked.kind()),
                (ErrorKind::InvalidInput, ErrorKind::InvalidInput)
            );
        }
        // A failed write, to the full device: the sync linked to it must not be mistaken for the write.
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = ring.write_linked(full.as_fd(), b"abc", 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = std::fs::File::create(&path).unwrap();
        ring.write_linked(file.as_fd(), b"abc", 0).unwrap();
        ring.write_unlinked(file.as_fd(), b"de", 3).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"abcde");
    }

    #[test]
    fn a_write_that_moves_nothing_is_an_error_and_a_partial_one_is_not() {
        assert_eq!(written(Some(512), 4096).unwrap(), 512);
        assert_eq!(written(Some(0), 4096).unwrap_err().kind(), ErrorKind::WriteZero);
        assert_eq!(written(Some(0), 0).unwrap(), 0);
        assert_eq!(written(Some(-libc::ENOSPC), 1).unwrap_err().kind(), ErrorKind::StorageFull);
    }

    #[test]
    fn a_cancelled_sync_is_a_failure() {
        assert_eq!(
            outcome(Some(-libc::ECANCELED)).unwrap_err().raw_os_error(),
            Some(libc::ECANCELED)
        );
    }

    #[test]
    fn refusals_are_distinguished() {
        assert!(refusal(&Error::from_raw_os_error(libc::EPERM)).contains("io_uring_disabled"));
        assert!(refusal(&Error::from_raw_os_error(libc::ENOSYS)).contains("no io_uring"));
        assert!(refusal(&Error::from_raw_os_error(libc::EMFILE)).contains("refuses a ring"));
    }
}
