//! The statistics as metrics with stable names, for monitoring.
//!
//! Names and meanings do not change; new ones may be added. A counter only rises while the database is open,
//! and begins at zero when it is opened. The text form is that of `OpenMetrics` 1.0, which Prometheus reads,
//! also from a file through the text collector of its `node_exporter`.

use crate::conflict::Conflict;
use crate::database::stats::Stats;
use std::fmt;

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Metric {
    /// Its name, without the ending of a counter: `syncline_commits`.
    pub name: &'static str,
    /// What is measured, in one line.
    pub help: &'static str,
    /// Whether it only rises.
    pub is_counter: bool,
    /// The name and the value of its label, if it has one.
    pub label: Option<(&'static str, &'static str)>,
    /// Its value. Times are in seconds, sizes in bytes.
    pub value: f64,
}

/// Metrics of a database at one moment: see [`Stats::metrics`].
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics(Vec<Metric>);

impl Metrics {
    /// All metrics. Those of one name, with different labels, follow each other.
    pub fn all(&self) -> &[Metric] {
        &self.0
    }

    /// The value of the metric with that name, and the first of its labels.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|metric| metric.name == name).map(|metric| metric.value)
    }
}

/// The metrics as `OpenMetrics` text.
impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = "";
        for metric in &self.0 {
            let Metric { name, help, is_counter, label, value } = metric;
            if *name != last {
                let kind = if *is_counter { "counter" } else { "gauge" };
                writeln!(f, "# TYPE {name} {kind}\n# HELP {name} {help}")?;
                last = name;
            }
            write!(f, "{name}{}", if *is_counter { "_total" } else { "" })?;
            if let Some((label, of)) = label {
                write!(f, "{{{label}=\"{of}\"}}")?;
            }
            writeln!(f, " {value}")?;
        }
        writeln!(f, "# EOF")
    }
}

impl Stats {
    /// The statistics as metrics with stable names.
    ///
    /// ```
    /// use syncline_engine::{Database, Kind, Options, Schema, values};
    ///
    /// # fn main() -> syncline_engine::Result<()> {
    /// let database = Database::transient(Options::default())?;
    /// let schema = Schema::table("event").column("id", Kind::Int).key(["id"]);
    /// let events = database.create_table(schema.build()?)?;
    /// database.run(|transaction| transaction.insert(&events, values![1]))?;
    /// let metrics = database.stats().metrics();
    /// assert!(metrics.value("syncline_commits") >= Some(1.0));
    /// assert!(metrics.to_string().contains("syncline_conflicts_total{cause=\"locked\"} 0\n"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn metrics(&self) -> Metrics {
        let mut list = List(Vec::new());
        let transactions = &self.transactions;
        list.counter("syncline_commits", "commits that wrote something", transactions.commits);
        list.counter(
            "syncline_commits_without_writes",
            "commits that wrote nothing",
            transactions.commits_without_writes,
        );
        list.counter("syncline_aborts", "transactions ended by their caller", transactions.aborts);
        list.counter("syncline_refused", "commits refused by the rows", transactions.refused);
        for cause in Conflict::ALL {
            let metric = list.counter(
                "syncline_conflicts",
                "transactions that had to be run again, by cause",
                transactions.conflicts_by(cause),
            );
            metric.label = Some(("cause", cause.word()));
        }
        list.counter("syncline_retries", "runs of a closure after its first", transactions.retries);
        list.counter(
            "syncline_exclusive_runs",
            "runs with other commits held up",
            transactions.exclusive_runs,
        );
        list.gauge(
            "syncline_open_transactions",
            "open transactions",
            self.open_transactions as u64,
        );
        let log = &self.log;
        list.counter("syncline_log_syncs", "syncs of the log", log.syncs);
        list.counter("syncline_log_groups", "groups of commits written", log.group_commits.count);
        list.counter("syncline_log_bytes", "bytes written to the log", log.write_bytes.sum);
        list.seconds("syncline_log_write_seconds", "time of the log's writes", log.write_ns.sum);
        list.seconds("syncline_log_sync_seconds", "time of separate syncs", log.sync_ns.sum);
        list.seconds(
            "syncline_log_room_wait_seconds",
            "time that commits waited for room in the log",
            log.room_wait_ns.sum,
        );
        list.gauge("syncline_log_file_bytes", "bytes of the log's files", log.file_bytes);
        list.counter("syncline_log_segments_archived", "segments archived", log.segments_archived);
        list.gauge(
            "syncline_log_segments_unarchived",
            "segments that wait to be archived",
            log.segments_unarchived,
        );
        if let Some(checkpoints) = &self.checkpoints {
            list.counter("syncline_checkpoints", "checkpoints in force", checkpoints.finished);
            list.counter(
                "syncline_checkpoint_bytes",
                "bytes written by checkpoints",
                checkpoints.bytes,
            );
            list.seconds(
                "syncline_checkpoint_gate_seconds",
                "time for which checkpoints held commits up",
                checkpoints.gate_ns,
            );
        }
        list.gauge("syncline_resident_bytes", "memory for pages", self.resident_bytes);
        list.gauge("syncline_version_bytes", "memory for older versions", self.version_bytes);
        list.counter("syncline_loaded_pages", "pages read from the data file", self.loaded_pages);
        list.counter("syncline_evicted_pages", "pages that left memory", self.evicted_pages);
        let failures = [
            ("archive", &self.archive_failure),
            ("checkpoint", &self.checkpoint_failure),
            ("log", &self.log_failure),
        ];
        for (part, failure) in failures {
            let metric = list.gauge(
                "syncline_failing",
                "1 while the last attempt of a part has failed",
                u64::from(failure.is_some()),
            );
            metric.label = Some(("part", part));
        }
        Metrics(list.0)
    }
}

