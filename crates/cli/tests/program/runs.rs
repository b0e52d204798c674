//! Runs on the null target and on SQLite: accounting, checks, open loop, durability.

use crate::support::{figure, folder, left_behind, quick_run, records, syncline};
use serde_json::Value;

fn sum_holds(record: &Value) -> bool {
    let of = |name: &str| {
        let value = &record["outcomes"][name];
        let sum =
            |all: &serde_json::Map<String, Value>| all.values().filter_map(Value::as_u64).sum();
        value
            .as_u64()
            .or_else(|| value.as_object().map(sum))
            .unwrap_or_else(|| panic!("{name}: {value}"))
    };
    let parts = ["committed", "aborted", "conflicted", "failed", "unfinished"];
    of("attempted") == parts.into_iter().map(of).sum::<u64>()
}

#[test]
fn null_stops_at_the_exact_count() {
    let folder = folder();
    let result =
        quick_run(folder.path(), "--on null --clients 7 --workers 2 --transactions 5000 --json");
    assert_eq!(result.code, 0, "{result:?}");
    let record = result.json();
    assert!((figure(&record, "outcomes.attempted") - 5_000.0).abs() < 0.5);
    assert!((figure(&record, "outcomes.committed") - 5_000.0).abs() < 0.5);
    assert!(sum_holds(&record));
    let checks = record["checks"].as_array().unwrap();
    assert!(!checks.is_empty());
    assert!(checks.iter().all(|check| check["outcome"] == "not applicable"));
}

#[test]
fn sqlite_keeps_every_acknowledged_row_by_threads_and_by_queue() {
    for url in ["sqlite", "sqlite?client=queue", "sqlite?journal=delete"] {
        let folder = folder();
        let line = format!("--on {url} --clients 4 --transactions 300 --commit-every 2 --json");
        let result = quick_run(folder.path(), &line);
        assert_eq!(result.code, 0, "{url}: {result:?}");
        let record = result.json();
        assert!((figure(&record, "outcomes.attempted") - 300.0).abs() < 0.5, "{url}");
        assert!(sum_holds(&record), "{url}");
        let checks = record["checks"].as_array().unwrap();
        assert!(checks.iter().all(|check| check["outcome"] == "held"), "{url}: {checks:?}");
        assert_eq!(record["target"]["durability"], "data");
        assert_eq!(left_behind(folder.path()), Vec::<String>::new(), "{url}");
    }
}

