//! Profiled runs: their output, their records, and the stacks next to a record, which can be folded again.

use crate::support::{folder, left_behind, program, quick_run, records, syncline};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const TARGETS: [&str; 2] = ["engine", "sqlite"];

/// The rows of every metric with a distribution, with the metric's name.
fn rows<'r>(cost: &'r Value, view: &str) -> Vec<(&'r str, &'r Vec<Value>)> {
    let metrics = cost["metrics"].as_array().unwrap().iter();
    let split = metrics.filter(|metric| metric["how"] != "not attributable");
    split
        .map(|metric| {
            let name = metric["metric"].as_str().unwrap();
            (name, metric[view].as_array().unwrap())
        })
        .collect()
}

#[test]
fn a_metered_run_prints_the_table_and_records_its_cost() {
    for target in TARGETS {
        let folder = folder();
        let line = format!("--on {target} --clients 2 --duration 400ms --meter");
        let result = quick_run(folder.path(), &line);
        assert_eq!(result.code, 0, "{target}: {result:?}");
        for wanted in ["Cost of a transaction by module", "Measurement methods"] {
            assert!(result.out.contains(wanted), "{target}: {}", result.out);
        }
        let unknown = result.out.lines().any(|line| line.starts_with("  unknown "));
        assert!(unknown, "{target}: {}", result.out);
        let path = records(folder.path()).remove(0);
        let shown = syncline(folder.path(), &format!("show --json {}", path.display()));
        let record = shown.json();
        let cost = &record["cost"];
        assert!(cost["commits"].as_u64().unwrap() > 0, "{target}: {cost}");
        assert!(!cost["metrics"].as_array().unwrap().is_empty(), "{target}");
    }
}

#[test]
fn shares_of_each_metric_and_class_of_threads_add_up_and_unknown_is_a_row() {
    let folder = folder();
    let line = "--on engine --clients 2 --duration 400ms --meter --json";
    let record = quick_run(folder.path(), line).json();
    for view in ["innermost", "on_behalf_of"] {
        for (metric, rows) in rows(&record["cost"], view) {
            let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
            for row in rows {
                let class = row["threads"].as_str().unwrap();
                if let Some(share) = row["share"].as_f64() {
                    *sums.entry(class).or_default() += share;
                }
                let mut of_class = rows.iter().filter(|row| row["threads"] == class);
                assert!(of_class.any(|row| row["module"].is_null()), "{metric}: {rows:?}");
            }
            for (class, sum) in sums {
                assert!((sum - 1.0).abs() < 1e-9, "{metric} of {class}: {sum}");
            }
        }
    }
}

#[test]
fn stacks_are_next_to_the_record_and_can_be_folded_again() {
    for target in TARGETS {
        let folder = folder();
        let line = format!("--on {target} --duration 400ms --meter --json");
        let record = quick_run(folder.path(), &line).json();
        let path = records(folder.path()).remove(0);
        let stacks = path.with_extension("stacks");
        let name = stacks.file_name().and_then(|name| name.to_str());
        assert_eq!(record["cost"]["stacks"].as_str(), name, "{target}");
        assert!(stacks.exists(), "{target}");
        let listed = syncline(folder.path(), "list runs");
        assert!(!listed.out.contains("left out"), "{}", listed.out);
        let nothing = folder.path().join("nothing.toml");
        fs::write(&nothing, "product = \"nothing known\"\n").unwrap();
        let again = syncline(
            folder.path(),
            &format!("show --json --map {} {}", nothing.display(), path.display()),
        );
        assert_eq!(again.code, 0, "{again:?}");
        let again = again.json();
        assert_eq!(again["cost"]["map"], "nothing known");
        let amount = |rows: &[Value]| -> u64 {
            let amounts = rows.iter().map(|row| row["amount"].as_u64().unwrap());
            amounts.sum()
        };
        let (old, new) = (rows(&record["cost"], "innermost"), rows(&again["cost"], "innermost"));
        assert_eq!(old.len(), new.len(), "{target}");
        for ((metric, old), (_, new)) in old.into_iter().zip(new) {
            assert_eq!(amount(old), amount(new), "{target}: {metric}");
        }
        let shared = syncline(folder.path(), &format!("show --share --json {}", path.display()));
        assert!(shared.json()["cost"]["stacks"].is_null(), "{target}");
        assert!(shared.err.contains("stacks are left out"), "{}", shared.err);
    }
}

