//! Records in the formats of other programs.

use crate::fixture::{self, ENGINE, SQLITE};
use crate::views::fitness_probes;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use std::collections::BTreeSet;
use std::time::Duration;
use syncline_record::{ProbeRecord, Record, RunRecord, SUMMARY_COLUMNS, Summary, SummaryValue};
use syncline_report::export;

fn encoded(times: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(times, &mut bytes).unwrap();
    BASE64_STANDARD.encode(bytes)
}

/// A thousand times from 1 ms to 1 s.
fn times() -> Histogram<u64> {
    let mut times = Histogram::new(3).unwrap();
    (1..=1_000).for_each(|ms| times.record(ms * 1_000_000).unwrap());
    times
}

fn with_histograms() -> RunRecord {
    let mut run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    for kind in &mut run.end.transactions {
        kind.service_histogram = Some(encoded(&times()));
    }
    for interval in &mut run.intervals {
        interval.response_histogram = Some(encoded(&times()));
    }
    run
}

fn records() -> Vec<Record> {
    let mut tagged = fixture::run(ENGINE, 64, 45_600.0, 6.5);
    tagged.identity.tag = Some("a \"quoted\" \\ tag, with | signs <b>".to_owned());
    let mut records = fixture::survey();
    records.push(tagged.into());
    records.push(fixture::verification().into());
    records.extend(fitness_probes().into_iter().map(Record::from));
    records
}

#[test]
fn a_row_of_csv_holds_the_values_of_the_summary() {
    let summaries: Vec<Summary> = records().iter().map(Record::summary).collect();
    let text = export::csv_of_summaries(&summaries);
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<&str> = SUMMARY_COLUMNS.iter().map(|column| column.name).collect();
    assert_eq!(table.headers().unwrap(), names);
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), summaries.len());
    for (row, summary) in rows.iter().zip(&summaries) {
        let read =
            row.iter().zip(SUMMARY_COLUMNS).map(|(field, column)| match (field, column.kind) {
                ("", _) => SummaryValue::Null,
                (text, "INTEGER") => SummaryValue::Integer(text.parse().unwrap()),
                (text, "REAL") => SummaryValue::Real(text.parse().unwrap()),
                (text, _) => SummaryValue::Text(text.to_owned()),
            });
        assert_eq!(Summary::from_values(read).as_ref(), Some(summary));
    }
}

#[test]
fn a_row_of_intervals_has_the_run_and_the_figures_of_the_interval() {
    let run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let text = export::csv_of_intervals(&[run.clone().into(), Record::from(fixture::probe())]);
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let names = table.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), run.intervals.len());
    for (row, interval) in rows.iter().zip(&run.intervals) {
        let of = |name: &str| &row[names.iter().position(|known| known == name).unwrap()];
        assert_eq!((of("id"), of("clients")), (run.identity.id.as_str(), "8"));
        let value = serde_json::to_value(interval).unwrap();
        for (name, value) in value.as_object().unwrap() {
            let expected = if value.is_null() { String::new() } else { value.to_string() };
            if name != "response_histogram" {
                let same = of(name) == expected || of(name).parse::<f64>().ok() == value.as_f64();
                assert!(same, "{name}: {} and {expected}", of(name));
            }
        }
    }
}

#[test]
fn signs_of_markdown_in_a_record_do_not_change_the_table() {
    let summaries: Vec<Summary> = records().iter().map(Record::summary).collect();
    let text = export::markdown(&summaries);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2 + summaries.len());
    for line in lines {
        let cells = line.replace("\\|", "").matches('|').count();
        assert_eq!(cells, 10, "{line}");
        assert!(!line.contains("<b>"), "{line}");
    }
}

/// Name and labels, and value, of each line; checks that every name has one type and one meaning before it.
fn metrics(text: &str) -> Vec<(String, f64)> {
    let (mut values, mut typed, mut now) = (Vec::new(), BTreeSet::new(), String::new());
    assert!(text.ends_with("# EOF\n"));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let name = rest.strip_suffix(" gauge").expect("all are gauges");
            assert!(typed.insert(name.to_owned()), "{name} has two types");
            name.clone_into(&mut now);
        } else if !line.starts_with('#') {
            let (key, value) = line.rsplit_once(' ').unwrap();
            assert!(key.starts_with(&format!("{now}{{")), "{key} is under {now}");
            values.push((key.to_owned(), value.parse().unwrap()));
        }
    }
    let keys: BTreeSet<&String> = values.iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), values.len(), "a collector refuses two lines with equal labels");
    values
}

fn value(metrics: &[(String, f64)], parts: &[&str]) -> Option<f64> {
    let mut found = metrics.iter().filter(|(key, _)| parts.iter().all(|part| key.contains(part)));
    let value = found.next()?.1;
    assert!(found.next().is_none(), "{parts:?} name one metric");
    Some(value)
}

