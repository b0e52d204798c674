//! Days of the Gregorian calendar.

use std::fmt;
use std::str::FromStr;

/// A day of the Gregorian calendar, which is continued to the days before it was introduced. Ordered by time.
///
/// ```
/// use syncline_engine::{Date, Value};
///
/// let day = Date::from_ymd(2026, 11, 30).expect("a day of that month");
/// assert_eq!(day.to_string(), "2026-11-30");
/// assert_eq!("1970-01-02".parse(), Ok(Date::from_days(1)));
/// assert_eq!(Value::from(day), Value::Date(20_787));
/// assert_eq!(Date::from_ymd(2026, 2, 29), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i32);

/// A text that is not a day as `YYYY-MM-DD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a day is written as year, month and day, as in 2026-11-30")]
pub struct NoDate;

/// Days of 400 years, after which the calendar repeats itself.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

impl Date {
    /// The day that is this number of days after 1970-01-01.
    pub fn from_days(days: i32) -> Date {
        Date(days)
    }

    /// Days since 1970-01-01.
    pub fn days(self) -> i32 {
        self.0
    }

    /// A day by year, month and day, each counted from 1; none if there is no such day, or if it is more than
    /// two thousand million days away.
    pub fn from_ymd(year: i32, month: u32, day: u32) -> Option<Date> {
        if !(1..=12).contains(&month) || day == 0 || day > 31 {
            return None;
        }
        // Years begin in March here, so that the day of a leap year comes last.
        let year_of_march = i64::from(year) - i64::from(month <= 2);
        let era = year_of_march.div_euclid(400);
        let year_of_era = year_of_march.rem_euclid(400);
        let month_of_march = i64::from((month + 9) % 12);
        let day_of_year = (153 * month_of_march + 2) / 5 + i64::from(day) - 1;
        let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = i32::try_from(era * ERA_DAYS + day_of_era - EPOCH_DAYS).ok()?;
        // A day that the month does not have is one of the next month.
        Some(Date(days)).filter(|date| date.ymd() == (i64::from(year), month, day))
    }

    /// Year, month and day, the last two counted from 1.
    pub fn ymd(self) -> (i64, u32, u32) {
        let days = i64::from(self.0) + EPOCH_DAYS;
        let (era, day) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day_of_year = day - (365 * year + year / 4 - year / 100);
        let month_of_march = (5 * day_of_year + 2) / 153;
        let day_of_month = day_of_year - (153 * month_of_march + 2) / 5 + 1;
        let month = if month_of_march < 10 { month_of_march + 3 } else { month_of_march - 9 };
        (era * 400 + year + i64::from(month <= 2), month as u32, day_of_month as u32)
    }
}

/// As `YYYY-MM-DD`; a year beyond four digits, or before 0, with its sign.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.ymd();
        if (0..=9_999).contains(&year) {
            write!(f, "{year:04}-{month:02}-{day:02}")
        } else {
            write!(f, "{year:+05}-{month:02}-{day:02}")
        }
    }
}

impl FromStr for Date {
    type Err = NoDate;

    fn from_str(text: &str) -> Result<Date, NoDate> {
        let date = || {
            let (rest, day) = text.rsplit_once('-')?;
            let (year, month) = rest.rsplit_once('-')?;
            let is_short =
                |digits: &str| digits.len() == 2 && digits.bytes().all(|it| it.is_ascii_digit());
            if !is_short(day) || !is_short(month) || year.trim_start_matches(['+', '-']).len() < 4 {
                return None;
            }
            Date::from_ymd(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
        };
        date().ok_or(NoDate)
    }
}

#[cfg(test)]
mod tests {
    use super::{Date, ERA_DAYS};

    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut expected = (1_970, 1, 1);
        for days in 0..=ERA_DAYS as i32 {
            let date = Date::from_days(days);
            assert_eq!(date.ymd(), expected);
            let (year, month, day) = expected;
            assert_eq!(Date::from_ymd(year as i32, month, day), Some(date));
            assert_eq!(date.to_string().parse(), Ok(date));
            let last = match month {
                2 => 28 + u32::from(leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            expected = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (month, day) if day == last => (year, month + 1, 1),
                (month, day) => (year, month, day + 1),
            };
        }
    }

    #[test]
    fn days_far_away_are_days_too_and_what_is_none_is_refused() {
        for days in [i32::MIN, -719_528, -719_529, -1, i32::MAX] {
            let date = Date::from_days(days);
            assert_eq!(date.to_string().parse(), Ok(date), "{date}");
        }
        assert_eq!(Date::from_days(-719_528).to_string(), "0000-01-01");
        assert_eq!(Date::from_days(-719_529).to_string(), "-0001-12-31");
        for text in ["2026-02-29", "2026-13-01", "2026-1-01", "26-01-01", "2026-01-00", "", "--"] {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
        assert_eq!(Date::from_ymd(i32::MAX, 1, 1), None);
    }
}