#[test]
fn runs_without_stacks_and_bad_maps_are_refused() {
    let folder = folder();
    let result = quick_run(folder.path(), "--on null --transactions 100");
    assert_eq!(result.code, 0, "{result:?}");
    let path = records(folder.path()).remove(0);
    let path = path.display();
    let result = syncline(folder.path(), &format!("show --functions cpu {path}"));
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.err.contains("was not profiled"), "{}", result.err);
    let bad = folder.path().join("bad.toml");
    fs::write(&bad, "product = \"x\"\n[[module]]\nname = \"engine room\"\nmatch = []\n").unwrap();
    let result = syncline(folder.path(), &format!("show --map {} {path}", bad.display()));
    assert_eq!(result.code, 2, "{result:?}");
    assert!(
        result.err.contains("line 3") && result.err.contains("is not a module"),
        "{}",
        result.err
    );
    let result = syncline(folder.path(), &format!("show --threads postgres* {path}"));
    assert_eq!(result.code, 2, "{result:?}");
    let alone = quick_run(folder.path(), "--on null --transactions 1 --map x.toml");
    assert_eq!(alone.code, 2, "a map requires --meter: {alone:?}");
}

#[test]
fn functions_and_stacks_are_printed_for_people_and_programs() {
    let folder = folder();
    let result = quick_run(folder.path(), "--on engine --clients 2 --duration 900ms --meter");
    assert_eq!(result.code, 0, "{result:?}");
    let path = records(folder.path()).remove(0);
    let path = path.display();
    let functions = syncline(folder.path(), &format!("show --functions cpu --top 5 {path}"));
    assert_eq!(functions.code, 0, "{functions:?}");
    assert!(functions.out.contains("functions by processor time"), "{}", functions.out);
    let mut pprof = program(folder.path(), &format!("show --stacks pprof {path}"));
    let pprof = pprof.output().unwrap().stdout;
    assert!(pprof.starts_with(&[0x1f, 0x8b]), "pprof reads gzip");
    let page = syncline(folder.path(), &format!("show --html report.html {path}"));
    assert_eq!(page.code, 0, "{page:?}");
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("Where the time goes"));
}

#[test]
fn unsupported_view_options_are_refused() {
    let folder = folder();
    for line in [
        "show --html a.html --view behalf r.jsonl",
        "show --html a.html --threads all r.jsonl",
        "show --json --threads all r.jsonl",
        "show --as derby --view behalf r.jsonl",
        "show --as derby --threads all r.jsonl",
        "show --stacks collapsed --threads background r.jsonl",
        "show --stacks pprof --view behalf r.jsonl",
        "show --statements --threads all r.jsonl",
        "show --functions cpu --share r.jsonl",
    ] {
        let result = syncline(folder.path(), line);
        assert_eq!(result.code, 2, "{line}: {result:?}");
        assert!(result.err.contains("cannot be used with"), "{line}: {}", result.err);
    }
    let result = syncline(folder.path(), "show --top 3 r.jsonl");
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.err.contains("--functions"), "{}", result.err);
}

#[test]
fn a_page_reports_damaged_stacks() {
    let folder = folder();
    let result = quick_run(folder.path(), "--on engine --transactions 200 --meter");
    assert_eq!(result.code, 0, "{result:?}");
    let path = records(folder.path()).remove(0);
    let page = format!("show --html page.html {}", path.display());
    let whole = syncline(folder.path(), &page);
    assert!(!whole.err.contains("no flame graph"), "{}", whole.err);
    fs::write(path.with_extension("stacks"), "{\"head\":").unwrap();
    let damaged = syncline(folder.path(), &page);
    assert_eq!(damaged.code, 0, "{damaged:?}");
    for wanted in ["no flame graph", "line 1", "wrote page.html"] {
        assert!(damaged.err.contains(wanted), "{wanted}: {}", damaged.err);
    }
}

#[test]
fn meters_are_listed_with_how_to_permit_them() {
    let folder = folder();
    let result = syncline(folder.path(), "list meters");
    assert_eq!(result.code, 0, "{result:?}");
    for wanted in
        ["by module, works here", "not by module here", "async-profiler", "flight recorder", "tags"]
    {
        assert!(result.out.contains(wanted), "{}", result.out);
    }
}