struct List(Vec<Metric>);

impl List {
    fn counter(&mut self, name: &'static str, help: &'static str, value: u64) -> &mut Metric {
        self.push(name, help, true, value as f64)
    }

    fn gauge(&mut self, name: &'static str, help: &'static str, value: u64) -> &mut Metric {
        self.push(name, help, false, value as f64)
    }

    fn seconds(&mut self, name: &'static str, help: &'static str, value_ns: u64) {
        self.push(name, help, true, value_ns as f64 / 1e9);
    }

    fn push(
        &mut self,
        name: &'static str,
        help: &'static str,
        is_counter: bool,
        value: f64,
    ) -> &mut Metric {
        let at = self.0.len();
        self.0.push(Metric { name, help, is_counter, label: None, value });
        &mut self.0[at]
    }
}

#[cfg(test)]
mod tests {
    use crate::{Database, Options};
    use std::collections::BTreeSet;

    #[test]
    fn the_text_describes_each_name_once_and_ends_as_the_format_says() {
        let database = Database::transient(Options::tiny()).expect("room for a small database");
        let metrics = database.stats().metrics();
        let text = metrics.to_string();
        let (mut described, mut current) = (BTreeSet::new(), "");
        for line in text.lines().filter(|line| *line != "# EOF") {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a name and a kind");
                assert!(["counter", "gauge"].contains(&kind), "{line}");
                assert!(described.insert(name), "{name} is described twice");
                current = name;
            } else if let Some(rest) = line.strip_prefix("# HELP ") {
                assert!(rest.starts_with(current), "{line}");
            } else {
                let (name, value) = line.rsplit_once(' ').expect("a name and a value");
                assert!(name.starts_with(current), "{line} follows {current}");
                assert!(value.parse::<f64>().is_ok(), "{line}");
            }
        }
        let names: BTreeSet<_> = metrics.all().iter().map(|metric| metric.name).collect();
        assert_eq!(described, names);
        assert!(text.ends_with("\n# EOF\n"));
        assert_eq!(metrics.value("syncline_open_transactions"), Some(0.0));
        assert!(text.contains("syncline_failing{part=\"log\"} 0\n"));
    }
}
