//! loom's atomics, of which one access may be made relaxed, or one fence left out.
//!
//! That is how a model shows that it would see an ordering that is too weak: it runs once as the code
//! stands, which notes every access by its place in the source, and then once for each of them with
//! that one weakened ([`weakened`]). A place is found by the text of its line, so that a test can name it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::atomic::Ordering;

/// A place in the source: file, line, column.
pub(crate) type CodeLocation = (&'static str, u32, u32);

thread_local! {
    // loom runs all threads of a model on one: these are shared by them.
    static SEEN: RefCell<BTreeSet<CodeLocation>> = const { RefCell::new(BTreeSet::new()) };
    static WEAKENED: Cell<Option<CodeLocation>> = const { Cell::new(None) };
}

/// The places of all accesses on this thread inside `body`.
pub(crate) fn places(body: impl FnOnce()) -> BTreeSet<CodeLocation> {
    SEEN.take();
    body();
    SEEN.take()
}

/// Weakens one place for whatever runs on this thread inside `body`.
pub(crate) fn weakened<R>(place: CodeLocation, body: impl FnOnce() -> R) -> R {
    WEAKENED.set(Some(place));
    let result = body();
    WEAKENED.set(None);
    result
}

#[track_caller]
fn is_weak_here() -> bool {
    let here = Location::caller();
    let place = (here.file(), here.line(), here.column());
    SEEN.with_borrow_mut(|seen| seen.insert(place));
    WEAKENED.get() == Some(place)
}

#[track_caller]
fn order(asked: Ordering) -> Ordering {
    if is_weak_here() { Ordering::Relaxed } else { asked }
}

/// A fence, unless it is the weakened one.
#[track_caller]
pub(crate) fn fence(asked: Ordering) {
    if !is_weak_here() {
        loom::sync::atomic::fence(asked);
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
            pub(crate) fn load(&self, asked: Ordering) -> $number {
                self.0.load(order(asked))
            }

            #[track_caller]
            pub(crate) fn store(&self, value: $number, asked: Ordering) {
                self.0.store(value, order(asked));
            }

            #[track_caller]
            pub(crate) fn swap(&self, value: $number, asked: Ordering) -> $number {
                self.0.swap(value, order(asked))
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
            pub(crate) fn fetch_add(&self, value: $number, asked: Ordering) -> $number {
                self.0.fetch_add(value, order(asked))
            }

            #[track_caller]
            pub(crate) fn fetch_sub(&self, value: $number, asked: Ordering) -> $number {
                self.0.fetch_sub(value, order(asked))
            }

            #[track_caller]
            pub(crate) fn fetch_max(&self, value: $number, asked: Ordering) -> $number {
                self.0.fetch_max(value, order(asked))
            }
        }
    )*};
}

atomic!(AtomicBool bool, AtomicU8 u8, AtomicU32 u32, AtomicU64 u64, AtomicI64 i64);
counting!(AtomicU8 u8, AtomicU32 u32, AtomicU64 u64, AtomicI64 i64);
