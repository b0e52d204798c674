//! Wall clock time as text, UTC.

use jiff::Timestamp;

/// "2026-11-20T09:15:00Z".
pub(crate) fn rfc3339(wall_ns: u64) -> String {
    whole_second(wall_ns).to_string()
}

/// "2026-11-20T0915Z", for file names; sorts by time.
pub(crate) fn file_stamp(wall_ns: u64) -> String {
    whole_second(wall_ns).strftime("%Y-%m-%dT%H%MZ").to_string()
}

/// Without the part of a second. Nanoseconds in 64 bits end in the year 2554, so they fit.
fn whole_second(wall_ns: u64) -> Timestamp {
    Timestamp::from_second((wall_ns / 1_000_000_000) as i64).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::{file_stamp, rfc3339};

    /// Expected values as `date -u -d @SECONDS` prints them.
    #[test]
    fn dates_match_the_calendar() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400_000_000_000), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_795_166_159_999_999_999), "2026-11-20T09:15:59Z");
        assert_eq!(rfc3339(4_107_542_400_000_000_000), "2100-03-01T00:00:00Z");
        assert_eq!(rfc3339(u64::MAX), "2554-07-21T23:34:33Z");
        assert_eq!(file_stamp(1_795_166_100_000_000_000), "2026-11-20T0915Z");
    }
}
