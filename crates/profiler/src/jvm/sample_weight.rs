//! The weight of one sample or event, if only some were taken.

use syncline_instrument::Nanos;

/// The bytes and objects that a sampled object represents. The JVM samples an object of `size` bytes with the
/// probability `1 - exp(-size / interval)`: large ones nearly always, small ones by their size.
pub(super) fn allocated(size: i64, interval: u64) -> (u64, u64) {
    let size = size.max(1) as f64;
    let chance = -(-size / interval as f64).exp_m1();
    ((size / chance).round() as u64, (1.0 / chance).round() as u64)
}

/// The number of waits and the waiting time that a recorded wait represents. A wait is recorded when the sum
/// of waits has grown by an interval: longer waits always are, shorter ones by their length.
pub(super) fn waited(wait_ns: Nanos, interval_ns: Nanos) -> (u64, Nanos) {
    let waits = interval_ns as f64 / wait_ns.max(1) as f64;
    (waits.round().max(1.0) as u64, wait_ns.max(interval_ns))
}

/// The weight of each sample, so that together they are the time that was used.
pub(super) fn each(used_ns: Nanos, samples: u64) -> Nanos {
    used_ns.checked_div(samples).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{allocated, each, waited};

    #[test]
    fn small_objects_represent_many_and_large_ones_themselves() {
        let (bytes, objects) = allocated(1_016, 524_288);
        assert!((524_000..526_000).contains(&bytes), "{bytes}");
        assert_eq!(objects, bytes.div_ceil(1_016));
        assert_eq!(allocated(64 << 20, 524_288), (64 << 20, 1));
        assert_eq!(allocated(0, 524_288).1, 524_289);
    }

    #[test]
    fn short_waits_represent_an_interval_and_long_ones_themselves() {
        assert_eq!(waited(50_000, 1_000_000), (20, 1_000_000));
        assert_eq!(waited(7_000_000, 1_000_000), (1, 7_000_000));
        assert_eq!(waited(0, 1_000_000), (1_000_000, 1_000_000));
    }

    #[test]
    fn samples_share_the_used_time() {
        assert_eq!(each(1_000, 8), 125);
        assert_eq!(each(1_000, 0), 0);
    }
}
