//! The one clock: nanoseconds of `CLOCK_MONOTONIC`, and wall clock time for records.
//!
//! Monotonic, not raw: its rate is disciplined, so an hour is an hour, and every process of one
//! machine reads the same value. A read costs about 20 ns through the vDSO.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time or a span in nanoseconds; times count from the machine's boot.
pub type Nanos = u64;

/// One second in nanoseconds.
pub const SECOND: Nanos = 1_000_000_000;

/// Now, in nanoseconds since the machine's boot.
#[inline]
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as Nanos * SECOND + time.tv_nsec as Nanos
}

/// The processor time this process has used so far, all threads, user and kernel.
pub fn process_cpu() -> Nanos {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as Nanos * SECOND + time.tv_nsec as Nanos
}

/// The processor time the calling thread has used so far, user and kernel.
pub fn thread_cpu() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as Nanos * SECOND + time.tv_nsec as Nanos
}

/// Wall clock time since 1970 in nanoseconds; for records only, never for spans.
pub fn wall() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    since.as_nanos() as Nanos
}

/// A span as `Nanos`; saturates after 584 years.
pub fn nanos(span: Duration) -> Nanos {
    Nanos::try_from(span.as_nanos()).unwrap_or(Nanos::MAX)
}

#[cfg(test)]
mod tests {
    use super::{SECOND, nanos, now, process_cpu, thread_cpu, wall};
    use std::time::Duration;

    #[test]
    fn clocks_go_forward() {
        let (start, process, thread) = (now(), process_cpu(), thread_cpu());
        let sum = (0..1_000_000_u64).fold(0, |sum: u64, i| std::hint::black_box(sum ^ i));
        assert_eq!(std::hint::black_box(sum), (0..1_000_000).fold(0, |sum, i| sum ^ i));
        assert!(now() > start && process_cpu() > process && thread_cpu() > thread);
    }

    #[test]
    fn wall_clock_is_after_2025_and_spans_convert() {
        assert!(wall() > 1_735_689_600 * SECOND);
        assert_eq!(nanos(Duration::from_millis(1_500)), 1_500_000_000);
    }
}
