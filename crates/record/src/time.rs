//! Wall clock time as text, UTC, without a calendar library.

const DAY_S: u64 = 86_400;

/// The calendar fields of a point in time.
struct Parts {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

/// "2026-11-20T09:15:00Z".
pub(crate) fn rfc3339(wall_ns: u64) -> String {
    let at = parts(wall_ns);
    let date = format!("{:04}-{:02}-{:02}", at.year, at.month, at.day);
    format!("{date}T{:02}:{:02}:{:02}Z", at.hour, at.minute, at.second)
}

/// "2026-11-20T0915Z", for file names; sorts by time.
pub(crate) fn file_stamp(wall_ns: u64) -> String {
    let at = parts(wall_ns);
    format!("{:04}-{:02}-{:02}T{:02}{:02}Z", at.year, at.month, at.day, at.hour, at.minute)
}

fn parts(wall_ns: u64) -> Parts {
    let seconds = wall_ns / 1_000_000_000;
    let (mut days, rest) = (seconds / DAY_S, seconds % DAY_S);
    let mut year = 1970;
    while days >= year_days(year) {
        days -= year_days(year);
        year += 1;
    }
    let mut month = 1;
    while days >= month_days(year, month) {
        days -= month_days(year, month);
        month += 1;
    }
    Parts {
        year,
        month,
        day: days + 1,
        hour: rest / 3_600,
        minute: rest / 60 % 60,
        second: rest % 60,
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn year_days(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn month_days(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
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
        assert_eq!(file_stamp(1_795_166_100_000_000_000), "2026-11-20T0915Z");
    }
}
