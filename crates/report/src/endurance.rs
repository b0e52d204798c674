//! The time until a drive's rated endurance is used up at a rate of commits.
//!
//! The rating is the bytes written by the host over the drive's life (TBW, decimal units, as drive makers
//! define it), so it compares with the device bytes of the kernel's counters. The rating already allows for
//! the drive's own additional writes (write amplification).

use crate::{Error, Result};

const SECONDS_PER_YEAR: f64 = 365.25 * 86_400.0;

/// The total bytes that a drive is rated for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// Bytes.
    pub bytes: f64,
}

impl Rating {
    /// Parses "600TB", "1.2PB", "600TBW" or "150 GB"; decimal units.
    pub fn parse(text: &str) -> Result<Rating> {
        let units = [("GB", 1e9), ("TB", 1e12), ("PB", 1e15)];
        let plain = text.trim().strip_suffix('W').unwrap_or(text.trim());
        let bytes = units.iter().find_map(|(unit, factor)| {
            let number: f64 = plain.strip_suffix(unit)?.trim().parse().ok()?;
            Some(number * factor)
        });
        match bytes {
            Some(bytes) if bytes.is_finite() && bytes > 0.0 => Ok(Rating { bytes }),
            _ => Err(Error::Option {
                option: "--endurance",
                given: format!("\"{text}\""),
                must: "it must be the bytes written that the data sheet allows, like 600TB",
            }),
        }
    }

    /// Years until continuous commits of that many device bytes at that rate use up the rating; `None` if
    /// nothing is written.
    pub fn years(&self, device_bytes_per_commit: f64, commits_per_s: f64) -> Option<f64> {
        let bytes_per_s = device_bytes_per_commit * commits_per_s;
        let years = self.bytes / bytes_per_s / SECONDS_PER_YEAR;
        (bytes_per_s > 0.0 && years.is_finite()).then_some(years)
    }
}

#[cfg(test)]
mod tests {
    use super::Rating;

    #[test]
    fn six_hundred_terabytes_of_4_kib_commits() {
        let rating = Rating::parse("600TB").unwrap();
        assert_eq!(rating, Rating::parse("600 TBW").unwrap());
        // 600e12 / (4096 * 10000) = 14,648,437 s = 0.464 years.
        let years = rating.years(4096.0, 10_000.0).unwrap();
        assert_eq!(format!("{years:.3}"), "0.464");
    }

    #[test]
    fn without_writes_there_is_no_end() {
        let rating = Rating::parse("1PB").unwrap();
        assert_eq!(rating.years(0.0, 10_000.0), None);
        assert_eq!(rating.years(4096.0, 0.0), None);
        assert_eq!(rating.years(f64::NAN, 1.0), None);
    }

    #[test]
    fn other_texts_are_refused_with_an_example() {
        for text in ["", "600", "TB", "-1TB", "0TB", "infTB", "NaNTB"] {
            assert!(Rating::parse(text).unwrap_err().to_string().contains("600TB"), "{text}");
        }
    }
}
