//! The stress tests of the bigdata journal, 2007.

use super::source::{Source, parse};
use serde::Deserialize;
use std::sync::LazyLock;

/// Both tests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bigdata {
    pub(crate) source: Source,
    pub(crate) concurrent_tx: ConcurrentTx,
    pub(crate) mrow: Mrow,
}

/// Concurrent transactions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConcurrentTx {
    /// Submitted transactions.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test compares the counts with it"))]
    pub(crate) transactions: u64,
    pub(crate) rows: Vec<ConcurrentTxRow>,
}

/// A line of that test, as printed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConcurrentTxRow {
    pub(crate) mode: String,
    pub(crate) clients: u64,
    /// As printed, aborted ones included.
    pub(crate) ncommitted: u64,
    pub(crate) naborted: u64,
    pub(crate) nfailed: u64,
    pub(crate) nuncommitted: u64,
    pub(crate) ms: u64,
    /// As printed: whole transactions per second, aborted ones included.
    pub(crate) printed_tps: u64,
    /// Corrected: (ncommitted - naborted) / s.
    pub(crate) commits_per_s: f64,
    /// Aborted ones in percent of those printed as committed.
    pub(crate) aborted_percent: f64,
}

/// Many readers, one writer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mrow {
    /// Submitted tasks.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test compares the counts with it"))]
    pub(crate) tasks: u64,
    /// Record reads of a task.
    pub(crate) reads_per_task: u64,
    pub(crate) rows: Vec<MrowRow>,
}

/// A line of that test, as printed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MrowRow {
    pub(crate) mode: String,
    pub(crate) nok: u64,
    pub(crate) ncancelled: u64,
    pub(crate) nerr: u64,
    pub(crate) ms: u64,
    /// As printed: tasks per second.
    pub(crate) printed_reads_per_s: u64,
    /// Records written at the end, including those before the clock started.
    pub(crate) nwritten: u64,
}

/// The published figures.
pub(crate) fn bigdata() -> &'static Bigdata {
    static FILE: LazyLock<Bigdata> =
        LazyLock::new(|| parse(include_str!("../../data/published/bigdata.json")));
    &FILE
}

#[cfg(test)]
mod tests {
    use super::bigdata;

    /// The accounting of 2007: an aborted transaction is in ncommitted, so three counts make up all.
    #[test]
    fn counts_of_the_stress_test_add_up_as_they_were_printed() {
        bigdata().source.assert_whole();
        let test = &bigdata().concurrent_tx;
        assert_eq!(test.rows.len(), 21);
        for row in &test.rows {
            let sum = row.ncommitted + row.nfailed + row.nuncommitted;
            assert_eq!(sum, test.transactions, "{row:?}");
            assert!(row.naborted <= row.ncommitted, "{row:?}");
        }
    }

    /// Printed rates were truncated to whole numbers.
    #[test]
    fn printed_and_corrected_rates_follow_from_the_counts() {
        for row in &bigdata().concurrent_tx.rows {
            let per_s = |count: u64| count as f64 * 1_000.0 / row.ms as f64;
            let printed = row.ncommitted * 1_000 / row.ms;
            assert_eq!(printed, row.printed_tps, "{row:?}");
            let corrected = per_s(row.ncommitted - row.naborted);
            assert!((corrected - row.commits_per_s).abs() <= 0.051, "{row:?} {corrected}");
            let share = row.naborted as f64 * 100.0 / row.ncommitted as f64;
            assert!((share - row.aborted_percent).abs() <= 0.051, "{row:?} {share}");
        }
    }

    #[test]
    fn lines_of_readers_add_up_and_their_rate_counts_tasks() {
        let test = &bigdata().mrow;
        assert_eq!((test.rows.len(), test.reads_per_task), (6, 100));
        for row in &test.rows {
            assert_eq!(row.nok + row.ncancelled + row.nerr, test.tasks, "{row:?}");
            assert_eq!(row.nok * 1_000 / row.ms, row.printed_reads_per_s, "{row:?}");
            assert!(row.nwritten > 2_500, "{row:?}");
        }
    }
}
