//! YCSB's properties, translated to an option of the workload, a part of the plan, or nothing.
//!
//! A property without effect causes one warning by name, and so does one that no version of YCSB's core
//! workload knows: property files contain keys of bindings and other programs, which YCSB ignores. A name
//! close to a property of the core workload is refused, since a misspelt property would change the run.

use super::clients::clients;
use super::suggestion::suggestion_for;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use syncline_console::CannotRun;
use syncline_workloads::ycsb::FieldHistogram;

/// The latencies that the result lines report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interval {
    /// From the start of the operation.
    Op,
    /// From its scheduled start.
    Intended,
    /// Both.
    Both,
}

/// The parsed properties of a run.
#[derive(Debug)]
pub(super) struct ParsedProperties {
    /// Options of the workload.
    pub(super) options: Vec<(String, String)>,
    /// The number of records.
    pub(super) records: u64,
    /// The records that a load loads or a run uses, by number.
    pub(super) part: Range<u64>,
    /// Operations; none if only time ends the run.
    pub(super) operations: Option<u64>,
    /// Time; none if only the count ends the run.
    pub(super) duration: Option<Duration>,
    /// The time before the measurement (a property of go-ycsb; YCSB has none).
    pub(super) warm_up: Duration,
    /// Clients.
    pub(super) threads: usize,
    /// Operations per second, for all threads together.
    pub(super) target_per_s: Option<f64>,
    /// Which latencies to report.
    pub(super) interval: Interval,
    /// The percentiles to report.
    pub(super) percentiles: Vec<f64>,
    /// The file for the result lines; none prints them.
    pub(super) export_file: Option<String>,
    /// The file of the histogram that field lengths come from.
    pub(super) histogram: Option<String>,
    /// True if the mix inserts rows.
    pub(super) changes_rows: bool,
    /// True if the mix has read-modify-writes.
    pub(super) modifies: bool,
    /// True if every read is verified.
    pub(super) verifies: bool,
    /// Warnings for properties without effect.
    pub(super) warnings: Vec<String>,
}

/// Properties whose values become an option unchanged.
const AS_THEY_ARE: &[(&str, &str)] = &[
    ("recordcount", "records"),
    ("fieldcount", "fields"),
    ("fieldlength", "field_bytes"),
    ("minfieldlength", "field_bytes_min"),
    ("table", "table"),
    ("fieldnameprefix", "field_prefix"),
    ("readproportion", "read"),
    ("updateproportion", "update"),
    ("insertproportion", "insert"),
    ("scanproportion", "scan"),
    ("readmodifywriteproportion", "read_modify_write"),
    ("hotspotdatafraction", "hotspot_data"),
    ("hotspotopnfraction", "hotspot_draws"),
    ("exponential.percentile", "exponential_percentile"),
    ("exponential.frac", "exponential_data"),
    ("minscanlength", "scan_rows_min"),
    ("maxscanlength", "scan_rows_max"),
    ("scanlengthdistribution", "scan_lengths"),
    ("zeropadding", "zero_padding"),
    ("insertorder", "insert_order"),
];

/// Properties with true or false, and their options.
const YES_OR_NO: &[(&str, &str)] =
    &[("readallfields", "read_all_fields"), ("writeallfields", "write_all_fields")];

/// Properties with a fixed set of values.
const WORDS: &[(&str, &[&str])] = &[
    (
        "workload",
        &["site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload", "core"],
    ),
    ("fieldlengthdistribution", &["constant", "uniform", "zipfian", "histogram"]),
    (
        "requestdistribution",
        &["uniform", "zipfian", "latest", "hotspot", "sequential", "exponential"],
    ),
    ("measurement.interval", &["op", "intended", "both"]),
];

/// Properties without effect here, and why.
const NOTHING: &[(&str, &str)] = &[
    ("readallfieldsbyname", "fields are always named"),
    ("core_workload_insertion_retry_limit", "a load fails as a whole"),
    ("core_workload_insertion_retry_interval", "a load fails as a whole"),
    ("core_workload_insertion_keep_going_on_error", "a load fails as a whole"),
    ("measurement.histogram.verbose", "the record holds the histograms' percentiles"),
    ("histogram.buckets", "histograms keep three digits"),
    ("hdrhistogram.fileoutput", "the record holds the histograms' percentiles"),
    ("hdrhistogram.output.path", "the record holds the histograms' percentiles"),
    ("timeseries.granularity", "the record holds one interval per second"),
    ("measurement.raw.output_file", "individual latencies are not kept"),
    ("measurement.raw.no_summary", "individual latencies are not kept"),
    ("measurement.trackjvm", "there is no JVM"),
    ("status.interval", "progress is always shown"),
    ("reportlatencyforeacherror", "failures are counted by cause"),
    ("latencytrackederrors", "failures are counted by cause"),
    ("exporter", "results are printed in YCSB's lines and kept in the record"),
    ("label", "the record holds the command line"),
    ("status", "progress is always shown"),
    ("dotransactions", "load or run names the phase"),
    ("db", "--on names the store"),
];

