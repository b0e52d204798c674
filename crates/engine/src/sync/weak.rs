//! loom's atomics, with one access made relaxed, or one fence omitted.
//!
//! This shows that a model would detect an ordering that is too weak: it runs once unchanged, which records
//! every access by its source location, and then once for each location with that access weakened
//! ([`weakened`]). A location is identified by the text of its line, so that a test can name it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::atomic::Ordering;

/// A source location: file, line, column.
pub(crate) type CodeLocation = (&'static str, u32, u32);

thread_local! {
    // loom runs all threads of a model on one thread, so they share these.
    static SEEN: RefCell<BTreeSet<CodeLocation>> = const { RefCell::new(BTreeSet::new()) };
    static WEAKENED: Cell<Option<CodeLocation>> = const { Cell::new(None) };
}

/// The locations of all accesses on this thread inside `body`.
pub(crate) fn locations(body: impl FnOnce()) -> BTreeSet<CodeLocation> {
    SEEN.take();
    body();
    SEEN.take()
}

/// Weakens one location for all code that `body` runs on this thread.
pub(crate) fn weakened<R>(location: CodeLocation, body: impl FnOnce() -> R) -> R {
    WEAKENED.set(Some(location));
    let result = body();
    WEAKENED.set(None);
    result
}

#[track_caller]
fn is_weak_here() -> bool {
    let here = Location::caller();
    let location = (here.file(), here.line(), here.column());
    SEEN.with_borrow_mut(|seen| seen.insert(location));
    WEAKENED.get() == Some(location)
}

#[track_caller]
fn order(requested: Ordering) -> Ordering {
    if is_weak_here() { Ordering::Relaxed } else { requested }
}

/// A fence, unless it is the weakened one.
#[track_caller]
pub(crate) fn fence(requested: Ordering) {
    if !is_weak_here() {
        loom::sync::atomic::fence(requested);
    }
}

macro_rules! atomic {
    ($($name:ident $number:ty),*) => {$(
        #[derive(Debug, Default)]
        pub(crate) struct $name(loom::sync::atomic::$name);

        #[allow(dead_code, reason = "each number has the accesses that some model needs")]
        impl $name {
            #[track_caller]
            pub(crate) fn new(value: $number) -> $name {
                $name(loom::sync::atomic::$name::new(value))
            }

            #[track_caller]
            pub(crate) fn load(&self, requested: Ordering) -> $number {
                self.0.load(order(requested))
            }

            #[track_caller]
            pub(crate) fn store(&self, value: $number, requested: Ordering) {
                self.0.store(value, order(requested));
            }

            #[track_caller]
            pub(crate) fn swap(&self, value: $number, requested: Ordering) -> $number {
                self.0.swap(value, order(requested))
            }

            #[track_caller]
            pub(crate) fn compare_exchange(
                &self,
                current: $number,
                new: $number,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$number, $number> {
                let (success, failure) = if is_weak_here() {
                    (Ordering::Relaxed, Ordering::Relaxed)
                } else {
                    (success, failure)
                };
                self.0.compare_exchange(current, new, success, failure)
            }
        }
    )*};
}

macro_rules! counting {
    ($($name:ident $number:ty),*) => {$(
        #[allow(dead_code, reason = "each number has the accesses that some model needs")]
        impl $name {
            #[track_caller]
            pub(crate) fn fetch_add(&self, value: $number, requested: Ordering) -> $number {
                self.0.fetch_add(value, order(requested))
            }

            #[track_caller]
            pub(crate) fn fetch_sub(&self, value: $number, requested: Ordering) -> $number {
                self.0.fetch_sub(value, order(requested))
            }

            #[track_caller]
            pub(crate) fn fetch_max(&self, value: $number, requested: Ordering) -> $number {
                self.0.fetch_max(value, order(requested))
            }
        }
    )*};
}

atomic!(AtomicBool bool, AtomicU8 u8, AtomicU32 u32, AtomicU64 u64, AtomicI64 i64);
counting!(AtomicU8 u8, AtomicU32 u32, AtomicU64 u64, AtomicI64 i64);
