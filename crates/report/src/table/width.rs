//! How wide views are drawn.
//!
//! 1. Text is broken at a hundred columns, which is right for files, pages and pipes, and earlier in a
//!    narrower terminal.
//! 2. Tables are as wide as they need. Only a terminal, which would break their lines, makes them
//!    narrower: what goes to a file or a pipe loses nothing.

use std::cell::Cell;

/// The width of text.
const WIDEST: usize = 100;

/// No view is drawn narrower: below it, tables would have no columns left.
const NARROWEST: usize = 60;

thread_local! {
    static TERMINAL: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The width of text that is drawn now, in columns.
pub(super) fn width() -> usize {
    room().min(WIDEST)
}

/// The columns that a table may have now.
pub(super) fn room() -> usize {
    TERMINAL.get().map_or(usize::MAX, |columns| columns.max(NARROWEST))
}

/// Draws views for a terminal of so many columns; `None` where there is no terminal.
pub fn at_width<T>(columns: Option<usize>, draw: impl FnOnce() -> T) -> T {
    let before = TERMINAL.replace(columns);
    let drawn = draw();
    TERMINAL.set(before);
    drawn
}

#[cfg(test)]
mod tests {
    use super::{at_width, room, width};

    #[test]
    fn a_width_holds_for_what_is_drawn_within_it() {
        assert_eq!((width(), room()), (100, usize::MAX));
        assert_eq!(at_width(Some(80), || (width(), room())), (80, 80));
        assert_eq!(at_width(Some(200), || (width(), room())), (100, 200));
        assert_eq!(at_width(Some(1), || (width(), room())), (60, 60));
        assert_eq!(at_width(None, width), 100);
        assert_eq!(width(), 100);
    }
}
