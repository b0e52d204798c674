//! `syncline sysbench`: its commands, its options and its result lines.

use crate::support::{ProgramOutput, figure, folder, left_behind, records, syncline};
use std::path::Path;

fn sysbench(folder: &Path, line: &str) -> ProgramOutput {
    syncline(folder, &format!("sysbench {line}"))
}

/// The first number after a label of the result.
fn value(result: &ProgramOutput, label: &str) -> f64 {
    let line = result.out.lines().find(|line| line.trim_start().starts_with(label));
    let line = line.unwrap_or_else(|| panic!("no {label}: {result:?}"));
    let rest = line.trim_start().strip_prefix(label).unwrap_or_default();
    let number = rest.split_whitespace().next().unwrap_or_default();
    let number = number.trim_end_matches('s').parse();
    number.unwrap_or_else(|_| panic!("{label}: {line}"))
}

#[test]
fn every_test_runs_its_events_and_counts_its_queries() {
    let folder = folder();
    for (test, reads, writes, other) in [
        ("oltp_point_select", 1.0, 0.0, 0.0),
        ("oltp_read_only", 14.0, 0.0, 2.0),
        ("oltp_read_write", 14.0, 4.0, 2.0),
        ("oltp_write_only", 0.0, 4.0, 2.0),
        ("oltp_insert", 0.0, 1.0, 0.0),
        ("oltp_delete", 0.0, 1.0, 0.0),
        ("oltp_update_index", 0.0, 1.0, 0.0),
        ("oltp_update_non_index", 0.0, 1.0, 0.0),
    ] {
        let line = format!(
            "{test} --on=sqlite?durability=os --tables=2 --table-size=300 --threads=2 --events=50 run"
        );
        let result = sysbench(folder.path(), &line);
        assert_eq!(result.code, 0, "{test}: {result:?}");
        let near = |label: &str, wanted: f64| {
            let found = value(&result, label);
            assert!((found - wanted).abs() < 0.5, "{test}, {label}: {found}");
        };
        near("total number of events:", 50.0);
        near("transactions:", 50.0);
        near("read:", 50.0 * reads);
        near("write:", 50.0 * writes);
        near("other:", 50.0 * other);
        near("total:", 50.0 * (reads + writes + other));
        near("reconnects:", 0.0);
        assert!(value(&result, "95th percentile:") <= value(&result, "max:") + 0.01);
        assert!(value(&result, "min:") <= value(&result, "avg:") + 0.01);
        assert!((value(&result, "sum:") - 50.0 * value(&result, "avg:")).abs() < 0.6);
    }
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    assert_eq!(records(folder.path()).len(), 8);
}

#[test]
fn prepared_tables_serve_several_runs_and_are_cleaned_up() {
    let folder = folder();
    let on = "--on=sqlite:store.db?durability=os --tables=2 --table-size=200";
    let prepare = format!("oltp_read_write {on} prepare");
    let made = sysbench(folder.path(), &prepare);
    assert_eq!(made.code, 0, "{made:?}");
    assert!(made.out.contains("Inserting 200 records into 'sbtest2'"));
    let again = sysbench(folder.path(), &prepare);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.err.contains("existed already"), "{again:?}");
    for test in ["oltp_read_write", "oltp_update_index", "oltp_point_select"] {
        let result = sysbench(
            folder.path(),
            &format!("{test} {on} --rand-type=uniform --threads=3 --events=40 run --json"),
        );
        assert_eq!(result.code, 0, "{test}: {result:?}");
        let record = result.json();
        assert_eq!(record["workload"]["rows_kept"], true, "{test}");
        assert!((figure(&record, "outcomes.committed") - 40.0).abs() < 0.5);
        let checks = record["checks"].as_array().unwrap();
        assert!(checks.iter().all(|check| check["outcome"] == "held"), "{checks:?}");
    }
    let other = sysbench(
        folder.path(),
        "oltp_read_write --on=sqlite:store.db?durability=os --tables=2 --table-size=201 --events=1 run",
    );
    assert_eq!(other.code, 2, "{other:?}");
    let result = "2 tables of 200 rows were prepared there, but the run uses 2 of 201";
    assert!(other.err.contains(result), "{other:?}");
    let gone = sysbench(folder.path(), &format!("oltp_read_write {on} cleanup"));
    assert_eq!(gone.code, 0, "{gone:?}");
    assert!(gone.out.contains("Dropping table 'sbtest2'..."));
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

