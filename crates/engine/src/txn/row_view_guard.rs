//! Marks that the calling thread is showing a row in place to a closure.
//!
//! The row's leaf is latched meanwhile. Another call of the engine by that closure could wait for that latch,
//! which is released only when the closure returns: so every such call is refused.

use crate::error::{Error, Result};
use std::cell::Cell;

thread_local! {
    static SHOWN: Cell<bool> = const { Cell::new(false) };
}

/// A row is being shown until this is dropped.
pub(super) struct ViewGuard(());

impl ViewGuard {
    #[inline]
    pub(super) fn begin() -> ViewGuard {
        SHOWN.set(true);
        ViewGuard(())
    }
}

impl Drop for ViewGuard {
    #[inline]
    fn drop(&mut self) {
        SHOWN.set(false);
    }
}

/// Fails inside a closure that is reading a row in place.
///
/// # Errors
///
/// [`Error::InShownRow`].
#[inline]
pub(crate) fn check_not_in_row_view() -> Result<()> {
    if SHOWN.get() {
        return Err(Error::InShownRow);
    }
    Ok(())
}
