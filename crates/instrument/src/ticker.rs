//! A clock that is cheap enough to read after every few hundred instructions: a ticker of one thread, which
//! counts the processor's ticks and is repeatedly calibrated by the clock.
//!
//! Reading the clock itself waits for every earlier instruction and delays every later one, so that the
//! processor cannot overlap a short piece of work with the end of the last. The counter alone is read in half
//! the time and delays nothing (decision 0042).
//!
//! 1. A ticker is calibrated by the clock once per [`WINDOW_NS`]; in between it assumes the tick length of
//!    the last [`RATE_NS`] or more.
//! 2. Readings of one ticker never go back.
//! 3. Ticks are used only if the kernel itself takes the time from them, and if their length changes by less
//!    than a thousandth. Otherwise the ticker reads the clock.
//!
//! A ticker is uncalibrated until it knows the length of a tick. A counter that jumps, or whose rate changes,
//! makes it uncalibrated again.

#![allow(unsafe_code, reason = "the processor's counter is read by an intrinsic")]

use crate::clock::{self, Nanos};
use std::cell::Cell;
use std::fs;
use std::sync::OnceLock;

/// How long a calibration is valid.
const WINDOW_NS: Nanos = 1_000_000;
/// The shortest time over which the length of a tick is measured.
const RATE_NS: Nanos = 10_000_000;
/// How often clock and counter are read together, to use the closest pair.
const READ_PAIR_TRIES: usize = 3;
/// A pair with more ticks in between is not used: the thread had lost the processor.
const READ_PAIR_TICKS_MAX: u64 = 2_000;
/// Lengths of a tick are in units of 2^-32 ns.
const TICK_LENGTH_SHIFT: u32 = 32;

/// The file that names the kernel's time source.
const CLOCKSOURCE_FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// A thread's clock.
#[derive(Debug)]
pub struct Ticker {
    counts: bool,
    calibration: Cell<Calibration>,
    /// The last reading.
    last: Cell<Nanos>,
}

impl Ticker {
    /// A ticker that counts ticks if they can be trusted.
    pub fn new() -> Ticker {
        Ticker { counts: kernel_uses_tsc(), ..Ticker::exact() }
    }

    /// A ticker that always reads the clock: for times that are compared exactly with those of other threads.
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

    /// The time by the clock, which also calibrates a ticker that counts.
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

/// The last calibration of a ticker.
#[derive(Clone, Copy, Debug, Default)]
struct Calibration {
    /// A moment, by counter and by clock.
    ticks: u64,
    ns: Nanos,
    /// The calibration is valid for this many ticks after that moment.
    window: u64,
    /// The length of a tick in units; zero if it is unknown.
    length: u64,
    /// The moment from which the next length is measured.
    since_ticks: u64,
    since_ns: Nanos,
}

impl Calibration {
    /// The time when the counter shows `ticks`; none if the calibration is not valid then.
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

    /// Starts the measurement of the next length here.
    fn restart(&mut self) {
        (self.since_ticks, self.since_ns) = (self.ticks, self.ns);
    }
}

/// The length of a tick in units; zero if it is implausible for any processor.
fn length(ticks: u64, span_ns: Nanos) -> u64 {
    let units = u128::from(span_ns) << TICK_LENGTH_SHIFT;
    let length = units.checked_div(u128::from(ticks)).unwrap_or(0);
    let (least, most) = (1 << (TICK_LENGTH_SHIFT - 4), 1 << (TICK_LENGTH_SHIFT + 4));
    if (least..most).contains(&length) { length as u64 } else { 0 }
}

/// True if the kernel takes the time from the processor's counter, and so checks that it ticks evenly and
/// equally on all processors.
fn kernel_uses_tsc() -> bool {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    let is_tsc = || fs::read_to_string(CLOCKSOURCE_FILE).is_ok_and(|source| source.trim() == "tsc");
    cfg!(target_arch = "x86_64") && *COUNTS.get_or_init(is_tsc)
}

/// The counter and the clock at one moment, preceded by the number of ticks between the two reads.
fn read_both() -> (u64, u64, Nanos) {
    let before = ticks();
    let ns = clock::now();
    let between = ticks().wrapping_sub(before);
    (between, before.wrapping_add(between / 2), ns)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the counter, and the kernel, whose vDSO reads it in every program,
    // lets programs read it.
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

    /// How far a reading may be from the clock's: a window of ticks that are each a thousandth longer than
    /// measured.
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

    /// A calibration with a counter of three ticks per nanosecond, and the moment of its last update.
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
    fn ticks_are_used_for_a_window_and_no_longer() {
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
    fn a_counter_that_jumps_or_changes_its_rate_is_not_used_until_it_is_steady_again() {
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
