//! A random chain through memory: the duration of a load whose address comes from the one before.

#![allow(unsafe_code, reason = "the system is advised to back memory with large pages")]

use std::hint::black_box;

const LINE_BYTES: u64 = 64;

/// The kind of system pages that back the memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    /// As the allocator supplies it.
    Usual,
    /// Large ones, if the system has them.
    Large,
}

/// All cache lines of a piece of memory, each naming the next one.
pub(crate) struct PointerChase(Vec<[u64; (LINE_BYTES / 8) as usize]>);

impl PointerChase {
    /// Through this many bytes.
    pub(crate) fn new(bytes: u64, pages: Pages) -> PointerChase {
        let lines = bytes.div_ceil(LINE_BYTES).max(2);
        let mut random = fastrand::Rng::with_seed(lines);
        // Sattolo's shuffle: one cycle through all of them.
        let mut next: Vec<u64> = (0..lines).collect();
        for at in (1..next.len()).rev() {
            next.swap(at, random.usize(..at));
        }
        let mut chain = Vec::with_capacity(next.len());
        if pages == Pages::Large {
            advise_large_pages(&mut chain);
        }
        chain.extend(next.into_iter().map(|next| [next; 8]));
        PointerChase(chain)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.len() as u64 * LINE_BYTES
    }

    #[inline]
    pub(crate) fn next(&self, at: u64) -> u64 {
        black_box(self.0[at as usize][0])
    }
}

/// For memory that a list has allocated but not touched yet.
#[cfg(target_os = "linux")]
fn advise_large_pages<T>(list: &mut Vec<T>) {
    const LARGE_BYTES: usize = 2 << 20;
    let room = list.spare_capacity_mut();
    let (start, bytes) = (room.as_mut_ptr().cast::<u8>(), size_of_val(room));
    let before = start.addr().next_multiple_of(LARGE_BYTES) - start.addr();
    let bytes = bytes.saturating_sub(before) / LARGE_BYTES * LARGE_BYTES;
    if bytes > 0 {
        let advice = rustix::mm::Advice::LinuxHugepage;
        let start = start.wrapping_add(before).cast();
        // A system without large pages refuses: then both kinds take the same time.
        // SAFETY: the pages are within the list's own memory, and the advice changes only the time that
        // accesses take.
        let _refused = unsafe { rustix::mm::madvise(start, bytes, advice) }.is_err();
    }
}

/// Other systems have no such advice.
#[cfg(not(target_os = "linux"))]
fn advise_large_pages<T>(_list: &mut Vec<T>) {}
