//! A ring of memory into which the kernel writes samples of one processor and from which we take them.
//!
//! The first page holds two positions that only grow: the *head*, which the kernel moves on after it
//! has written a record, and the *tail*, which we move on when we have copied it. A position modulo the
//! bytes of the ring is a place in the pages that follow. The kernel never writes between tail and head;
//! what does not fit it drops, and says so in a later record.

#![allow(unsafe_code, reason = "memory that is shared with the kernel has no safe interface")]

use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// A smaller ring is not worth having.
const FEWEST_PAGES: usize = 8;

/// A mapped ring.
#[derive(Debug)]
pub struct PerfRingBuffer {
    base: NonNull<u8>,
    page_bytes: usize,
    /// A power of two.
    data_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and is as good on one thread as on another.
unsafe impl Send for PerfRingBuffer {}

impl PerfRingBuffer {
    /// Maps the ring of an event with that many pages, a power of two, or with fewer where a user may not
    /// lock as much.
    pub fn map_at_most(event: impl AsFd, mut pages: usize) -> io::Result<PerfRingBuffer> {
        loop {
            match PerfRingBuffer::map(&event, pages) {
                Err(error) if pages > FEWEST_PAGES && is_too_much(&error) => pages /= 2,
                mapped => return mapped,
            }
        }
    }

    /// Maps the ring of an event: `pages` pages of samples, a power of two.
    fn map(event: impl AsFd, pages: usize) -> io::Result<PerfRingBuffer> {
        assert!(pages.is_power_of_two(), "the kernel takes no other");
        let page_bytes = rustix::param::page_size();
        let data_bytes = pages * page_bytes;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let bytes = page_bytes + data_bytes;
        // SAFETY: no address is asked for, so that no mapping is replaced.
        let base = unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, event, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(PerfRingBuffer { base, page_bytes, data_bytes })
    }

    /// Appends all that was written since the last time: whole records, one behind the other.
    pub fn drain(&mut self, into: &mut Vec<u8>) {
        let head = self.head().load(Ordering::Acquire);
        let tail = self.tail().load(Ordering::Relaxed);
        // More than the ring holds cannot be; were it so, it would be read from where it is whole.
        let bytes = (head.wrapping_sub(tail) as usize).min(self.data_bytes);
        let begin = tail as usize & (self.data_bytes - 1);
        let first = bytes.min(self.data_bytes - begin);
        into.extend_from_slice(self.data(begin, first));
        into.extend_from_slice(self.data(0, bytes - first));
        self.tail().store(head, Ordering::Release);
    }

    /// A piece of the ring that the kernel does not write to: it lies between tail and head.
    fn data(&self, begin: usize, bytes: usize) -> &[u8] {
        assert!(begin + bytes <= self.data_bytes, "inside the ring");
        // SAFETY: the mapping holds a page and the ring's bytes, and the place is inside by the assertion.
        let place = unsafe { self.base.add(self.page_bytes + begin) };
        // SAFETY: the bytes are mapped and stay so as long as the ring is borrowed; the kernel does not
        // write between tail and head.
        unsafe { std::slice::from_raw_parts(place.as_ptr(), bytes) }
    }

    fn head(&self) -> &AtomicU64 {
        self.position(std::mem::offset_of!(perf_event_mmap_page, data_head))
    }

    fn tail(&self) -> &AtomicU64 {
        self.position(std::mem::offset_of!(perf_event_mmap_page, data_tail))
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offset is one of a field of the first page, which is mapped.
        let place = unsafe { self.base.add(offset) };
        // SAFETY: the field is eight bytes, aligned, and is only read and written as a whole by both sides.
        unsafe { AtomicU64::from_ptr(place.as_ptr().cast()) }
    }
}

fn is_too_much(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::PERM | Errno::NOMEM | Errno::AGAIN))
}

impl Drop for PerfRingBuffer {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this base and length, and nothing borrows it any more.
        let unmapped =
            unsafe { munmap(self.base.as_ptr().cast(), self.page_bytes + self.data_bytes) };
        unmapped.expect("what was mapped can be unmapped");
    }
}
