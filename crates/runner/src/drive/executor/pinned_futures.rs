//! Futures of one unnameable type, contiguous in memory.

#![allow(unsafe_code, reason = "a pinned slice has no safe way to its pinned elements")]

use super::prefetch::prefetch_value;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Futures that never move; finished ones are dropped at once.
pub(super) struct PinnedFutures<F> {
    futures: Pin<Box<[Option<F>]>>,
}

impl<F: Future<Output = ()>> PinnedFutures<F> {
    pub(super) fn new(futures: impl IntoIterator<Item = F>) -> PinnedFutures<F> {
        let futures: Box<[Option<F>]> = futures.into_iter().map(Some).collect();
        PinnedFutures { futures: Box::into_pin(futures) }
    }

    pub(super) fn len(&self) -> usize {
        self.futures.len()
    }

    /// Polls future `index`; true if that finished it. A finished one is not polled again.
    pub(super) fn poll(&mut self, index: usize, context: &mut Context<'_>) -> bool {
        let mut element = self.element(index);
        let Some(future) = element.as_mut().as_pin_mut() else {
            return false;
        };
        if future.poll(context) == Poll::Pending {
            return false;
        }
        element.set(None);
        true
    }

    /// Prefetches a future that is polled soon.
    #[inline]
    pub(super) fn prefetch(&self, index: usize) {
        prefetch_value(&self.futures[index]);
    }

    fn element(&mut self, index: usize) -> Pin<&mut Option<F>> {
        let all = self.futures.as_mut();
        // SAFETY: the element is part of the pinned slice: it is never moved out (only `Pin::set`
        // writes to it) and the box is never resized, so it stays where it is until it is dropped.
        unsafe { all.map_unchecked_mut(|all| &mut all[index]) }
    }
}