/// The costs in the only record of a directory.
fn cost_in(folder: &Path) -> Value {
    let path = records(folder).remove(0);
    syncline(folder, &format!("show --json {}", path.display())).json()["cost"].take()
}

#[test]
fn compatibility_commands_are_profiled_like_a_run() {
    for command in [
        "pgbench -c 2 -T 1 -S --on sqlite?durability=os --meter --sampling-hz 199",
        "sysbench oltp_point_select --on=engine --table-size=100 --time=1 --meter --sampling-hz=199 run",
        "ycsb run -p recordcount=100 -p maxexecutiontime=1 -p operationcount=0 \
         --line none --on engine --meter --sampling-hz 199",
    ] {
        let folder = folder();
        let result = syncline(folder.path(), command);
        assert_eq!(result.code, 0, "{command}: {result:?}");
        for wanted in ["Cost of a transaction by module", "Measurement methods"] {
            assert!(result.out.contains(wanted), "{command}: {}", result.out);
        }
        let cost = cost_in(folder.path());
        assert!(cost["commits"].as_u64().unwrap() > 0, "{command}: {cost}");
        assert!(cost["stacks"].is_string(), "{command}: {cost}");
        let path = records(folder.path()).remove(0);
        let again = syncline(folder.path(), &format!("show --functions cpu {}", path.display()));
        assert_eq!(again.code, 0, "{command}: {again:?}");
    }
}

#[test]
fn every_command_accepts_a_custom_map() {
    let folder = folder();
    fs::write(folder.path().join("own.toml"), "product = \"my own\"\n").unwrap();
    for command in [
        "run insert --warm-up 0 --line none --transactions 50 --on engine --meter --map own.toml",
        "pgbench -t 20 -S --on sqlite?durability=os --meter --map own.toml",
        "sysbench oltp_point_select --on=engine --table-size=10 --events=50 --meter --map=own.toml run",
        "ycsb run -p recordcount=10 -p operationcount=50 --line none --on engine --meter --map own.toml",
        "survey --clients 1 --repeat 1 --duration 100ms --warm-up 0 --meter --map own.toml",
    ] {
        let result = syncline(folder.path(), command);
        assert_eq!(result.code, 0, "{command}: {result:?}");
        for path in records(folder.path()) {
            let record = syncline(folder.path(), &format!("show --json {}", path.display())).json();
            if record["kind"] == "run" {
                assert_eq!(record["cost"]["map"], "my own", "{command}");
            }
        }
        fs::remove_dir_all(folder.path().join("syncline-runs")).unwrap();
    }
}

#[test]
fn commands_without_a_run_refuse_meter_and_bad_maps_change_nothing() {
    let folder = folder();
    fs::write(folder.path().join("bad.toml"), "product = 7\n").unwrap();
    for (line, words) in [
        ("pgbench -i --on sqlite:x.db --meter", "does not apply to -i"),
        ("sysbench oltp_read_only --on=engine:x --meter prepare", "does not apply to prepare"),
        ("sysbench oltp_read_only --on=engine:x --meter cleanup", "does not apply to cleanup"),
        ("ycsb load -p recordcount=9 --on engine:x --meter", "does not apply to load"),
        ("ycsb run --on engine --sampling-hz 9", "--sampling-hz requires --meter"),
        ("sysbench oltp_read_only --on=engine --map=x.toml run", "--map requires --meter"),
        ("ycsb run --on engine --meter --sampling-hz 0", "--sampling-hz 0"),
        ("run insert --on engine --meter --map bad.toml", "bad.toml"),
        ("survey --meter --map bad.toml", "bad.toml"),
        ("pgbench --on sqlite --meter --map bad.toml", "bad.toml"),
        (
            "sysbench oltp_read_only --on=engine --meter --map=none.toml run",
            "cannot read the map none.toml",
        ),
        (
            "ycsb run -p recordcount=9 -p operationcount=9 --on engine --meter --map bad.toml",
            "bad.toml",
        ),
    ] {
        let result = syncline(folder.path(), line);
        assert_eq!(result.code, 2, "{line}: {result:?}");
        assert!(result.err.contains(words), "{line}: {}", result.err);
        assert_eq!(left_behind(folder.path()), ["bad.toml"], "{line}");
        assert!(records(folder.path()).is_empty(), "{line}");
    }
}

