//! A ring buffer into which the kernel writes the samples of one processor, and from which we copy them.
//!
//! The first page holds two positions that only grow: the kernel advances the *head* after it has written a
//! record, and we advance the *tail* after we have copied it. A position modulo the ring's size is an offset
//! into the pages that follow. The kernel never writes between tail and head; it drops a record that does not
//! fit and reports the loss in a later record.

#![allow(unsafe_code, reason = "memory that is shared with the kernel has no safe interface")]

use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// The smallest ring that is worth mapping.
const FEWEST_PAGES: usize = 8;

/// A mapped ring.
#[derive(Debug)]
pub struct PerfRingBuffer {
    base: NonNull<u8>,
    page_bytes: usize,
    /// A power of two.
    data_bytes: usize,
}

// SAFETY: this value alone owns the mapping, which is valid on any thread.
unsafe impl Send for PerfRingBuffer {}

impl PerfRingBuffer {
    /// Maps the ring of an event with `pages` pages, a power of two, or with fewer if the user may not lock
    /// as much memory.
    pub fn map_at_most(event: impl AsFd, mut pages: usize) -> io::Result<PerfRingBuffer> {
        loop {
            match PerfRingBuffer::map(&event, pages) {
                Err(error) if pages > FEWEST_PAGES && is_too_much(&error) => pages /= 2,
                mapped => return mapped,
            }
        }
    }

    /// Maps the ring of an event with `pages` pages of samples, a power of two.
    fn map(event: impl AsFd, pages: usize) -> io::Result<PerfRingBuffer> {
        assert!(pages.is_power_of_two(), "a ring has a power of two pages, not {pages}");
        let page_bytes = rustix::param::page_size();
        let data_bytes = pages * page_bytes;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let bytes = page_bytes + data_bytes;
        // SAFETY: no address is requested, so no existing mapping is replaced.
        let base = unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, event, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(PerfRingBuffer { base, page_bytes, data_bytes })
    }

    /// Appends everything written since the last call: whole records, one after the other.
    pub fn drain(&mut self, into: &mut Vec<u8>) {
        let head = self.head().load(Ordering::Acquire);
        let tail = self.tail().load(Ordering::Relaxed);
        // The difference cannot exceed the ring; if it did, the bytes below would still be inside the
        // mapping.
        let bytes = (head.wrapping_sub(tail) as usize).min(self.data_bytes);
        let begin = tail as usize & (self.data_bytes - 1);
        let first = bytes.min(self.data_bytes - begin);
        into.extend_from_slice(self.data(begin, first));
        into.extend_from_slice(self.data(0, bytes - first));
        self.tail().store(head, Ordering::Release);
    }

    /// The bytes at an offset of the ring. They lie between tail and head, so the kernel does not write them.
    fn data(&self, begin: usize, bytes: usize) -> &[u8] {
        assert!(begin + bytes <= self.data_bytes, "{bytes} bytes at {begin} are inside the ring");
        // SAFETY: the mapping holds one page and the ring's bytes, and the assertion keeps the range inside.
        let place = unsafe { self.base.add(self.page_bytes + begin) };
        // SAFETY: the bytes stay mapped while the ring is borrowed, and the kernel does not write between
        // tail and head.
        unsafe { std::slice::from_raw_parts(place.as_ptr(), bytes) }
    }

    fn head(&self) -> &AtomicU64 {
        self.position(std::mem::offset_of!(perf_event_mmap_page, data_head))
    }

    fn tail(&self) -> &AtomicU64 {
        self.position(std::mem::offset_of!(perf_event_mmap_page, data_tail))
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offset is that of a field of the first page, which is mapped.
        let place = unsafe { self.base.add(offset) };
        // SAFETY: the field is eight aligned bytes, and both sides read and write it as a whole.
        unsafe { AtomicU64::from_ptr(place.as_ptr().cast()) }
    }
}

fn is_too_much(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::PERM | Errno::NOMEM | Errno::AGAIN))
}

impl Drop for PerfRingBuffer {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this base and length, and nothing borrows it any longer.
        let unmapped =
            unsafe { munmap(self.base.as_ptr().cast(), self.page_bytes + self.data_bytes) };
        unmapped.expect("the ring's own mapping can be unmapped");
    }
}
