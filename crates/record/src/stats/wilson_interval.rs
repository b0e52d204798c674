//! Where a share lies that was found by a number of looks.
//!
//! Wilson's interval at 95 %: of `looks` independent looks a part was seen in the module. It stays
//! within zero and one and is honest for few looks and for shares near the ends, where the usual
//! formula is not.

use crate::Range;

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_964;

/// Where the share lies with 95 % confidence; none without looks.
pub fn share_range(share: f64, looks: u64) -> Option<Range> {
    if looks == 0 || !(0.0..=1.0).contains(&share) {
        return None;
    }
    let n = looks as f64;
    let middle = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    Some(Range {
        least: ((middle - half) / scale).clamp(0.0, share),
        most: ((middle + half) / scale).clamp(share, 1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::share_range;

    #[test]
    fn a_tenth_of_a_thousand_looks_is_known_to_two_hundredths() {
        let range = share_range(0.1, 1_000).unwrap();
        assert!((range.least - 0.0829).abs() < 0.0005, "{range:?}");
        assert!((range.most - 0.1202).abs() < 0.0005, "{range:?}");
    }

    #[test]
    fn nothing_seen_is_not_known_to_be_nothing() {
        let range = share_range(0.0, 20).unwrap();
        assert!(range.least < 1e-12 && range.most > 0.1, "{range:?}");
        let range = share_range(1.0, 20).unwrap();
        assert!(range.most > 1.0 - 1e-12 && range.least < 0.9, "{range:?}");
        assert_eq!(share_range(0.5, 0), None);
        assert_eq!(share_range(f64::NAN, 10), None);
    }
}