/// Properties of the run itself, which [`ParsedProperties::of_the_run`] parses.
const OF_THE_RUN: &[&str] = &[
    "operationcount",
    "maxexecutiontime",
    "warmuptime",
    "threadcount",
    "target",
    "dataintegrity",
    "measurementtype",
    "hdrhistogram.percentiles",
    "exportfile",
    "fieldlengthhistogram",
    "insertstart",
    "insertcount",
];

/// Every property of YCSB's core workload and client, in the order of the lists above.
pub(super) fn known_properties() -> impl Iterator<Item = &'static str> {
    let taken = AS_THEY_ARE.iter().chain(YES_OR_NO).map(|(name, _)| *name);
    let words = WORDS.iter().map(|(name, _)| *name);
    let nothing = NOTHING.iter().map(|(name, _)| *name);
    taken.chain(words).chain(nothing).chain(OF_THE_RUN.iter().copied())
}

/// YCSB's default file of field lengths.
const HISTOGRAM: &str = "hist.txt";

/// The prefixes of the properties of database bindings.
const BINDINGS: &[&str] = &[
    "db.",
    "jdbc.",
    "mongodb.",
    "redis.",
    "cassandra.",
    "basicdb.",
    "hosts",
    "port",
    "columnfamily",
];

impl ParsedProperties {
    /// Parses properties in order; `running`: the operations require an end.
    pub(super) fn of(
        properties: &[(String, String)],
        running: bool,
    ) -> Result<ParsedProperties, CannotRun> {
        let mut last: BTreeMap<&str, &str> = BTreeMap::new();
        for (key, value) in properties {
            last.insert(key, value);
        }
        let mut parsed = ParsedProperties {
            options: Vec::new(),
            records: 0,
            part: 0..0,
            operations: None,
            duration: None,
            warm_up: Duration::ZERO,
            threads: 1,
            target_per_s: None,
            interval: Interval::Op,
            percentiles: vec![50.0, 95.0, 99.0],
            export_file: None,
            histogram: None,
            changes_rows: false,
            modifies: false,
            verifies: false,
            warnings: Vec::new(),
        };
        for (key, value) in &last {
            parsed.take(key, value)?;
        }
        parsed.end(&last, running)?;
        Ok(parsed)
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), CannotRun> {
        let listed = |list: &[(&'static str, &'static str)]| {
            let found = list.iter().find(|(name, _)| *name == key);
            found.map(|(_, other)| *other)
        };
        if let Some(option) = listed(AS_THEY_ARE) {
            self.set(option, value);
            return Ok(());
        }
        if let Some(option) = listed(YES_OR_NO) {
            let word = if yes(key, value)? { "yes" } else { "no" };
            self.set(option, word);
            return Ok(());
        }
        if let Some(why) = listed(NOTHING) {
            self.warn(key, why);
            return Ok(());
        }
        if let Some((_, words)) = WORDS.iter().find(|(name, _)| *name == key) {
            known(key, value, words)?;
            self.word(key, value);
            return Ok(());
        }
        if BINDINGS.iter().any(|binding| key.starts_with(binding)) {
            self.warn(key, "it belongs to a database binding, and --on names the store");
            return Ok(());
        }
        self.of_the_run(key, value)
    }

    /// Parses a property of [`WORDS`].
    fn word(&mut self, key: &str, value: &str) {
        match (key, value) {
            ("fieldlengthdistribution", _) => self.set("field_lengths", value),
            ("requestdistribution", "zipfian") => self.set("distribution", "scrambled"),
            ("requestdistribution", _) => self.set("distribution", value),
            ("measurement.interval", "intended") => self.interval = Interval::Intended,
            ("measurement.interval", "both") => self.interval = Interval::Both,
            // The other values are what happens anyway.
            _ => {}
        }
    }

