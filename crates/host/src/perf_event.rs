//! One perf event of the kernel: a counter of how often a task and its future children pass a tracepoint,
//! or a source of samples.

#![allow(unsafe_code, reason = "opening and filtering a perf event have no safe interface")]

use perf_event_open_sys::bindings::{PERF_FLAG_FD_CLOEXEC, PERF_TYPE_TRACEPOINT, perf_event_attr};
use perf_event_open_sys::{ioctls, perf_event_open};
use rustix::io::Errno;
use std::ffi::CString;
use std::fs::File;
use std::io::{Error, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};

/// A running counter of one task (a thread, by the kernel's word) and of what it starts from now on.
#[derive(Debug)]
pub struct PerfEvent {
    file: File,
}

impl PerfEvent {
    /// Counts the passes of `task` through a tracepoint, of those that match the filter if there is
    /// one. A task number of 0 is the calling thread.
    pub fn open(tracepoint: u64, task: i32, filter: Option<&str>) -> Result<Self, Error> {
        let mut attributes = perf_event_attr {
            type_: PERF_TYPE_TRACEPOINT,
            config: tracepoint,
            ..perf_event_attr::default()
        };
        attributes.set_inherit(1);
        // Not before the filter is set: until then everything would be counted.
        attributes.set_disabled(1);
        let any_cpu = -1;
        let event = PerfEvent::open_as(attributes, task, any_cpu)?;
        if let Some(filter) = filter {
            event.filter(filter)?;
        }
        event.enable()?;
        Ok(event)
    }

    /// Opens an event as its attributes say, of a task, or of all for -1, on a processor, or on any for
    /// -1; not of all on any.
    pub fn open_as(mut attributes: perf_event_attr, task: i32, cpu: i32) -> Result<Self, Error> {
        attributes.size = u32::try_from(size_of::<perf_event_attr>()).map_err(Error::other)?;
        let no_group = -1;
        let flags = PERF_FLAG_FD_CLOEXEC.into();
        // SAFETY: the attributes outlive the call and say their own size; the kernel keeps no pointer.
        let raw = unsafe { perf_event_open(&raw mut attributes, task, cpu, no_group, flags) };
        if raw < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the kernel has just given this descriptor to us and nobody else knows it.
        let file = unsafe { File::from_raw_fd(raw) };
        Ok(PerfEvent { file })
    }

    /// Begins to count or to sample, also in children that were counted before.
    pub fn enable(&self) -> Result<(), Error> {
        // SAFETY: the call takes a number and no pointer.
        let answer = unsafe { ioctls::ENABLE(self.file.as_raw_fd(), 0) };
        if answer < 0 {
            return Err(Error::last_os_error());
        }
        Ok(())
    }

    /// Ends it.
    pub fn disable(&self) -> Result<(), Error> {
        // SAFETY: the call takes a number and no pointer.
        let answer = unsafe { ioctls::DISABLE(self.file.as_raw_fd(), 0) };
        if answer < 0 {
            return Err(Error::last_os_error());
        }
        Ok(())
    }

    /// Writes its samples where another event of the same processor writes its own.
    pub fn write_with(&self, other: &PerfEvent) -> Result<(), Error> {
        // SAFETY: the call takes two descriptors, both open, and no pointer.
        let answer = unsafe { ioctls::SET_OUTPUT(self.file.as_raw_fd(), other.file.as_raw_fd()) };
        if answer < 0 {
            return Err(Error::last_os_error());
        }
        Ok(())
    }

    /// The number by which its samples say whose they are.
    pub fn number(&self) -> Result<u64, Error> {
        let mut number = 0;
        // SAFETY: the number outlives the call, which writes it.
        let answer = unsafe { ioctls::ID(self.file.as_raw_fd(), &raw mut number) };
        if answer < 0 {
            return Err(Error::last_os_error());
        }
        Ok(number)
    }

    /// Lets only those through that match.
    pub fn filter(&self, filter: &str) -> Result<(), Error> {
        let mut text = CString::new(filter)?.into_bytes_with_nul();
        let raw = self.file.as_raw_fd();
        // SAFETY: the text ends with a zero and outlives the call, which only reads it.
        let answer = unsafe { ioctls::SET_FILTER(raw, text.as_mut_ptr().cast()) };
        if answer < 0 {
            return Err(Error::last_os_error());
        }
        Ok(())
    }

    /// The count so far, of the task and of everything that it has started since.
    pub fn read(&self) -> Result<u64, Error> {
        let mut count = [0; 8];
        (&self.file).read_exact(&mut count)?;
        Ok(native(count))
    }
}

/// A thread may end between being found and being asked for; a processor may be switched off.
pub fn task_is_gone(error: &Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::SRCH | Errno::NODEV | Errno::NXIO))
}

impl AsFd for PerfEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl PerfEvent {
    /// Runs a BPF program at every pass of any task through a tracepoint, until this is dropped.
    pub fn run(tracepoint: u64, program: BorrowedFd<'_>) -> Result<Self, Error> {
        let mut attributes = perf_event_attr {
            type_: PERF_TYPE_TRACEPOINT,
            config: tracepoint,
            ..perf_event_attr::default()
        };
        attributes.set_disabled(1);
        // The event counts on the first processor; a program of a tracepoint runs on all of them.
        let (any_task, first_cpu) = (-1, 0);
        let event = PerfEvent::open_as(attributes, any_task, first_cpu)?;
        let program = u32::try_from(program.as_raw_fd()).map_err(Error::other)?;
        // SAFETY: the call takes a number and no pointer; the kernel holds the program by itself.
        let answer = unsafe { ioctls::SET_BPF(event.file.as_raw_fd(), program) };
        if answer < 0 {
            return Err(Error::last_os_error());
        }
        event.enable()?;
        Ok(event)
    }
}

#[allow(
    clippy::host_endian_bytes,
    reason = "the kernel writes counts in the machine's own byte order"
)]
fn native(bytes: [u8; 8]) -> u64 {
    u64::from_ne_bytes(bytes)
}
