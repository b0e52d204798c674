//! Dates and times as the protocol encodes them, and as microseconds since 1970.

use super::packet::Malformed;

/// A date and time, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CalendarTime {
    pub(super) year: u16,
    pub(super) month: u8,
    pub(super) day: u8,
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: u8,
    pub(super) micros: u32,
}

pub(super) const MICROS_OF_DAY: i64 = 86_400_000_000;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// Days in four hundred years.
const ERA: i64 = 146_097;

impl CalendarTime {
    /// From microseconds since 1970; `None` outside the years 0 to 9999. Years start in March here, so
    /// that the leap day is the last day of a year.
    pub(super) fn of(micros: i64) -> Option<CalendarTime> {
        let days = micros.div_euclid(MICROS_OF_DAY) + EPOCH;
        let in_day = micros.rem_euclid(MICROS_OF_DAY);
        let (era, day_of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        if !(0..=9999).contains(&year) {
            return None;
        }
        let seconds = in_day / 1_000_000;
        Some(CalendarTime {
            year: year as u16,
            month: month as u8,
            day: (day_of_year - (153 * from_march + 2) / 5 + 1) as u8,
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micros: (in_day % 1_000_000) as u32,
        })
    }

    /// As microseconds since 1970.
    pub(super) fn micros(self) -> i64 {
        let (month, day) = (i64::from(self.month), i64::from(self.day));
        let year = i64::from(self.year) - i64::from(month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let from_march = if month > 2 { month - 3 } else { month + 9 };
        let day_of_year = (153 * from_march + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * ERA + day_of_era - EPOCH;
        let seconds =
            i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second);
        days * MICROS_OF_DAY + seconds * 1_000_000 + i64::from(self.micros)
    }

    /// Decodes a date or time; omitted fields are zero.
    pub(super) fn read(bytes: &[u8]) -> Result<CalendarTime, Malformed> {
        let mut whole = [0; 11];
        let there = whole.get_mut(..bytes.len());
        there.ok_or(Malformed("a time that is too long"))?.copy_from_slice(bytes);
        let [low, high, month, day, hour, minute, second, rest @ ..] = whole;
        Ok(CalendarTime {
            year: u16::from_le_bytes([low, high]),
            month,
            day,
            hour,
            minute,
            second,
            micros: u32::from_le_bytes(rest),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CalendarTime, MICROS_OF_DAY};

    #[test]
    fn every_day_survives_a_round_trip() {
        for day in -719_528..=2_932_896_i64 {
            let micros = day * MICROS_OF_DAY + 86_399_999_999;
            let moment = CalendarTime::of(micros).expect("a day of the years 0 to 9999");
            assert_eq!(moment.micros(), micros);
        }
        let leap = CalendarTime::of(951_782_400_000_000).unwrap();
        assert_eq!((leap.year, leap.month, leap.day), (2000, 2, 29));
        assert_eq!(CalendarTime::of(i64::MAX), None);
    }
}
