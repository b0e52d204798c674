//! Parsers of values that several commands take: durations, counts, yes or no.

use std::time::Duration;

/// A tag of records: one line of 1 to 100 characters.
pub fn tag(typed: &str) -> Result<String, String> {
    let tag = typed.trim();
    let length = tag.chars().count();
    if !(1..=100).contains(&length) || tag.chars().any(char::is_control) {
        return Err(format!("\"{typed}\" is no tag: give one line of 1 to 100 characters"));
    }
    Ok(tag.to_owned())
}

/// Ten years, which clocks in nanoseconds can represent.
const LONGEST: Duration = Duration::from_hours(87_660);

/// A duration: `10`, `10s`, `500ms`, `2m`, `1h`; a bare number is seconds.
pub fn duration(typed: &str) -> Result<Duration, String> {
    let split = typed.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(typed.len());
    let (number, unit) = typed.split_at(split);
    let seconds_per_unit = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "us" => 0.000_001,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err(format!("the unit \"{unit}\" is not one of us, ms, s, m, h")),
    };
    let amount: f64 = number
        .parse()
        .map_err(|_error| format!("\"{typed}\" is not a duration such as 10s or 500ms"))?;
    let duration = Duration::try_from_secs_f64(amount * seconds_per_unit);
    let duration = duration.ok().filter(|duration| *duration <= LONGEST);
    duration.ok_or_else(|| format!("\"{typed}\" is not a duration from 0 to ten years"))
}

/// A duration above zero, for measurements and observations.
pub fn some_duration(typed: &str) -> Result<Duration, String> {
    match duration(typed)? {
        Duration::ZERO => Err("the duration must be above zero".to_owned()),
        some => Ok(some),
    }
}

/// A count that must not be zero.
pub fn at_least_one(typed: &str) -> Result<usize, String> {
    match typed.parse::<usize>() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(count) => Ok(count),
        Err(_error) => Err(format!("\"{typed}\" is not a whole number from 1 up")),
    }
}

/// A count from 1 to `MOST`: one that sizes memory or sets the amount of work.
pub fn up_to<const MOST: usize>(typed: &str) -> Result<usize, String> {
    // A value too long for a number is also above the limit.
    let digits = typed.trim_start_matches('0');
    let is_long = digits.len() > 1 && digits.bytes().all(|byte| byte.is_ascii_digit());
    match at_least_one(typed) {
        Ok(count) if count <= MOST => Ok(count),
        Err(why) if !is_long => Err(why),
        _ => Err(format!("must be at most {MOST}")),
    }
}

/// Repetitions of a run, or slices of a survey.
pub fn repetitions(typed: &str) -> Result<usize, String> {
    up_to::<10_000>(typed)
}

/// Threads that drive clients.
pub fn workers(typed: &str) -> Result<usize, String> {
    up_to::<4_096>(typed)
}

/// Crash images, kills or transactions of a verification, syncs of a test, rows of a table.
pub fn amount(typed: &str) -> Result<usize, String> {
    up_to::<10_000_000>(typed)
}

/// Clients of a run.
pub fn clients(typed: &str) -> Result<usize, String> {
    match at_least_one(typed)? {
        clients @ ..=1_000_000 => Ok(clients),
        _ => Err("must be at most 1000000 clients".to_owned()),
    }
}

/// A sampling frequency per processor, up to 10 kHz: beyond that, sampling takes most of the time.
pub fn sampling_hz(typed: &str) -> Result<usize, String> {
    match at_least_one(typed)? {
        sampling_hz @ ..=10_000 => Ok(sampling_hz),
        _ => Err("must be at most 10000 samples per second".to_owned()),
    }
}

/// A rate above zero, in events per second.
pub fn rate(typed: &str) -> Result<f64, String> {
    let rate: f64 = typed.parse().map_err(|_error| format!("\"{typed}\" is not a number"))?;
    if rate.is_finite() && rate > 0.0 { Ok(rate) } else { Err("must be above zero".to_owned()) }
}

/// "yes" or "no".
pub fn yes_or_no(typed: &str) -> Result<bool, String> {
    match typed {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("must be yes or no".to_owned()),
    }
}

/// A share above zero, up to one.
pub fn share(typed: &str) -> Result<f64, String> {
    let share = rate(typed)?;
    if share <= 1.0 { Ok(share) } else { Err("must be above 0 and at most 1".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::{
        amount, at_least_one, clients, duration, rate, repetitions, sampling_hz, share,
        some_duration, workers,
    };
    use std::time::Duration;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        for invalid in ["", "s", "-1s", "1 day", "nan", "1e400", "99999999h"] {
            assert!(duration(invalid).is_err(), "{invalid} is refused");
        }
    }

    // A.D1
    #[test]
    fn every_number_that_sizes_memory_has_a_maximum() {
        let most = [
            (repetitions as fn(&str) -> Result<usize, String>, 10_000),
            (workers, 4_096),
            (amount, 10_000_000),
            (clients, 1_000_000),
        ];
        for (parse, most) in most {
            assert_eq!(parse(&most.to_string()), Ok(most));
            for much in [
                (most + 1).to_string(),
                "9223372036854775807".to_owned(),
                "9223372036854775808".to_owned(),
                "99999999999999999999999".to_owned(),
            ] {
                assert!(parse(&much).is_err(), "{much}");
            }
            assert!(parse("0").is_err() && parse("x").is_err());
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        assert!(at_least_one("0").is_err() && at_least_one("-1").is_err());
        assert!(rate("0").is_err() && rate("inf").is_err() && rate("x").is_err());
        assert!(share("0").is_err() && share("1.5").is_err());
        assert_eq!((at_least_one("3"), rate("2.5")), (Ok(3), Ok(2.5)));
        assert_eq!(share("1"), Ok(1.0));
        assert!(some_duration("0ms").is_err() && some_duration("1ms").is_ok());
        assert!(clients("1000001").is_err() && clients("1000000").is_ok());
        assert!(sampling_hz("10001").is_err() && sampling_hz("10000").is_ok());
    }
}
