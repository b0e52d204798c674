//! How much one look or event stands for, where only some were taken.

use syncline_instrument::Nanos;

/// Bytes and objects that a sampled object stands for. The JVM looks at an object of `size` bytes with
/// the probability `1 - exp(-size / interval)`: large ones nearly always, small ones by their bytes.
pub(super) fn allocated(size: i64, interval: u64) -> (u64, u64) {
    let size = size.max(1) as f64;
    let chance = -(-size / interval as f64).exp_m1();
    ((size / chance).round() as u64, (1.0 / chance).round() as u64)
}

/// How many waits and how much waiting a wait stands for that was told because the sum of waits had
/// grown by an interval: longer ones always are, shorter ones by their length.
pub(super) fn waited(wait_ns: Nanos, interval_ns: Nanos) -> (u64, Nanos) {
    let waits = interval_ns as f64 / wait_ns.max(1) as f64;
    (waits.round().max(1.0) as u64, wait_ns.max(interval_ns))
}

/// What each of so many looks stands for, so that together they are all that was used.
pub(super) fn each(used_ns: Nanos, looks: u64) -> Nanos {
    used_ns.checked_div(looks).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{allocated, each, waited};

    #[test]
    fn small_objects_stand_for_many_and_large_ones_for_themselves() {
        let (bytes, objects) = allocated(1_016, 524_288);
        assert!((524_000..526_000).contains(&bytes), "{bytes}");
        assert_eq!(objects, bytes.div_ceil(1_016));
        assert_eq!(allocated(64 << 20, 524_288), (64 << 20, 1));
        assert_eq!(allocated(0, 524_288).1, 524_289);
    }

    #[test]
    fn short_waits_stand_for_an_interval_and_long_ones_for_themselves() {
        assert_eq!(waited(50_000, 1_000_000), (20, 1_000_000));
        assert_eq!(waited(7_000_000, 1_000_000), (1, 7_000_000));
        assert_eq!(waited(0, 1_000_000), (1_000_000, 1_000_000));
    }

    #[test]
    fn looks_share_what_was_used() {
        assert_eq!(each(1_000, 8), 125);
        assert_eq!(each(1_000, 0), 0);
    }
}