#[test]
fn a_survey_is_profiled_by_stage_and_reports_short_stages() {
    let folder = folder();
    let line = "survey --clients 2 --repeat 1 --duration 100ms --warm-up 0 --meter";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    assert_eq!(
        result.out.matches("too short: ").count(),
        3,
        "the engine, SQLite by threads and by queue: {}",
        result.out
    );
    for path in records(folder.path()) {
        let record = syncline(folder.path(), &format!("show --json {}", path.display())).json();
        if record["kind"] == "run" {
            assert!(record["cost"]["commits"].as_u64().unwrap() > 0, "{record}");
        }
    }
}

#[test]
fn a_run_is_repeated_with_the_profiler_and_another_map() {
    let folder = folder();
    fs::write(folder.path().join("own.toml"), "product = \"my own\"\n").unwrap();
    let result = quick_run(folder.path(), "--on engine --transactions 100");
    assert_eq!(result.code, 0, "{result:?}");
    let plain = records(folder.path()).remove(0);
    let like = |record: &Path, rest: &str| {
        let line = format!("run --like {} --json {rest}", record.display());
        syncline(folder.path(), &line)
    };
    for (flags, words) in [
        ("--map own.toml", "--map requires --meter"),
        ("--sampling-hz 9", "--sampling-hz requires --meter"),
        ("--meter --map none.toml", "cannot read the map none.toml"),
    ] {
        let result = like(&plain, flags);
        assert_eq!(result.code, 2, "{flags}: {result:?}");
        assert!(result.err.contains(words), "{flags}: {}", result.err);
    }
    let metered = like(&plain, "--meter --sampling-hz 199 --map own.toml").json();
    assert_eq!(metered["plan"]["looks_per_s"], 199);
    assert_eq!(metered["cost"]["map"], "my own");
    let mut all = records(folder.path()).into_iter();
    let newest = all.find(|path| *path != plain).unwrap();
    let again = like(&newest, "");
    assert!(again.err.contains("the map \"my own\""), "{}", again.err);
    let again = again.json();
    assert_eq!(again["plan"]["looks_per_s"], 199);
    assert_ne!(again["cost"]["map"], "my own");
    let other = like(&newest, "--map own.toml").json();
    assert_eq!(other["cost"]["map"], "my own");
}

#[test]
fn the_profiling_overhead_is_measured_before_the_span_and_printed() {
    let folder = folder();
    let line = "--on engine --clients 2 --duration 300ms --meter";
    let result = quick_run(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    let flat = result.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("profiling overhead: "), "{flat}");
    assert!(flat.contains("was not measured: --meter-overhead measures it"), "{flat}");

    let line = format!("{line} --meter-overhead --json");
    let record = quick_run(folder.path(), &line).json();
    assert_eq!(record["plan"]["unmetered_beside"], true);
    let looking = &record["cost"]["looking"];
    assert!(looking["threads_ns"].as_u64().unwrap() > 0, "{looking}");
    assert!(looking["share"].as_f64().unwrap() > 0.0, "{looking}");
    let pairs = looking["pairs"].as_array().unwrap();
    // A busy machine may open the profiler too slowly for the last of four rounds.
    assert!([6, 8].contains(&pairs.len()), "{looking}");
    let rates = pairs.iter().map(|pair| {
        let rate = |name: &str| pair[name].as_f64().unwrap();
        [rate("metered_per_s"), rate("unmetered_per_s")]
    });
    let mut ratios: Vec<f64> = rates.map(|[metered, not]| metered / not).collect();
    ratios.sort_by(f64::total_cmp);
    let median = f64::midpoint(ratios[(ratios.len() - 1) / 2], ratios[ratios.len() / 2]);
    let printed = looking["throughput"]["median"].as_f64().unwrap();
    assert!((printed - median).abs() < 1e-9, "{looking}");
    // Slices are not part of the measured span.
    let measured_ns = record["measured_ns"].as_u64().unwrap();
    assert!(measured_ns < 400_000_000, "{measured_ns}");

    let path = records(folder.path()).pop().unwrap();
    let shown = syncline(folder.path(), &format!("show {}", path.display()));
    let flat = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("throughput with the profiler over without, "), "{flat}");
    let alone = quick_run(folder.path(), "--on null --transactions 1 --meter-overhead");
    assert_eq!(alone.code, 2, "it requires --meter: {alone:?}");
}