#[test]
fn metrics_are_the_figures_of_the_record_in_seconds() {
    let found = metrics(&export::openmetrics(&records()));
    let run = fixture::run(ENGINE, 64, 45_600.0, 6.5);
    let p99 = run.main_transaction().unwrap().response_ns.unwrap().p99;
    let key = ["syncline_response_seconds", "clients=\"64\"", "quantile=\"0.99\"", "quoted"];
    assert_eq!(value(&found, &key), Some(p99 as f64 / 1e9));
    let tag = "tag=\"a \\\"quoted\\\" \\\\ tag, with | signs <b>\"";
    let rate = value(&found, &["syncline_commits_per_second{", tag]);
    assert_eq!(rate, Some(run.end.throughput_per_s));
    let held = found.iter().filter(|(key, _)| key.starts_with("syncline_promise_held"));
    assert_eq!(held.count(), 1);
    let probes = fitness_probes();
    let directories: BTreeSet<&str> =
        probes.iter().map(|probe| probe.body.directory.as_str()).collect();
    assert!(directories.len() > 1, "{directories:?}");
    for probe in &probes {
        let is_newest = |other: &&ProbeRecord| other.body.directory == probe.body.directory;
        let newest =
            probes.iter().filter(is_newest).max_by_key(|other| other.identity.started_wall_ns);
        if newest.is_some_and(|newest| newest.identity.id != probe.identity.id) {
            continue;
        }
        for fitness in &probe.body.fitness {
            let directory = format!("directory=\"{}\"", probe.body.directory);
            let product = format!("product=\"{}\"", fitness.product);
            let word = value(&found, &["syncline_fit{", &directory, &product]);
            let expected =
                [("fit", 1.0), ("unfit", 0.0)].into_iter().find(|(word, _)| *word == fitness.word);
            assert_eq!(word, expected.map(|(_, value)| value), "{directory} {product}");
        }
    }
}

#[test]
fn of_two_records_with_equal_labels_the_newest_is_printed() {
    let old = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let mut new = fixture::run(SQLITE, 8, 4_000.0, 1.0);
    new.identity.started_wall_ns = old.identity.started_wall_ns + 1;
    let records = [Record::from(new), Record::from(old)];
    let found = metrics(&export::openmetrics(&records));
    assert_eq!(value(&found, &["syncline_commits_per_second{"]), Some(4_000.0));
}

#[test]
fn metrics_of_an_interval_are_those_of_the_run_in_progress() {
    let run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let interval = &run.intervals[0];
    let text = export::openmetrics_of_interval(&run.identity, &run.head, interval);
    let found = metrics(&text);
    let rate = value(&found, &["syncline_commits_per_second{", "clients=\"8\""]);
    assert_eq!(rate, Some(interval.throughput_per_s()));
    let p99 = value(&found, &["syncline_response_seconds{", "quantile=\"0.99\""]);
    assert_eq!(p99, interval.response_p99_ns.map(|ns| ns as f64 / 1e9));
}

#[test]
fn a_percentile_spectrum_has_the_run_s_times() {
    let run = with_histograms();
    let text = export::hgrm(&run).unwrap();
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(2)
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().map(|field| field.parse().unwrap()).collect())
        .collect();
    for row in &rows {
        let [value, quantile, below, _] = row[..] else { panic!("{row:?}") };
        // The times are 1 to 1,000 ms.
        assert!((value - quantile * 1_000.0).abs() < 60.0, "{row:?}");
        assert!((below - value).abs() <= 1.0, "{row:?}");
    }
    let last = rows.last().unwrap();
    assert!(last[1] >= 1.0 && last[3].is_infinite(), "{last:?}");
    assert!(text.contains("Total count    =         1000]"), "{text}");
}

#[test]
fn a_log_of_intervals_is_read_back_by_the_library_s_own_reader() {
    let mut other = with_histograms();
    other.identity.id = "other".to_owned();
    let run = with_histograms();
    for runs in [vec![&run], vec![&run, &other]] {
        let text = export::hlog(&runs).unwrap();
        let entries = IntervalLogIterator::new(text.as_bytes()).map(Result::unwrap);
        let lines: Vec<_> = entries
            .filter_map(|entry| match entry {
                LogEntry::Interval(interval) => Some(interval),
                LogEntry::StartTime(_) | LogEntry::BaseTime(_) => None,
            })
            .collect();
        let intervals: Vec<_> = runs.iter().flat_map(|run| &run.intervals).collect();
        assert_eq!(lines.len(), intervals.len());
        for (line, interval) in lines.iter().zip(intervals) {
            let length = Duration::from_nanos(interval.end_ns - interval.start_ns);
            assert_eq!(line.duration(), length);
            assert_eq!(line.tag().is_some(), runs.len() > 1);
            let bytes = BASE64_STANDARD.decode(line.encoded_histogram()).unwrap();
            let read: Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            assert_eq!(read, times());
        }
    }
}

#[test]
fn a_record_without_or_with_damaged_histograms_is_refused_with_the_reason() {
    let old = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let mut damaged = with_histograms();
    damaged.end.transactions[0].service_histogram = Some("AAAA".to_owned());
    damaged.intervals[0].response_histogram = Some("no base64!".to_owned());
    for (run, why) in [(old, "holds no histogram"), (damaged, "is damaged")] {
        let spectrum = export::hgrm(&run).unwrap_err().to_string();
        let log = export::hlog(&[&run]).unwrap_err().to_string();
        assert!(spectrum.contains(why) && log.contains(why), "{spectrum}; {log}");
        assert!(spectrum.contains(&run.identity.id), "{spectrum}");
    }
}
