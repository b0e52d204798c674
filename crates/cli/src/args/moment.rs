//! A moment as users type it: a date, a time, or how long ago.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use syncline_instrument::clock;

/// Nanoseconds since 1970 of `2026-11-20`, `2026-11-20T09:15`, `2026-11-20T09:15:00Z` (all UTC unless the
/// text names another zone), or of a time ago: `7d`, `12h`, `30m`, `2w`.
pub(crate) fn moment(typed: &str) -> Result<u64, String> {
    at(typed, clock::wall())
}

fn at(typed: &str, now_wall_ns: u64) -> Result<u64, String> {
    let moment = match ago_ns(typed) {
        Some(ago_ns) => Some(now_wall_ns.saturating_sub(ago_ns)),
        None => instant(typed).and_then(|instant| u64::try_from(instant.as_nanosecond()).ok()),
    };
    moment.ok_or_else(|| {
        format!(
            "\"{typed}\" is no moment: give a date (2026-11-20), a time (2026-11-20T09:15, UTC) or how long ago \
             (7d, 12h, 30m)"
        )
    })
}

fn instant(typed: &str) -> Option<Timestamp> {
    let zoned = typed.parse::<Timestamp>().ok();
    let civil =
        || typed.parse::<DateTime>().ok().or_else(|| Some(typed.parse::<Date>().ok()?.into()));
    zoned.or_else(|| Some(civil()?.to_zoned(TimeZone::UTC).ok()?.timestamp()))
}

/// Nanoseconds of a whole number with the unit s, m, h, d or w.
fn ago_ns(typed: &str) -> Option<u64> {
    let unit = typed.chars().next_back()?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    let number: u64 = typed.strip_suffix(unit)?.parse().ok()?;
    number.checked_mul(seconds)?.checked_mul(clock::SECOND)
}

#[cfg(test)]
mod tests {
    use super::at;

    /// 2026-11-20T09:15:00Z.
    const NOW: u64 = 1_795_166_100_000_000_000;
    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn moments_are_dates_times_or_how_long_ago() {
        let cases = [
            ("2026-11-20T09:15:00Z", NOW),
            ("2026-11-20T09:15", NOW),
            ("2026-11-20 09:15:00", NOW),
            ("2026-11-20T10:15:00+01:00", NOW),
            ("2026-11-20", NOW - (9 * 60 + 15) * 60 * SECOND),
            ("15m", NOW - 15 * 60 * SECOND),
            ("1d", NOW - 86_400 * SECOND),
            ("0s", NOW),
            ("20000w", 0),
        ];
        for (typed, wall_ns) in cases {
            assert_eq!(at(typed, NOW), Ok(wall_ns), "{typed}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_what_is_expected() {
        for typed in
            ["", "d", "-3d", "3.5d", "yesterday", "2026-13-01", "1969-01-01", "99999999999999999w"]
        {
            let why = at(typed, NOW).unwrap_err();
            assert!(why.contains("give a date"), "{typed}: {why}");
        }
    }
}
