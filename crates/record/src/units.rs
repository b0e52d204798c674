//! Figures as text: three significant digits and a unit.
//!
//! 1. A value that is not finite is "unknown"; no function here can return "inf" or "NaN".
//! 2. Zero is "0", so that a measured zero does not read as unknown, nor an unknown value as zero.
//! 3. Sizes are binary (4 KiB), counts and rates decimal (12.3k/s), times ns, us, ms and s.

/// The text for a figure that is not known.
pub const UNKNOWN: &str = "unknown";

/// A count: "7", "12.3k", "4.56M".
pub fn count(value: f64) -> String {
    scaled(value, 1_000.0, &["", "k", "M", "G", "T", "P"], "")
}

/// A rate per second: "12.3k/s".
pub fn rate(per_s: f64) -> String {
    if per_s.is_finite() { format!("{}/s", count(per_s)) } else { UNKNOWN.to_owned() }
}

/// A span given in nanoseconds: "812 ns", "83.1 us", "4.17 ms", "12.0 s".
pub fn span(ns: f64) -> String {
    if !ns.is_finite() {
        return UNKNOWN.to_owned();
    }
    if ns.abs() >= 7_200e9 {
        return format!("{:.1} h", ns / 3_600e9);
    }
    if ns.abs() >= 999.5e9 {
        return format!("{:.0} min", ns / 60e9);
    }
    scaled(ns, 1_000.0, &["ns", "us", "ms", "s"], " ")
}

/// A span in whole nanoseconds, as records hold it.
pub fn span_ns(ns: u64) -> String {
    span(ns as f64)
}

/// A size: "512 B", "4 KiB", "1.50 GiB"; whole multiples lose their zeros.
pub fn size(bytes: f64) -> String {
    let text = scaled(bytes, 1_024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"], " ");
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// A part of one: "43.2 %".
pub fn percent(part: f64) -> String {
    let hundredths = part * 100.0;
    if hundredths.is_finite() { format!("{} %", digits(hundredths)) } else { UNKNOWN.to_owned() }
}

/// A ratio: "0.83 x", "12.4 x".
pub fn times(ratio: f64) -> String {
    if !ratio.is_finite() {
        return UNKNOWN.to_owned();
    }
    if ratio.abs() < 10.0 { format!("{ratio:.2} x") } else { format!("{} x", count(ratio)) }
}

/// A figure without a unit in three significant digits.
pub fn figure(value: f64) -> String {
    if value.is_finite() && value.abs() < 1_000.0 { digits(value) } else { count(value) }
}

/// A count with its noun: "1 client", "8 clients", "2 retries", "3 branches".
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 {
        return format!("1 {noun}");
    }
    let ends_in = |endings: &[&str]| endings.iter().any(|ending| noun.ends_with(ending));
    match noun.strip_suffix('y') {
        Some(stem) if !ends_in(&["ay", "ey", "oy"]) => format!("{count} {stem}ies"),
        _ if ends_in(&["s", "x", "ch", "sh"]) => format!("{count} {noun}es"),
        _ => format!("{count} {noun}s"),
    }
}

/// A figure, or "unknown" if there is none.
pub fn or_unknown<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), show)
}

/// `least` to `most`, as one word if they read the same: "11.2k to 12.3k/s".
pub fn rate_range(least: f64, most: f64) -> String {
    let (low, high) = (count(least), rate(most));
    if high == format!("{low}/s") { high } else { format!("{low} to {high}") }
}

fn scaled(value: f64, step: f64, units: &[&str], gap: &str) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    let mut rest = value;
    let mut unit = 0;
    // Rounded first, so that 999.7 becomes 1.00k and not 1000.
    while unit + 1 < units.len() && (rest.abs() >= step || rounded(rest).abs() >= step) {
        rest /= step;
        unit += 1;
    }
    let whole_base = unit == 0 && (value - value.round()).abs() < 1e-9;
    let number = if whole_base { format!("{value:.0}") } else { digits(rest) };
    format!("{number}{gap}{}", units[unit])
}

/// Three significant digits; no decimals from a hundred on.
fn digits(value: f64) -> String {
    let size = rounded(value).abs();
    if value == 0.0 {
        "0".to_owned()
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 1.0 {
        format!("{value:.2}")
    } else if size >= 0.000_01 {
        let decimals = (2.0 - size.log10().floor()) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.1e}")
    }
}

fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let place = 10_f64.powi(2 - value.abs().log10().floor() as i32);
    (value * place).round() / place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(rate(12_345.0), "12.3k/s");
        assert_eq!(rate(999.7), "1.00k/s");
        assert_eq!(rate(0.0), "0/s");
        assert_eq!(count(7.0), "7");
        assert_eq!(count(4_560_000.0), "4.56M");
        assert_eq!(span(812.0), "812 ns");
        assert_eq!(span(83_100.0), "83.1 us");
        assert_eq!(span(4_170_000.0), "4.17 ms");
        assert_eq!(span(12e9), "12.0 s");
        assert_eq!(span(7.2e12), "2.0 h");
        assert_eq!(size(4_096.0), "4 KiB");
        assert_eq!(size(256.0), "256 B");
        assert_eq!(size(1_048_576.0), "1 MiB");
        assert_eq!(size(1_047_552.0), "1023 KiB");
        assert_eq!(size(1_610_612_736.0), "1.5 GiB");
        assert_eq!(percent(0.4321), "43.2 %");
        assert_eq!(figure(0.001_093), "0.00109");
        assert_eq!(figure(0.25), "0.250");
        assert_eq!(figure(0.000_001_2), "1.2e-6");
        assert_eq!(times(0.8333), "0.83 x");
        assert_eq!(times(33.21), "33.2 x");
        assert_eq!(rate_range(11_200.0, 12_300.0), "11.2k to 12.3k/s");
        assert_eq!(rate_range(12_301.0, 12_302.0), "12.3k/s");
    }

    /// Every function over the smallest to the largest figures and over values that are not finite.
    #[test]
    fn no_figure_prints_as_infinite_or_as_not_a_number() {
        let mut values = vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        values.extend([f64::MAX, f64::MIN, f64::MIN_POSITIVE, f64::EPSILON, 5e-324]);
        values.extend((-40..40).flat_map(|power| {
            [0.9994, 0.9996, 1.0, 9.996, -3.3].map(|digit| digit * 10_f64.powi(power))
        }));
        for value in values {
            for text in [
                count(value),
                rate(value),
                span(value),
                size(value),
                percent(value),
                times(value),
                figure(value),
                rate_range(value, value),
            ] {
                let lower = text.to_lowercase();
                assert!(!lower.contains("inf") && !lower.contains("nan"), "{value}: {text}");
                assert!(value.is_finite() || text.contains(UNKNOWN), "{value}: {text}");
            }
        }
    }

    // D20
    #[test]
    fn one_of_something_is_singular_and_others_are_plural() {
        for (count, noun, text) in [
            (1, "client", "1 client"),
            (0, "client", "0 clients"),
            (8, "client", "8 clients"),
            (2, "retry", "2 retries"),
            (3, "branch", "3 branches"),
            (4, "key", "4 keys"),
        ] {
            assert_eq!(plural(count, noun), text);
        }
    }

    #[test]
    fn figures_of_three_digits_stay_narrow() {
        for power in 0..14 {
            for digit in [1.0, 1.2345, 9.994, 9.996] {
                let text = count(digit * 10_f64.powi(power) + 0.1);
                assert!(text.len() <= 5, "{text}");
            }
        }
    }
}
