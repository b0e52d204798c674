//! The article on transaction performance, 2008.

use super::source::{Source, parse};
use serde::Deserialize;
use std::sync::LazyLock;

/// The figures of the article.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FromDual {
    pub(crate) source: Source,
    pub(crate) estimates: Vec<FromDualEstimate>,
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test compares the rate with it"))]
    pub(crate) writetest: FromDualWrites,
    pub(crate) commit_every: CommitEvery,
}

/// One answer to how many transactions per second the disk can do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FromDualEstimate {
    pub(crate) name: String,
    pub(crate) per_s: f64,
    /// The time of one, as printed.
    pub(crate) ms: f64,
    pub(crate) what: String,
}

/// The run of the log writer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), expect(dead_code, reason = "only the test compares the rate with it"))]
pub(crate) struct FromDualWrites {
    pub(crate) writes: f64,
    pub(crate) seconds: f64,
}

/// The one point of the curve that has a figure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommitEvery {
    pub(crate) inserts: u64,
    /// Inserts per commit of that figure.
    pub(crate) published_at: u64,
    pub(crate) per_s: f64,
}

/// The published figures.
pub(crate) fn from_dual() -> &'static FromDual {
    static FILE: LazyLock<FromDual> =
        LazyLock::new(|| parse(include_str!("../../data/published/fromdual.json")));
    &FILE
}

#[cfg(test)]
mod tests {
    use super::from_dual;

    #[test]
    fn each_rate_is_one_over_its_time() {
        from_dual().source.assert_whole();
        assert_eq!(from_dual().estimates.len(), 5);
        for one in &from_dual().estimates {
            assert!((1_000.0 / one.per_s - one.ms).abs() <= 0.051, "{one:?}");
        }
    }

    #[test]
    fn named_rows_agree_with_their_inputs() {
        let file = from_dual();
        let rate = |name: &str| file.estimates.iter().find(|one| one.name == name).unwrap().per_s;
        let writes = file.writetest.writes / file.writetest.seconds;
        assert!((rate("syncs of one block") - writes).abs() < 0.005);
        assert!((rate("single-insert commits") - file.commit_every.per_s).abs() < 1e-9);
        let took_s = file.commit_every.inserts as f64 / file.commit_every.per_s;
        assert!((took_s - 18.0).abs() < 0.1, "{took_s}");
        // Seek, half a turn, and 16 KiB at the media rate.
        let access_ms = 8.8 + 60_000.0 / 7_200.0 / 2.0 + 16_384.0 / 96.4e6 * 1e3;
        assert!((1_000.0 / access_ms - rate("calculated")).abs() < 0.3);
    }
}
