//! Versions of products and ranges of them: `>=12, <19`.

use std::cmp::Ordering;

/// The numbers of a version, most significant first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version(Vec<u64>);

impl Version {
    /// Parses the first run of digits and dots in a product's version text: "PostgreSQL 15.18 (Debian)" is
    /// 15.18.
    pub(super) fn found_in(text: &str) -> Option<Version> {
        let begin = text.find(|letter: char| letter.is_ascii_digit())?;
        let rest = &text[begin..];
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let numbers = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
        let numbers = numbers.split('.').map(|number| number.parse().ok());
        numbers.collect::<Option<Vec<u64>>>().map(Version)
    }

    /// Omitted numbers are zero: 12 equals 12.0.
    fn compare(&self, other: &Version) -> Ordering {
        let number = |version: &Version, index: usize| version.0.get(index).copied().unwrap_or(0);
        let longest = self.0.len().max(other.0.len());
        let pairs = (0..longest).map(|index| number(self, index).cmp(&number(other, index)));
        pairs.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    AtLeast,
    Above,
    AtMost,
    Below,
    Exactly,
}

/// Comparisons that must all hold; an empty list holds for every version.
#[derive(Clone, Debug, Default)]
pub(super) struct Range(Vec<(Bound, Version)>);

impl Range {
    /// The error is a sentence.
    pub(super) fn parse(text: &str) -> Result<Range, String> {
        let parts = text.split(',').map(|part| bound(part.trim()));
        let bounds = parts.collect::<Option<_>>().ok_or_else(|| {
            format!("\"{text}\" is not a range of versions; write it as \">=12, <19\"")
        })?;
        Ok(Range(bounds))
    }

    /// True if it holds for every version.
    pub(super) fn is_any(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, version: &Version) -> bool {
        self.0.iter().all(|(bound, limit)| {
            let order = version.compare(limit);
            match bound {
                Bound::AtLeast => order.is_ge(),
                Bound::Above => order.is_gt(),
                Bound::AtMost => order.is_le(),
                Bound::Below => order.is_lt(),
                Bound::Exactly => order.is_eq(),
            }
        })
    }
}

fn bound(part: &str) -> Option<(Bound, Version)> {
    let signs = [
        (">=", Bound::AtLeast),
        ("<=", Bound::AtMost),
        (">", Bound::Above),
        ("<", Bound::Below),
        ("=", Bound::Exactly),
    ];
    let split = |(sign, bound)| part.strip_prefix(sign).map(|rest: &str| (bound, rest));
    let (bound, rest) = signs.into_iter().find_map(split)?;
    let rest = rest.trim();
    let digits = rest.chars().all(|it| it.is_ascii_digit() || it == '.');
    let version = Version::found_in(rest).filter(|_| digits)?;
    Some((bound, version))
}

#[cfg(test)]
mod tests {
    use super::{Range, Version};

    fn contains(range: &str, version: &str) -> bool {
        let version = Version::found_in(version).unwrap();
        Range::parse(range).unwrap().contains(&version)
    }

    #[test]
    fn a_range_holds_versions_within_its_bounds() {
        assert!(contains(">=12, <19", "PostgreSQL 15.18 (Debian 15.18-0+deb12u1)"));
        assert!(contains(">=12, <19", "12"));
        assert!(!contains(">=12, <19", "19.0"));
        assert!(contains(">=10,<12", "10.11.19-MariaDB"));
        assert!(contains("<=3.45.1", "3.45.1"));
        assert!(!contains(">3.45", "3.45.0"));
        assert!(contains("=7.8", "7.8.0"));
    }

    #[test]
    fn invalid_ranges_are_refused() {
        for text in ["12", ">=", ">=12 <19", ">=twelve", "", ">=12,"] {
            assert!(Range::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_text_without_digits_has_no_version() {
        assert_eq!(Version::found_in("unknown"), None);
        assert_eq!(Version::found_in("99999999999999999999999"), None);
    }
}