#[test]
fn the_engine_keeps_every_acknowledged_row() {
    let folder = folder();
    let result =
        quick_run(folder.path(), "--on engine --clients 50 --transactions 2000 --check get --json");
    assert_eq!(result.code, 0, "{result:?}");
    let record = result.json();
    assert_eq!(record["target"]["name"], "engine");
    assert_eq!(record["target"]["isolation"], "serializable");
    let checks = record["checks"].as_array().unwrap();
    assert!(checks.iter().any(|check| check["outcome"] == "held"), "{checks:?}");
    assert!(checks.iter().all(|check| check["outcome"] != "violated"), "{checks:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

#[test]
fn overload_counts_as_waiting_and_not_as_service() {
    let folder = folder();
    // A SQLite statement alone takes more than the 5 us that this rate allows, so the overload does not
    // depend on how fast the disk is while other tests run.
    let line = "--on sqlite --clients 1 --duration 2s --rate 200000 --json";
    let result = quick_run(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    let record = result.json();
    let of = |name: &str| figure(&record, &format!("arrivals.{name}"));
    assert!((of("offered") - of("started") - of("abandoned")).abs() < 0.5, "{record}");
    assert!(of("abandoned") > 0.0 && of("late") > 0.0);
    let times = &record["transactions"][0];
    let (service, response) = (figure(times, "service_ns.p50"), figure(times, "response_ns.p50"));
    assert!(response > 20.0 * service, "the queue grows: service {service}, response {response}");
}

#[test]
fn a_store_that_does_not_sync_is_flagged_where_syncs_can_be_counted() {
    let folder = folder();
    let result =
        quick_run(folder.path(), "--on sqlite?durability=os --clients 1 --duration 1s --json");
    let record = result.json();
    let flagged =
        record["warnings"].as_array().unwrap().iter().any(|one| one["name"] == "durability");
    let counted = !record["per_commit"]["syncs"]["value"].is_null()
        && !record["per_commit"]["flushes"]["value"].is_null();
    assert!(flagged || !counted, "{record}");
    assert_eq!(result.code, 0, "os promises no sync, so no promise failed");
}

#[test]
fn targets_take_turns_and_each_has_its_record() {
    let folder = folder();
    let line = "--on null --on sqlite --transactions 50 --repeat 2 --interleave --json";
    let result = quick_run(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    let all = result.json();
    let all = all.as_array().unwrap();
    assert_eq!((all.len(), records(folder.path()).len()), (2, 2));
    for record in all {
        assert_eq!(record["repetitions"].as_array().unwrap().len(), 2);
        assert!((figure(record, "outcomes.attempted") - 100.0).abs() < 0.5);
        let (median, least) = ("throughput_per_s", "throughput_range.least");
        assert!(figure(record, median) >= figure(record, least));
    }
}

#[test]
fn a_thousand_clients_on_null_stay_small() {
    let folder = folder();
    let line = "run insert --on null --clients 1000 --duration 2s --warm-up 0 --line none";
    let mut child = crate::support::program(folder.path(), line)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok());
        peak_kib = kib.unwrap_or(peak_kib);
        std::thread::yield_now();
    }
    assert!(peak_kib > 0 && peak_kib < 200 * 1024, "{peak_kib} KiB");
    assert_eq!(syncline(folder.path(), "list runs").code, 0);
}

/// Habits of typing are accepted: --threads, -c and -d of a run, `help VERB`, an absolute path after three
/// slashes, words in capitals.
#[test]
fn common_command_lines_are_accepted() {
    let folder = folder();
    let place = folder.path().join("abs.db");
    for line in [
        "--threads 2 --transactions 6 --on null".to_owned(),
        "-c 2 -d 50ms --on null".to_owned(),
        format!(
            "--transactions 6 --on sqlite://{}?synchronous=NORMAL&durability=OS",
            place.display()
        ),
    ] {
        let result = quick_run(folder.path(), &line);
        assert_eq!(result.code, 0, "{line}: {result:?}");
    }
    for (line, words) in [
        ("help run", "Run a workload on one or more stores"),
        ("help run insert", "--commit-every"),
        ("help pgbench", "--report-per-command"),
        ("help", "Examples:"),
    ] {
        let result = syncline(folder.path(), line);
        assert_eq!(result.code, 0, "{line}: {result:?}");
        assert!(result.out.contains(words), "{line}: {result:?}");
    }
    assert_eq!(syncline(folder.path(), "help nosuchverb").code, 2);
}

/// The lines of progress on standard error: " 42 %  4 s of about 13 s  sqlite: measuring".
fn progress(result: &str) -> Vec<(u64, &str)> {
    let line = |line: &'_ str| -> Option<u64> { line.split_once(" %  ")?.0.trim().parse().ok() };
    result.lines().filter_map(|text| Some((line(text)?, text))).collect()
}

// D13, D20
#[test]
fn a_run_whose_output_is_a_pipe_prints_its_phases_and_none_with_quiet() {
    let line = "run insert --on null --duration 100ms --warm-up 1500ms";
    let folder = folder();
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    let lines = progress(&result.err);
    assert!(lines.len() >= 2, "{result:?}");
    assert!(lines.iter().any(|(_, text)| text.contains("  null: ")), "{result:?}");
    assert!(lines.is_sorted_by_key(|(share, _)| *share), "{result:?}");
    assert!(
        lines.iter().all(|(share, text)| *share < 100 && text.contains(" of about ")),
        "{result:?}"
    );
    assert!(!result.err.contains("1 of 1"), "{result:?}");
    let quiet = syncline(folder.path(), &format!("{line} --quiet"));
    assert_eq!((quiet.code, progress(&quiet.err).len()), (0, 0), "{quiet:?}");
}

#[test]
fn find_max_returns_the_highest_rate_that_holds_twice() {
    let folder = folder();
    let search = |bound: &str| {
        let line = format!(
            "run insert --on null --clients 4 --workers 1 --line none --warm-up 0 --duration 100ms \
             --find-max {bound} --json"
        );
        syncline(folder.path(), &line)
    };
    let found = search("p99<10s");
    assert_eq!(found.code, 0, "{found:?}");
    let result = &found.json()["find_max"][0];
    let rate = result["rate_per_s"].as_f64().unwrap();
    let trials = result["trials"].as_array().unwrap();
    let is_it =
        |trial: &&Value| trial["rate_per_s"].as_f64() == Some(rate) && trial["holds"] == true;
    assert!(trials.iter().filter(is_it).count() >= 2, "{result}");
    assert!(trials[0]["rate_per_s"].is_null(), "the first trial is the closed loop: {result}");
    assert_eq!(records(folder.path()).len(), trials.len(), "each trial has a record");
    // Nobody commits everything within a microsecond.
    let none = search("max<1us");
    assert_eq!(none.code, 1, "{none:?}");
    assert!(none.json()["find_max"][0]["rate_per_s"].is_null());
    let refused = search("p98<1ms");
    assert!(refused.code == 2 && refused.err.contains("p98"), "{refused:?}");
}
