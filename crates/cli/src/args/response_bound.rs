//! `--find-max 'p99 < 10ms'`: a bound on response times.

use std::fmt;
use syncline_console::value;
use syncline_record::Latency;

/// A percentile of response times, and the time that it must stay below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResponseBound {
    percentile: Percentile,
    below_ns: u64,
    /// The time as it was typed.
    below: String,
}

/// What is bounded, as records hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Percentile {
    P50,
    P90,
    P99,
    P999,
    Max,
}

const NAMES: [(&str, Percentile); 5] = [
    ("p50", Percentile::P50),
    ("p90", Percentile::P90),
    ("p99", Percentile::P99),
    ("p99.9", Percentile::P999),
    ("max", Percentile::Max),
];

/// Parses `p99 < 10ms`, with or without blanks.
pub(super) fn response_bound(typed: &str) -> Result<ResponseBound, String> {
    let Some((name, below)) = typed.split_once('<') else {
        return Err(format!("\"{typed}\" is not of the form \"p99 < 10ms\""));
    };
    let (name, below) = (name.trim(), below.split_whitespace().collect::<String>());
    let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let Some((_, percentile)) = known else {
        let names = NAMES.map(|(name, _)| name).join(", ");
        return Err(format!("\"{name}\" is not one of {names}"));
    };
    let time = value::some_duration(&below)?;
    let below_ns =
        u64::try_from(time.as_nanos()).map_err(|_error| format!("{below} is too long"))?;
    Ok(ResponseBound { percentile: *percentile, below_ns, below })
}

impl ResponseBound {
    /// The time of the bounded percentile.
    pub(crate) fn of(&self, times: &Latency) -> u64 {
        match self.percentile {
            Percentile::P50 => times.p50,
            Percentile::P90 => times.p90,
            Percentile::P99 => times.p99,
            Percentile::P999 => times.p999,
            Percentile::Max => times.max,
        }
    }

    /// True if such times satisfy the bound.
    pub(crate) fn holds(&self, times: &Latency) -> bool {
        self.of(times) < self.below_ns
    }

    /// The name of the percentile.
    pub(crate) fn percentile(&self) -> &'static str {
        let named = NAMES.iter().find(|(_, percentile)| *percentile == self.percentile);
        named.expect("each has a name").0
    }

    /// The least number of transactions whose times have such a percentile: ten must be above it.
    pub(crate) fn count_min(&self) -> u64 {
        match self.percentile {
            Percentile::P50 | Percentile::Max => 20,
            Percentile::P90 => 100,
            Percentile::P99 => 1_000,
            Percentile::P999 => 10_000,
        }
    }
}

impl fmt::Display for ResponseBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} < {}", self.percentile(), self.below)
    }
}

#[cfg(test)]
mod tests {
    use super::response_bound;
    use syncline_record::Latency;

    #[test]
    fn a_bound_names_a_percentile_and_a_time() {
        let times =
            Latency { p50: 1, p90: 2, p99: 9_999_999, p999: 10_000_000, max: 20, mean: 1.0 };
        for (typed, holds) in [("p99 < 10ms", true), ("p99.9<10ms", false), ("P50 < 1 us", true)] {
            let bound = response_bound(typed).unwrap();
            assert_eq!(bound.holds(&times), holds, "{bound}");
        }
        assert_eq!(response_bound("P99.9<25 ms").unwrap().to_string(), "p99.9 < 25ms");
        for invalid in
            ["", "p99", "p99 > 10ms", "p98 < 1ms", "p99 < 0ms", "p99 < ", "p99 < 10 parsecs"]
        {
            assert!(response_bound(invalid).is_err(), "{invalid} is refused");
        }
    }
}
