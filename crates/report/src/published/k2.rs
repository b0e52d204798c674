//! The results of the K2 platform, 2022.

use super::source::{Source, parse};
use serde::Deserialize;
use std::sync::LazyLock;

/// The published figures by mix.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct K2 {
    pub(crate) source: Source,
    pub(crate) mixes: Vec<K2Mix>,
}

/// The figures of one load.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct K2Mix {
    /// As the source writes it.
    pub(crate) mix: String,
    pub(crate) load: K2Load,
    pub(crate) metrics: Vec<K2Metric>,
}

/// The load.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum K2Load {
    /// Weights of the five transactions.
    Tpcc { payment: f64, order_status: f64, delivery: f64, new_order: f64, stock_level: f64 },
    /// Weights of two operations, and Syncline's name for the distribution of keys.
    Ycsb { read: f64, update: f64, distribution: String },
}

/// One row of the source's table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct K2Metric {
    /// Syncline's name for it.
    pub(crate) metric: String,
    pub(crate) columns: Vec<K2Column>,
}

/// One cell of the source's table; a figure that it does not give is `None`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct K2Column {
    /// The column's date.
    pub(crate) when: String,
    /// The rate per second.
    pub(crate) per_s: Option<f64>,
    /// An upper bound of the rate, if the source gives only that.
    pub(crate) below_per_s: Option<f64>,
    /// Percentiles 50, 90, 99 and 99.9 in microseconds.
    pub(crate) us: Option<[f64; 4]>,
}

/// The published figures.
pub(crate) fn k2() -> &'static K2 {
    static FILE: LazyLock<K2> =
        LazyLock::new(|| parse(include_str!("../../data/published/k2.json")));
    &FILE
}

impl K2Mix {
    /// The columns of a metric; empty if it was not published.
    pub(crate) fn columns(&self, metric: &str) -> &[K2Column] {
        self.metrics.iter().find(|one| one.metric == metric).map_or(&[], |one| &one.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::{K2Load, K2Mix, k2};

    fn rate(mix: &K2Mix, metric: &str, when: &str) -> f64 {
        let columns = mix.columns(metric);
        columns.iter().find(|column| column.when == when).unwrap().per_s.unwrap()
    }

    #[test]
    fn the_file_holds_six_mixes_and_its_source() {
        k2().source.assert_whole();
        assert_eq!(k2().mixes.len(), 6);
        for mix in &k2().mixes {
            let weights = match &mix.load {
                K2Load::Tpcc { payment, order_status, delivery, new_order, stock_level } => {
                    payment + order_status + delivery + new_order + stock_level
                }
                K2Load::Ycsb { read, update, .. } => read + update,
            };
            assert!((weights - 100.0).abs() < 1e-9, "{}", mix.mix);
        }
    }

    #[test]
    fn percentiles_rise_and_every_column_has_a_figure() {
        for mix in &k2().mixes {
            for column in mix.metrics.iter().flat_map(|metric| &metric.columns) {
                let rises = |us: [f64; 4]| us.is_sorted() && us[0] > 0.0;
                assert!(column.us.is_none_or(rises), "{}: {column:?}", mix.mix);
                let figures = [column.per_s, column.below_per_s, column.us.map(|us| us[0])];
                assert!(figures.iter().any(Option::is_some), "{column:?}");
                assert!(column.when.starts_with("2022/"), "{column:?}");
            }
        }
    }

    /// Each attempt of a transaction takes one timestamp, so timestamps - transactions = aborts, within the
    /// printed digits.
    #[test]
    fn timestamps_are_transactions_and_aborts() {
        for mix in k2().mixes.iter().filter(|mix| mix.mix.starts_with("TPC-C")) {
            for when in ["2022/01/30", "2022/03/16", "2022/04/18", "2022/10/27"] {
                let attempts = rate(mix, "transactions", when) + rate(mix, "aborts", when);
                let timestamps = rate(mix, "timestamp", when);
                assert!((timestamps / attempts - 1.0).abs() < 0.02, "{} {when}", mix.mix);
            }
        }
    }

    /// One operation per transaction: reads and writes have the shares of the mix if keys are uniform.
    #[test]
    fn operations_of_ycsb_have_the_shares_of_the_mix() {
        for mix in &k2().mixes {
            let K2Load::Ycsb { read, distribution, .. } = &mix.load else {
                continue;
            };
            for when in ["2022/03/16", "2022/04/18", "2022/10/27"] {
                let reads = rate(mix, "reads", when);
                let share = reads / (reads + rate(mix, "writes", when));
                let near = if distribution == "uniform" { 0.01 } else { 0.03 };
                assert!((share - read / 100.0).abs() < near, "{} {when}", mix.mix);
            }
        }
    }

    #[test]
    fn the_repeated_column_is_the_one_that_the_known_errors_name() {
        let repeated: Vec<&str> = k2()
            .mixes
            .iter()
            .filter(|mix| mix.columns("flush").windows(2).any(|two| two[0].us == two[1].us))
            .map(|mix| mix.mix.as_str())
            .collect();
        assert_eq!(repeated, ["TPC-C {43,4,4,45,4}"]);
        let mut errors = k2().source.known_errors.iter();
        assert!(errors.any(|one| one.contains("flush latency of TPC-C {43,4,4,45,4}")));
    }
}
