//! The rule that compares a store's rate with the sync line.
//!
//! A client with one outstanding commit cannot commit durably faster than one sync at a time. If every 1 s
//! window for 5 s is above 1.2 times the best 1 s window of `line_1` measured before and after, the store was
//! faster than any sync that the probe reached here. The rule does not apply to several clients: the kernel
//! merges their syncs, and a store may group their commits.

/// The factor above the line that a window must exceed.
const MARGIN: f64 = 1.2;

/// The number of consecutive 1 s windows that must exceed it.
const WINDOWS: usize = 5;

/// A rate above that of one sync at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FasterThanLine {
    /// The slowest of the windows above the line, commits a second.
    pub slowest_window_per_s: f64,
    /// The best window of `line_1`, before or after, syncs a second.
    pub best_line_window_per_s: f64,
}

/// Applies the rule to one client's consecutive 1 s windows.
///
/// `outstanding` is the number of commits that the client may have in flight; the rule applies to one only.
/// `before` and `after` are the 1 s windows of `line_1`; without either there is no line and the result is
/// `None`. Windows that are not finite count as not above.
pub fn faster_than_line(
    outstanding: usize,
    windows_1s: &[f64],
    before: &[f64],
    after: &[f64],
) -> Option<FasterThanLine> {
    if outstanding != 1 || before.is_empty() || after.is_empty() {
        return None;
    }
    let best =
        before.iter().chain(after).copied().filter(|rate| rate.is_finite()).reduce(f64::max)?;
    let above = |rate: &f64| rate.is_finite() && *rate > MARGIN * best;
    let run = windows_1s.windows(WINDOWS).find(|run| run.iter().all(above))?;
    let slowest = run.iter().copied().reduce(f64::min)?;
    Some(FasterThanLine { slowest_window_per_s: slowest, best_line_window_per_s: best })
}

#[cfg(test)]
mod tests {
    use super::{FasterThanLine, faster_than_line};

    const LINE: [f64; 3] = [9_800.0, 10_000.0, 9_900.0];

    #[test]
    fn five_windows_above_the_line_are_flagged() {
        let flagged =
            faster_than_line(1, &[12_100.0, 30_000.0, 31_000.0, 29_000.0, 28_000.0], &LINE, &LINE);
        let expected =
            FasterThanLine { slowest_window_per_s: 12_100.0, best_line_window_per_s: 10_000.0 };
        assert_eq!(flagged, Some(expected));
    }

    #[test]
    fn one_window_at_the_margin_or_four_above_are_not() {
        let mut windows = [30_000.0; 9];
        windows[4] = 12_000.0;
        assert_eq!(faster_than_line(1, &windows, &LINE, &LINE), None);
        assert_eq!(faster_than_line(1, &[30_000.0; 4], &LINE, &LINE), None);
    }

    #[test]
    fn the_faster_of_before_and_after_counts() {
        assert_eq!(faster_than_line(1, &[13_000.0; 5], &LINE, &[11_000.0]), None);
        assert!(faster_than_line(1, &[13_000.0; 5], &LINE, &LINE).is_some());
    }

    /// Sixteen writers with separate syncs reach several times `line_1` together, because the kernel merges
    /// their flushes; together they have sixteen outstanding, and each alone is slow.
    #[test]
    fn sixteen_independent_honest_writers_are_not_flagged() {
        let together = [56_000.0; 10];
        assert_eq!(faster_than_line(16, &together, &LINE, &LINE), None);
        let each = together.map(|rate| rate / 16.0);
        assert_eq!(faster_than_line(1, &each, &LINE, &LINE), None);
    }

    #[test]
    fn without_a_line_there_is_no_answer() {
        assert_eq!(faster_than_line(1, &[1e6; 10], &[], &LINE), None);
        assert_eq!(faster_than_line(1, &[1e6; 10], &LINE, &[]), None);
        assert_eq!(faster_than_line(1, &[f64::INFINITY; 10], &LINE, &LINE), None);
    }
}