    /// Parses a property of the length, the rate, the clients or the report of a run.
    fn of_the_run(&mut self, key: &str, value: &str) -> Result<(), CannotRun> {
        match key {
            "operationcount" => {
                self.operations = Some(number(key, value)?).filter(|count| *count > 0);
                Ok(())
            }
            "maxexecutiontime" => {
                let seconds = number(key, value)?;
                self.duration = (seconds > 0).then(|| Duration::from_secs(seconds));
                Ok(())
            }
            "warmuptime" => {
                self.warm_up = Duration::from_secs(number(key, value)?);
                Ok(())
            }
            "threadcount" => {
                self.threads = clients(key, number(key, value)?.max(1))?;
                Ok(())
            }
            "target" => {
                let rate: Option<f64> = value.parse().ok().filter(|rate: &f64| rate.is_finite());
                let rate = rate.ok_or_else(|| invalid(key, value, "operations per second"))?;
                self.target_per_s = (rate > 0.0).then_some(rate);
                Ok(())
            }
            "dataintegrity" => {
                if yes(key, value)? {
                    self.set("verify", "row");
                    self.verifies = true;
                }
                Ok(())
            }
            "measurementtype" => {
                if value != "hdrhistogram" && value != "histogram" {
                    self.warn(key, "latencies are kept in HdrHistograms");
                }
                Ok(())
            }
            "hdrhistogram.percentiles" => {
                let percentile = |one: &str| {
                    let parsed = one.trim().parse().ok();
                    parsed.filter(|percent| (0.0..=100.0).contains(percent))
                };
                let parsed: Option<Vec<f64>> = value.split(',').map(percentile).collect();
                self.percentiles =
                    parsed.ok_or_else(|| invalid(key, value, "percentiles such as 50,99"))?;
                Ok(())
            }
            "exportfile" => {
                self.export_file = Some(value.to_owned()).filter(|path| !path.is_empty());
                Ok(())
            }
            // The end of parsing shows whether it is used.
            "fieldlengthhistogram" => Ok(()),
            // Compared with the number of records at the end of parsing.
            "insertstart" | "insertcount" => number(key, value).map(drop),
            unknown => {
                if let Some(suggestion) = suggestion_for(unknown, known_properties()) {
                    return Err(CannotRun(format!(
                        "\"{unknown}\" is not a property of YCSB's core workload; did you mean \"{suggestion}\"?"
                    )));
                }
                self.warn(unknown, "YCSB's core workload does not read it");
                Ok(())
            }
        }
    }

    /// Checks and completes what depends on several properties.
    fn end(&mut self, last: &BTreeMap<&str, &str>, running: bool) -> Result<(), CannotRun> {
        let of = |key: &str| last.get(key).map_or(Ok(0), |value| number(key, value));
        self.records = of("recordcount")?;
        if self.records == 0 {
            return Err(CannotRun::because(
                "recordcount is not given: give -p recordcount=1000, or a file with -P",
            ));
        }
        let first = of("insertstart")?;
        let count = if last.contains_key("insertcount") {
            of("insertcount")?
        } else {
            self.records.saturating_sub(first)
        };
        let end = first.checked_add(count).filter(|end| *end <= self.records);
        let Some(end) = end.filter(|_| count > 0) else {
            return Err(CannotRun(format!(
                "insertstart={first} and insertcount={count} are not within the {} records of recordcount",
                self.records
            )));
        };
        self.part = first..end;
        if count < self.records {
            self.set("insert_start", &first.to_string());
            self.set("insert_count", &count.to_string());
        }
        if running && self.operations.is_none() && self.duration.is_none() {
            return Err(CannotRun::because(
                "a run needs an end: give -p operationcount=N, -p maxexecutiontime=SECONDS or both",
            ));
        }
        let file = last.get("fieldlengthhistogram").copied();
        if last.get("fieldlengthdistribution") == Some(&"histogram") {
            self.histogram = Some(file.unwrap_or(HISTOGRAM).to_owned());
        } else if file.is_some() {
            self.warn("fieldlengthhistogram", "fieldlengthdistribution is not histogram");
        }
        let share = |key: &str| last.get(key).and_then(|value| value.parse::<f64>().ok());
        let inserts = share("insertproportion").unwrap_or_default();
        self.changes_rows = inserts > 0.0;
        self.modifies = share("readmodifywriteproportion").unwrap_or_default() > 0.0;
        if let Some(operations) = self.operations
            && self.changes_rows
        {
            // YCSB allows twice the expected inserts.
            let new = (operations as f64 * inserts * 2.0).min(4e9) as u64;
            self.set("new_keys", &new.to_string());
        }
        Ok(())
    }

    /// Reads the histogram of field lengths, if there is one; `read` reads a file.
    pub(super) fn read_histogram(
        &mut self,
        read: impl Fn(&str) -> Result<String, CannotRun>,
    ) -> Result<(), CannotRun> {
        let Some(path) = self.histogram.take() else {
            return Ok(());
        };
        let histogram = FieldHistogram::of_file(&read(&path)?).map_err(|why| {
            CannotRun(format!("the histogram {path} (fieldlengthhistogram): {why}"))
        })?;
        self.set("field_histogram", &histogram.word());
        Ok(())
    }

    fn set(&mut self, option: &str, value: &str) {
        self.options.push((option.to_owned(), value.to_owned()));
    }

    fn warn(&mut self, key: &str, why: &str) {
        self.warnings.push(format!("property {key} has no effect here: {why}"));
    }
}

fn number(key: &str, value: &str) -> Result<u64, CannotRun> {
    value.parse().map_err(|_error| invalid(key, value, "a whole number"))
}

fn yes(key: &str, value: &str) -> Result<bool, CannotRun> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(invalid(key, value, "true or false")),
    }
}

fn known(key: &str, value: &str, all: &[&str]) -> Result<(), CannotRun> {
    if all.contains(&value) {
        return Ok(());
    }
    Err(invalid(key, value, &all.join(", ")))
}

fn invalid(key: &str, value: &str, takes: &str) -> CannotRun {
    CannotRun(format!("property {key} is \"{value}\"; it must be {takes}"))
}

#[cfg(test)]
#[path = "ycsb_properties_tests.rs"]
mod tests;
