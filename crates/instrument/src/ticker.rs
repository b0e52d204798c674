//! The one clock for who reads it after every few hundred instructions: a ticker of one thread, which counts
//! the processor's ticks and is set by the clock again and again.
//!
//! A reading of the clock itself waits for every instruction before it and is waited for by every one behind
//! it, so that the processor cannot begin a short piece of work beside the end of the last. The counter alone
//! is read in half the time and holds up nobody (decision 0042).
//!
//! 1. A ticker is set by the clock once in a [`WINDOW_NS`]; in between ticks are taken to be as long as they
//!    were over the last [`RATE_NS`] or more.
//! 2. Readings of one ticker never go back.
//! 3. Ticks count only where the kernel itself takes the time from them, and where they are as long as before
//!    to a thousandth. Everywhere else a ticker is the clock.
//!
//! It is unset while it knows no length of a tick, and set from then on; a counter that jumps, or ticks
//! otherwise than before, makes it unset again.

#![allow(unsafe_code, reason = "the processor's counter is read by an intrinsic")]

use crate::clock::{self, Nanos};
use std::cell::Cell;
use std::fs;
use std::sync::OnceLock;

/// How long a calibration holds.
const WINDOW_NS: Nanos = 1_000_000;
/// The least time over which the length of a tick is taken.
const RATE_NS: Nanos = 10_000_000;
/// Clock and counter are read together that often, and the closest readings taken.
const READ_PAIR_TRIES: usize = 3;
/// They were not read at once if more ticks than these lie between: somebody else had the processor.
const READ_PAIR_TICKS_MAX: u64 = 2_000;
/// Lengths of a tick are in this part of a nanosecond.
const TICK_LENGTH_SHIFT: u32 = 32;

/// Where the kernel says from what it takes the time.
const CLOCKSOURCE_FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// What a thread reads the clock by.
#[derive(Debug)]
pub struct Ticker {
    counts: bool,
    calibration: Cell<Calibration>,
    /// The last reading.
    last: Cell<Nanos>,
}

impl Ticker {
    /// One that counts ticks where they can be trusted.
    pub fn new() -> Ticker {
        Ticker { counts: kernel_uses_tsc(), ..Ticker::exact() }
    }

    /// One that is the clock: for times that are compared with those of other threads to the last digit.
    pub fn exact() -> Ticker {
        Ticker { counts: false, calibration: Cell::default(), last: Cell::default() }
    }

    /// Now, in nanoseconds since the machine's boot.
    #[inline]
    pub fn now(&self) -> Nanos {
        let counted = if self.counts { self.counted() } else { None };
        let now = counted.unwrap_or_else(|| self.clock());
        let now = now.max(self.last.get());
        self.last.set(now);
        now
    }

    #[inline]
    fn counted(&self) -> Option<Nanos> {
        self.calibration.get().at(ticks())
    }

    /// Now by the clock, by which a ticker that counts is set.
    #[cold]
    fn clock(&self) -> Nanos {
        if !self.counts {
            return clock::now();
        }
        let closest =
            (0..READ_PAIR_TRIES).map(|_| read_both()).min_by_key(|(between, ..)| *between);
        if let Some((between, ticks, ns)) = closest
            && between <= READ_PAIR_TICKS_MAX
        {
            let mut calibration = self.calibration.get();
            calibration.set(ticks, ns);
            self.calibration.set(calibration);
        }
        clock::now()
    }
}

impl Default for Ticker {
    fn default() -> Ticker {
        Ticker::new()
    }
}

/// What a ticker was last set to.
#[derive(Clone, Copy, Debug, Default)]
struct Calibration {
    /// A moment, by counter and by clock.
    ticks: u64,
    ns: Nanos,
    /// For so many ticks behind it the calibration holds.
    window: u64,
    /// The length of a tick in units; zero if it is not known.
    length: u64,
    /// The moment from which the next length is taken.
    since_ticks: u64,
    since_ns: Nanos,
}

impl Calibration {
    /// The time when the counter shows `ticks`; none if the calibration does not hold then.
    #[inline]
    fn at(&self, ticks: u64) -> Option<Nanos> {
        let behind = ticks.wrapping_sub(self.ticks);
        (behind < self.window).then(|| self.ns + ((behind * self.length) >> TICK_LENGTH_SHIFT))
    }

    fn set(&mut self, ticks: u64, ns: Nanos) {
        (self.ticks, self.ns) = (ticks, ns);
        let span_ns = ns.saturating_sub(self.since_ns);
        if self.since_ns == 0 {
            self.restart();
        } else if span_ns >= RATE_NS {
            let length = length(ticks.wrapping_sub(self.since_ticks), span_ns);
            let is_as_before =
                self.length == 0 || self.length.abs_diff(length) <= self.length / 1_000;
            self.restart();
            self.length = if is_as_before { length } else { 0 };
        }
        let window = (WINDOW_NS << TICK_LENGTH_SHIFT).checked_div(self.length);
        self.window = window.unwrap_or(0);
    }