#[test]
fn intervals_are_printed_and_a_file_may_contain_the_options() {
    let folder = folder();
    let file = folder.path().join("options");
    std::fs::write(&file, "# as sysbench takes them\ntable-size=100\nthreads=2\n").unwrap();
    let result = sysbench(
        folder.path(),
        "oltp_read_only --config-file=options --on=sqlite?durability=os --time=2 --report-interval=1 \
         --percentile=99 --rate=200 run",
    );
    assert_eq!(result.code, 0, "{result:?}");
    let lines = result.out.lines().filter(|line| line.contains("thds: 2 tps: "));
    let lines: Vec<_> = lines.collect();
    assert!(!lines.is_empty(), "{result:?}");
    assert!(lines[0].starts_with("[ 1s ]") && lines[0].contains("lat (ms,99%): "));
    assert!(result.out.contains("Target transaction rate: 200/sec"));
    assert!(value(&result, "99th percentile:") > 0.0);
    let rate = value(&result, "transactions:") / value(&result, "total time:");
    assert!((120.0..280.0).contains(&rate), "{rate}");
}

#[test]
fn bulk_insert_fills_one_table_per_thread_and_help_lists_options() {
    let folder = folder();
    let result = sysbench(
        folder.path(),
        "bulk_insert --on=engine?durability=none --threads=2 --events=400 --bulk-rows=100 run",
    );
    assert_eq!(result.code, 0, "{result:?}");
    assert!((value(&result, "total number of events:") - 400.0).abs() < 0.5);
    assert!((value(&result, "write:") - 400.0).abs() < 0.5);
    let help = sysbench(folder.path(), "oltp_insert help");
    assert_eq!(help.code, 0);
    assert!(help.out.contains("--table_size=") && !help.out.contains("--kept"));
}

