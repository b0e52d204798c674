//! `list runs`: filters, the trend, tags; records in the formats of other programs.

use crate::support::{folder, left_behind, program, quick_run, syncline};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Two tagged runs on `null`, and one on SQLite without a tag.
fn runs(folder: &Path) -> Vec<Value> {
    let lines = [
        "--on null --clients 2 --tag v1",
        "--on null --clients 2 --tag v2",
        "--on sqlite --clients 2",
    ];
    let run = |line: &str| quick_run(folder, &format!("{line} --transactions 200 --json")).json();
    lines.into_iter().map(run).collect()
}

fn ids(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn runs_are_found_by_their_workload_store_tag_and_time() {
    let folder = folder();
    let runs = runs(folder.path());
    let id = |number: usize| runs[number]["id"].as_str().unwrap();
    let cases = [
        ("", vec![id(0), id(1), id(2)]),
        ("--on SQLITE", vec![id(2)]),
        ("--tag v*", vec![id(0), id(1)]),
        ("--tag v2 --workload insert --clients 2 --kind run", vec![id(1)]),
        ("--workload tpcc", vec![]),
        ("--since 1d", vec![id(0), id(1), id(2)]),
        ("--until 1d", vec![]),
        ("--last 1", vec![id(2)]),
    ];
    for (filter, expected) in cases {
        let listed = syncline(folder.path(), &format!("list runs --json {filter}"));
        assert_eq!(ids(&listed.json()), expected, "{filter}");
    }
    let none = syncline(folder.path(), "list runs --workload tpcc");
    assert_eq!((none.code, none.out.as_str()), (0, "no record meets these conditions\n"));
    assert!(syncline(folder.path(), "list runs").out.contains("v2"));
}

#[test]
fn options_of_runs_are_refused_for_other_lists() {
    let folder = folder();
    for option in ["--workload insert", "--since 7d", "--trend", "--csv", "--last 3"] {
        let refused = syncline(folder.path(), &format!("list targets {option}"));
        let name = option.split(' ').next().unwrap();
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(name) && refused.err.contains("runs only"), "{refused:?}");
    }
    for option in ["--csv", "--json", "--html page.html"] {
        let refused = syncline(folder.path(), &format!("list runs {option}"));
        assert!(refused.code == 2 && refused.out.is_empty(), "no directory: {refused:?}");
    }
    for wrong in ["--since soon", "--last 0", "--kind survey", "--clients 0"] {
        let refused = syncline(folder.path(), &format!("list runs {wrong}"));
        assert_eq!(refused.code, 2, "{wrong}: {refused:?}");
    }
}

#[test]
fn a_trend_has_a_row_for_each_tag_and_its_change() {
    let folder = folder();
    let runs = runs(folder.path());
    let trend = syncline(folder.path(), "list runs --trend").out;
    let rows: Vec<&str> = trend.lines().filter(|line| line.contains(" %")).collect();
    assert_eq!(rows.len(), 1, "the second tag is compared with the first: {trend}");
    let rate = |number: usize| runs[number]["throughput_per_s"].as_f64().unwrap();
    let change = format!("{:+.1} %", (rate(1) / rate(0) - 1.0) * 100.0);
    assert!(rows[0].contains(&change) && rows[0].contains("v2"), "{change}: {trend}");
    assert!(trend.contains("1 setting measured once"), "{trend}");
}

#[test]
fn one_format_of_other_programs_is_printed_at_a_time() {
    let folder = folder();
    let runs = runs(folder.path());
    let id = runs[0]["id"].as_str().unwrap();
    for (format, begins) in [
        ("csv", "id,survey,kind,started"),
        ("intervals", "id,tag,workload"),
        ("markdown", "| started, UTC |"),
        ("openmetrics", "# TYPE syncline_"),
        ("hgrm", "       Value     Percentile"),
        ("hlog", "#[Histogram log format version 1.3]"),
    ] {
        let shown = syncline(folder.path(), &format!("show --format {format} {id}"));
        assert_eq!(shown.code, 0, "{shown:?}");
        assert!(shown.out.starts_with(begins), "{format}: {}", shown.out);
        let both = syncline(folder.path(), &format!("show --format {format} --json {id}"));
        assert_eq!(both.code, 2, "{both:?}");
    }
    let other = runs[1]["id"].as_str().unwrap();
    let two = syncline(folder.path(), &format!("show --format hgrm {id} {other}"));
    assert!(two.code == 2 && two.err.contains("of one run"), "{two:?}");
}

#[test]
fn a_tag_is_one_line_of_text() {
    let folder = folder();
    for tag in ["", " ", "two\nlines", &"x".repeat(101)] {
        let mut command = program(folder.path(), "run insert --on null --transactions 10");
        let refused = command.args(["--tag", tag]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{tag:?}");
    }
    assert!(!folder.path().join("syncline-runs").exists());
}

#[test]
fn metrics_of_a_run_are_in_the_file_when_it_is_over() {
    let folder = folder();
    let run = quick_run(folder.path(), "--on null --transactions 200 --json --metrics run.prom");
    let text = fs::read_to_string(folder.path().join("run.prom")).unwrap();
    let line = text.lines().find(|line| line.starts_with("syncline_commits_per_second{")).unwrap();
    let rate: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(Some(rate), run.json()["throughput_per_s"].as_f64());
    assert_eq!(left_behind(folder.path()), ["run.prom"]);
    quick_run(folder.path(), "--on null --transactions 200 --metrics /dev/null");
    let device = fs::metadata("/dev/null").unwrap().file_type();
    assert!(std::os::unix::fs::FileTypeExt::is_char_device(&device), "a device is not replaced");
    let kept = quick_run(folder.path(), "--on null --transactions 200 --metrics no/such/run.prom");
    assert_eq!(kept.code, 0, "the measurement goes on: {kept:?}");
    assert_eq!(kept.err.matches("cannot write the metrics").count(), 1, "{kept:?}");
}