    /// The next length is taken from here.
    fn restart(&mut self) {
        (self.since_ticks, self.since_ns) = (self.ticks, self.ns);
    }
}

/// The length of a tick in units; zero if no processor ticks so slowly or fast.
fn length(ticks: u64, span_ns: Nanos) -> u64 {
    let units = u128::from(span_ns) << TICK_LENGTH_SHIFT;
    let length = units.checked_div(u128::from(ticks)).unwrap_or(0);
    let (least, most) = (1 << (TICK_LENGTH_SHIFT - 4), 1 << (TICK_LENGTH_SHIFT + 4));
    if (least..most).contains(&length) { length as u64 } else { 0 }
}

/// True if the kernel takes the time from the processor's counter, and watches that it ticks evenly and alike
/// on all processors.
fn kernel_uses_tsc() -> bool {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    let is_tsc = || fs::read_to_string(CLOCKSOURCE_FILE).is_ok_and(|source| source.trim() == "tsc");
    cfg!(target_arch = "x86_64") && *COUNTS.get_or_init(is_tsc)
}

/// The counter and the clock at one moment, behind how many ticks lie between the two.
fn read_both() -> (u64, u64, Nanos) {
    let before = ticks();
    let ns = clock::now();
    let between = ticks().wrapping_sub(before);
    (between, before.wrapping_add(between / 2), ns)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every processor of this kind has the counter, and the kernel, which takes the time from it in
    // every program, lets programs read it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::{Calibration, RATE_NS, Ticker, WINDOW_NS};
    use crate::clock::{self, Nanos};

    /// How far a reading may be from the clock's: a window of ticks of which each is a thousandth longer than
    /// they were.
    const OFF_NS: Nanos = WINDOW_NS / 1_000;

    #[test]
    fn readings_lie_between_the_clocks_and_never_go_back() {
        for ticker in [Ticker::new(), Ticker::exact()] {
            let (began, mut last) = (clock::now(), 0);
            while last < began + 5 * RATE_NS {
                let before = clock::now();
                let now = ticker.now();
                let after = clock::now();
                assert!(now >= last, "{now} behind {last}");
                let lies_between = (before - OFF_NS..=after + OFF_NS).contains(&now);
                assert!(lies_between, "{before} {now} {after}");
                last = now;
            }
        }
    }

    /// A calibration by a counter of three ticks a nanosecond, and the moment of its last set.
    fn set() -> (Calibration, u64, Nanos) {
        let (mut calibration, mut ticks, mut ns) =
            (Calibration::default(), u64::MAX - 1_000_000, 5_000_000);
        for _ in 0..3 {
            calibration.set(ticks, ns);
            ns += RATE_NS;
            ticks = ticks.wrapping_add(3 * RATE_NS);
        }
        (calibration, ticks.wrapping_sub(3 * RATE_NS), ns - RATE_NS)
    }

    #[test]
    fn ticks_count_for_a_window_and_no_longer() {
        let mut new = Calibration::default();
        assert_eq!(new.at(0), None, "nothing is known");
        new.set(7, 9);
        assert_eq!(new.at(7), None, "no length is known");
        let (calibration, ticks, ns) = set();
        assert_eq!(calibration.at(ticks), Some(ns));
        assert_eq!(calibration.at(ticks.wrapping_add(3_000)), Some(ns + 999));
        assert_eq!(calibration.at(ticks.wrapping_add(3 * WINDOW_NS + 3)), None);
        assert_eq!(calibration.at(ticks.wrapping_sub(1)), None, "it went back");
    }

    #[test]
    fn a_counter_that_jumps_or_ticks_otherwise_is_not_believed_until_it_is_even_again() {
        for (jump, per_ns) in [(0, 4), (1 << 40, 3), (0, 0), (u64::MAX - (1 << 40), 3)] {
            let (mut calibration, ticks, ns) = set();
            let mut later = ticks.wrapping_add(jump).wrapping_add(per_ns * RATE_NS);
            calibration.set(later, ns + RATE_NS);
            assert_eq!(calibration.at(later), None, "jump {jump}, {per_ns} a nanosecond");
            later = later.wrapping_add(4 * RATE_NS);
            calibration.set(later, ns + 2 * RATE_NS);
            assert_eq!(calibration.at(later), Some(ns + 2 * RATE_NS));
        }
    }
}