#[test]
fn errors_are_one_sentence() {
    let folder = folder();
    for (line, expected) in [
        ("", "no test was named"),
        ("oltp_read_write run", "no store was named"),
        ("oltp_read_write --on=sqlite prepare", "name a place that stays"),
        ("oltp_read_write --on=sqlite --table-size=0 run", "from 1 to 2147483647"),
        ("oltp_read_write --on=sqlite --report-checkpoints=1 run", "does not apply"),
        ("oltp_read_write --on=sqlite --nothing=1 run", "has no option --nothing"),
        ("fileio --on=sqlite run", "fileio does not apply: `syncline probe DIR`"),
    ] {
        let answer = sysbench(folder.path(), line);
        assert_eq!(answer.code, 2, "{line}: {answer:?}");
        assert!(answer.err.contains(expected), "{line}: {answer:?}");
        assert_eq!(answer.err.trim().lines().count(), 1, "{line}: {answer:?}");
    }
    let nothing = sysbench(folder.path(), "oltp_insert --on=sqlite prepare");
    assert_eq!(nothing.code, 0, "{nothing:?}");
    assert!(nothing.err.contains("nothing to prepare"));
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

#[test]
fn a_dry_run_prints_its_plan_and_changes_nothing() {
    let folder = folder();
    for command in ["prepare", "run", "cleanup"] {
        let line = format!(
            "sysbench oltp_read_write --on=sqlite:./s.db --tables=2 --table-size=100 --dry-run {command}"
        );
        let result = syncline(folder.path(), &line);
        assert_eq!(result.code, 0, "{command}: {result:?}");
        let words = match command {
            "cleanup" => "would remove",
            _ => "would load about 100 rows of sbtest2",
        };
        assert!(result.out.contains(words), "{command}: {result:?}");
        assert!(result.err.contains("nothing was changed"), "{result:?}");
    }
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

/// f21: a run may use a part of the prepared rows, as with sysbench.
#[test]
fn a_run_may_use_a_part_of_the_prepared_rows() {
    let folder = folder();
    for url in ["sqlite:store.db?durability=os", "engine:./store?segment_kib=1024"] {
        let run = |line: &str| sysbench(folder.path(), &format!("{line} --on={url}"));
        let made = run("oltp_read_write --tables=3 --table-size=200 prepare");
        assert_eq!(made.code, 0, "{made:?}");
        for part in [
            "--tables=1 --table-size=200",
            "--tables=3 --table-size=50",
            "--tables=2 --table-size=70",
        ] {
            for test in ["oltp_point_select", "oltp_read_write"] {
                let result = run(&format!("{test} {part} --threads=2 --events=30 --time=0 run"));
                assert_eq!(result.code, 0, "{url} {test} {part}: {result:?}");
                assert!((value(&result, "total number of events:") - 30.0).abs() < 0.5);
            }
        }
        let more = run("oltp_point_select --tables=4 --table-size=200 --events=1 run");
        assert_eq!(more.code, 2, "{more:?}");
        assert!(more.err.contains("3 tables of 200 rows were prepared there"), "{more:?}");
        assert!(!more.err.contains("schema="), "it is not an option of sysbench: {more:?}");
        let gone = run("oltp_read_write cleanup");
        assert_eq!(gone.code, 0, "{gone:?}");
    }
    // f02: without prepare nothing is left behind.
    let unprepared = sysbench(
        folder.path(),
        "oltp_read_only --table-size=100 --events=5 --on=sqlite:none.db run",
    );
    assert_eq!(unprepared.code, 0, "{unprepared:?}");
    assert!(unprepared.err.contains("removed after it"), "{unprepared:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

#[test]
fn no_run_removes_prepared_tables() {
    let folder = folder();
    for (url, place) in [
        ("sqlite:store.db?durability=os", "store.db"),
        ("engine:./store?segment_kib=1024", "store"),
    ] {
        let on = format!("--on={url} --tables=2 --table-size=100");
        for test in ["oltp_insert", "oltp_delete", "bulk_insert"] {
            let own = sysbench(folder.path(), &format!("{test} {on} --events=5 run"));
            assert_eq!(own.code, 0, "{url} {test}: {own:?}");
            assert!(!folder.path().join(place).exists(), "its own rows go");
        }
        let made = sysbench(folder.path(), &format!("oltp_delete {on} prepare"));
        assert_eq!(made.code, 0, "{made:?}");
        for test in ["oltp_insert", "oltp_insert --auto_inc=off", "bulk_insert"] {
            let result = sysbench(folder.path(), &format!("{test} {on} --events=5 run"));
            assert_eq!(result.code, 2, "{url} {test}: {result:?}");
            assert!(result.err.contains("inserts, so it makes tables"), "{result:?}");
        }
        let run = |test: &str| sysbench(folder.path(), &format!("{test} {on} --events=5 run"));
        for test in ["oltp_read_write", "oltp_delete"] {
            let result = run(test);
            assert_eq!(result.code, 0, "{url} {test}: {result:?}");
        }
        let spent = run("oltp_read_only");
        assert_eq!(spent.code, 2, "{spent:?}");
        assert!(spent.err.contains("has left other rows"), "{spent:?}");
        assert!(folder.path().join(place).exists(), "{url}");
        let gone = sysbench(folder.path(), &format!("oltp_delete {on} cleanup"));
        assert_eq!(gone.code, 0, "{gone:?}");
        assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    }
}
