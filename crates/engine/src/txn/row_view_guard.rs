//! Whether the calling thread shows a row where it lies.
//!
//! The row's leaf is latched meanwhile. Another call of the engine by the closure that is shown the row could
//! wait for that latch, which only its own return gives back: so every such call is refused.

use crate::error::{Error, Result};
use std::cell::Cell;

thread_local! {
    static SHOWN: Cell<bool> = const { Cell::new(false) };
}

/// A row is shown until this is dropped.
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

/// Fails inside a closure that is shown a row.
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
