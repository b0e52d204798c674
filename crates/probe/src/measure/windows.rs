//! Rates of consecutive windows, and the test whether they are steady.
//!
//! A window's rate is its count divided by its actual duration, so a late wake-up makes a window longer but
//! does not distort its rate. Pauses (while a file is renewed) are not added.

use syncline_instrument::Nanos;

/// The number of windows that must agree.
const STEADY_WINDOWS: usize = 5;

/// The largest difference between them, as a share of the largest.
const STEADY_SPREAD: f64 = 0.05;

/// The windows of a running cell.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    window_ns: Nanos,
    open_count: u64,
    open_ns: Nanos,
    rates: Vec<f64>,
}

impl Windows {
    /// No windows yet.
    pub(crate) fn new(window_ns: Nanos) -> Windows {
        assert!(window_ns > 0, "a window of no length has no rate");
        Windows { window_ns, open_count: 0, open_ns: 0, rates: Vec::new() }
    }

    /// Adds the completions in the time since the last addition. A window closes within 5 % of its length,
    /// because timers are inexact.
    pub(crate) fn add(&mut self, count: u64, elapsed_ns: Nanos) {
        self.open_count += count;
        self.open_ns += elapsed_ns;
        if self.open_ns + self.window_ns / 20 >= self.window_ns {
            self.rates.push(self.open_count as f64 / self.open_ns as f64 * 1e9);
            self.open_count = 0;
            self.open_ns = 0;
        }
    }

    /// The time until the open window closes.
    pub(crate) fn remaining_ns(&self) -> Nanos {
        self.window_ns.saturating_sub(self.open_ns)
    }

    /// True if the last five windows lie within 5 %.
    pub(crate) fn steady(&self) -> bool {
        steady(&self.rates)
    }

    /// The rates of the closed windows, in order; without the open window.
    pub(crate) fn into_rates(self) -> Vec<f64> {
        self.rates
    }
}

fn steady(rates: &[f64]) -> bool {
    let Some(last) = rates.len().checked_sub(STEADY_WINDOWS).map(|start| &rates[start..]) else {
        return false;
    };
    let largest = last.iter().copied().fold(0.0, f64::max);
    let smallest = last.iter().copied().fold(f64::INFINITY, f64::min);
    largest > 0.0 && largest - smallest <= STEADY_SPREAD * largest
}

#[cfg(test)]
mod tests {
    use super::{Windows, steady};

    #[test]
    fn windows_span_pauses_and_late_wake_ups() {
        let mut windows = Windows::new(100);
        windows.add(30, 60);
        assert_eq!(windows.remaining_ns(), 40);
        windows.add(30, 60);
        windows.add(50, 100);
        windows.add(7, 20);
        assert_eq!(windows.into_rates(), [0.5e9, 0.5e9]);
    }

    #[test]
    fn five_windows_within_five_percent_are_steady() {
        assert!(steady(&[1.0, 100.0, 96.0, 98.0, 95.0, 100.0]));
        assert!(!steady(&[100.0, 94.9, 98.0, 95.0, 100.0]));
        assert!(!steady(&[100.0; 4]));
        assert!(!steady(&[0.0; 5]));
    }
}
