//! The width of views.
//!
//! 1. Text is wrapped at a hundred columns in files, pages and pipes, and earlier in a narrower terminal.
//! 2. Tables are as wide as they need to be. Only a terminal, which would break their lines, makes them
//!    narrower: a file or a pipe receives every column.

use std::cell::Cell;

/// The width of text.
const WIDEST: usize = 100;

/// No view is drawn narrower: below it, tables would have no columns left.
const NARROWEST: usize = 60;

thread_local! {
    static TERMINAL: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The current width of text, in columns.
pub(super) fn width() -> usize {
    width_limit().min(WIDEST)
}

/// The current limit for the width of a table, in columns.
pub(super) fn width_limit() -> usize {
    TERMINAL.get().map_or(usize::MAX, |columns| columns.max(NARROWEST))
}

/// Calls `draw` with the width of a terminal of that many columns; `None` means that there is no terminal.
pub fn at_width<T>(columns: Option<usize>, draw: impl FnOnce() -> T) -> T {
    let before = TERMINAL.replace(columns);
    let drawn = draw();
    TERMINAL.set(before);
    drawn
}

#[cfg(test)]
mod tests {
    use super::{at_width, width, width_limit};

    #[test]
    fn a_width_holds_only_within_its_call() {
        assert_eq!((width(), width_limit()), (100, usize::MAX));
        assert_eq!(at_width(Some(80), || (width(), width_limit())), (80, 80));
        assert_eq!(at_width(Some(200), || (width(), width_limit())), (100, 200));
        assert_eq!(at_width(Some(1), || (width(), width_limit())), (60, 60));
        assert_eq!(at_width(None, width), 100);
        assert_eq!(width(), 100);
    }
}
