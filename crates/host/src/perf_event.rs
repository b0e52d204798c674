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

/// A running counter of one task (the kernel's word for a thread) and of all tasks it starts from now on.
#[derive(Debug)]
pub struct PerfEvent {
    file: File,
}

impl PerfEvent {
    /// Counts how often `task` passes a tracepoint, or only the passes that match `filter`. Task 0 is the
    /// calling thread.
    pub fn open(tracepoint: u64, task: i32, filter: Option<&str>) -> Result<Self, Error> {
        let mut attributes = perf_event_attr {
            type_: PERF_TYPE_TRACEPOINT,
            config: tracepoint,
            ..perf_event_attr::default()
        };
        attributes.set_inherit(1);
        // Enabled only after the filter is set; otherwise it would count everything.
        attributes.set_disabled(1);
        let any_cpu = -1;
        let event = PerfEvent::open_as(attributes, task, any_cpu)?;
        if let Some(filter) = filter {
            event.filter(filter)?;
        }
        event.enable()?;
        Ok(event)
    }

    /// Opens an event with the given attributes for a task (-1: all tasks) on a processor (-1: any). The
    /// kernel does not accept -1 for both.
    pub fn open_as(mut attributes: perf_event_attr, task: i32, cpu: i32) -> Result<Self, Error> {
        attributes.size = u32::try_from(size_of::<perf_event_attr>()).map_err(Error::other)?;
        let no_group = -1;
        let flags = PERF_FLAG_FD_CLOEXEC.into();
        // SAFETY: the attributes outlive the call and hold their own size; the kernel keeps no pointer.
        let raw = unsafe { perf_event_open(&raw mut attributes, task, cpu, no_group, flags) };
        if raw < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
        let file = unsafe { File::from_raw_fd(raw) };
        Ok(PerfEvent { file })
    }

    /// Starts counting or sampling, including in inherited children.
    pub fn enable(&self) -> Result<(), Error> {
        // SAFETY: the call takes a number and no pointer.
        let answer = unsafe { ioctls::ENABLE(self.file.as_raw_fd(), 0) };
        if answer < 0 {
            return Err(Error::last_os_error());
        }
        Ok(())
    }

    /// Stops counting or sampling.
    pub fn disable(&self) -> Result<(), Error> {
        // SAFETY: the call takes a number and no pointer.
        let answer = unsafe { ioctls::DISABLE(self.file.as_raw_fd(), 0) };
        if answer < 0 {
            return Err(Error::last_os_error());
        }
        Ok(())
    }

    /// Directs this event's samples into the ring of another event of the same processor.
    pub fn write_with(&self, other: &PerfEvent) -> Result<(), Error> {
        // SAFETY: the call takes two descriptors, both open, and no pointer.
        let answer = unsafe { ioctls::SET_OUTPUT(self.file.as_raw_fd(), other.file.as_raw_fd()) };
        if answer < 0 {
            return Err(Error::last_os_error());
        }
        Ok(())
    }

    /// The event's id, which its samples carry.
    pub fn number(&self) -> Result<u64, Error> {
        let mut number = 0;
        // SAFETY: the number outlives the call, which writes it.
        let answer = unsafe { ioctls::ID(self.file.as_raw_fd(), &raw mut number) };
        if answer < 0 {
            return Err(Error::last_os_error());
        }
        Ok(number)
    }

    /// Restricts the event to passes that match the filter.
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

    /// The count so far, of the task and of all tasks it has started since.
    pub fn read(&self) -> Result<u64, Error> {
        let mut count = [0; 8];
        (&self.file).read_exact(&mut count)?;
        Ok(native(count))
    }
}

/// True for the errors of a thread that ended, or a processor that went offline, after it was listed.
pub fn task_is_gone(error: &Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::SRCH | Errno::NODEV | Errno::NXIO))
}

impl AsFd for PerfEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl PerfEvent {
    /// Runs a BPF program whenever any task passes a tracepoint, until this is dropped.
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
