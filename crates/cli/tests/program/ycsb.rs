//! `syncline ycsb`: property files unchanged, YCSB's flags and its result lines.

use crate::support::{ProgramOutput, figure, folder, left_behind, records, syncline};
use std::path::Path;

/// The properties of YCSB's six core workloads: proportions, distribution, longest scan.
const FILES: [(&str, &str); 6] = [
    (
        "a",
        "readproportion=0.5\nupdateproportion=0.5\nscanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian\n",
    ),
    (
        "b",
        "readproportion=0.95\nupdateproportion=0.05\nscanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian\n",
    ),
    (
        "c",
        "readproportion=1\nupdateproportion=0\nscanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian\n",
    ),
    (
        "d",
        "readproportion=0.95\nupdateproportion=0\nscanproportion=0\ninsertproportion=0.05\nrequestdistribution=latest\n",
    ),
    (
        "e",
        "readproportion=0\nupdateproportion=0\nscanproportion=0.95\ninsertproportion=0.05\nrequestdistribution=zipfian\nmaxscanlength=100\nscanlengthdistribution=uniform\n",
    ),
    (
        "f",
        "readproportion=0.5\nupdateproportion=0\nscanproportion=0\ninsertproportion=0\nreadmodifywriteproportion=0.5\nrequestdistribution=zipfian\n",
    ),
];

/// Writes the six files, with YCSB's default numbers of records and operations.
fn write_files(folder: &Path) {
    for (letter, mix) in FILES {
        let text = format!(
            "# Workload {letter}\nrecordcount=1000\noperationcount=1000\n\
             workload=site.ycsb.workloads.CoreWorkload\n\nreadallfields=true\n\n{mix}"
        );
        std::fs::write(folder.join(format!("workload{letter}")), text).unwrap();
    }
}

fn ycsb(folder: &Path, line: &str) -> ProgramOutput {
    syncline(folder, &format!("ycsb {line} --line none"))
}

/// The value of a result line.
fn value(result: &ProgramOutput, line: &str) -> Option<f64> {
    let found = result.out.lines().find_map(|one| one.strip_prefix(line));
    found.and_then(|rest| rest.trim_start_matches(", ").parse().ok())
}

#[test]
fn the_six_core_files_run_as_they_are() {
    let folder = folder();
    write_files(folder.path());
    for (letter, kinds) in [
        ("a", &["READ", "UPDATE"][..]),
        ("b", &["READ", "UPDATE"]),
        ("c", &["READ"]),
        ("d", &["READ", "INSERT"]),
        ("e", &["SCAN", "INSERT"]),
        ("f", &["READ", "UPDATE", "READ-MODIFY-WRITE"]),
    ] {
        let line = format!("run -P workload{letter} -threads 3 -s --on sqlite?durability=os");
        let result = ycsb(folder.path(), &line);
        assert_eq!(result.code, 0, "{letter}: {result:?}");
        let operations = kinds.iter().map(|kind| {
            let operations = value(&result, &format!("[{kind}], Operations"));
            let good = value(&result, &format!("[{kind}], Return=OK"));
            assert_eq!(operations, good, "{letter}: {result:?}");
            assert!(value(&result, &format!("[{kind}], 99thPercentileLatency(us)")).is_some());
            operations.unwrap_or_else(|| panic!("{letter} {kind}: {result:?}"))
        });
        let mut all: f64 = operations.sum();
        if letter == "f" {
            // f28: its reads and updates also have their own lines, as in YCSB.
            let of = |kind: &str| value(&result, &format!("[{kind}], Operations")).unwrap();
            let modifies = of("READ-MODIFY-WRITE");
            assert!((of("UPDATE") - modifies).abs() < 0.5, "{result:?}");
            assert!((of("READ") - 1_000.0).abs() < 0.5, "{result:?}");
            assert!(modifies > 400.0, "{result:?}");
            all -= 2.0 * modifies;
        }
        assert!((all - 1_000.0).abs() < 0.5, "{result:?}");
        assert!(value(&result, "[OVERALL], Throughput(ops/sec)").is_some_and(|rate| rate > 0.0));
        assert!(value(&result, "[OVERALL], RunTime(ms)").is_some());
    }
    assert_eq!(records(folder.path()).len(), 6);
    let left = left_behind(folder.path());
    assert!(left.iter().all(|name| name.starts_with("workload")), "{left:?}");
}

#[test]
fn a_load_stays_for_later_runs() {
    let folder = folder();
    write_files(folder.path());
    for url in ["engine:./kept", "sqlite:./kept.db"] {
        let result = ycsb(folder.path(), &format!("load -P workloada --on {url}"));
        assert_eq!(result.code, 0, "{result:?}");
        assert_eq!(value(&result, "[INSERT], Return=OK"), Some(1_000.0), "{result:?}");
        for letter in ["a", "b", "c", "f"] {
            let result = ycsb(folder.path(), &format!("run -P workload{letter} --on {url}"));
            assert_eq!(result.code, 0, "{url} {letter}: {result:?}");
        }
        let again = ycsb(folder.path(), &format!("load -P workloadb --on {url}"));
        assert_eq!(again.code, 0, "{again:?}");
        assert_eq!(value(&again, "[INSERT], Return=OK"), Some(0.0), "{again:?}");
        let other = ycsb(folder.path(), &format!("run -P workloadc -p recordcount=999 --on {url}"));
        assert_eq!(other.code, 2, "other rows are refused: {other:?}");
        assert!(other.err.contains("keeps rows of"), "{other:?}");
    }
    let record = std::fs::read_to_string(&records(folder.path())[0]).unwrap();
    assert!(record.contains("\"rows_kept\":true"), "{record}");
}

#[test]
fn a_target_rate_is_kept_and_intended_latencies_are_printed() {
    let folder = folder();
    let line = "run -p recordcount=100 -p maxexecutiontime=2 -threads 4 -target 500 \
                -p measurement.interval=both -p hdrhistogram.percentiles=50,99.9 --on null";
    let result = ycsb(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    let rate = value(&result, "[OVERALL], Throughput(ops/sec)").unwrap();
    assert!((rate - 500.0).abs() < 25.0, "{result:?}");
    assert!(value(&result, "[READ], 50thPercentileLatency(us)").is_some());
    assert!(value(&result, "[Intended-READ], 99.9PercentileLatency(us)").is_some());
    assert!(value(&result, "[READ], 99thPercentileLatency(us)").is_none());
    let listed =
        syncline(folder.path(), &format!("show --json {}", records(folder.path())[0].display()));
    let record = listed.json();
    assert_eq!(record["plan"]["arrival"], "fixed");
    assert!((figure(&record, "plan.rate_per_s") - 500.0).abs() < 1e-9);
}

#[test]
fn properties_without_effect_cause_warnings_and_errors_are_one_sentence() {
    let folder = folder();
    write_files(folder.path());
    let line = "run basic -P workloadc -p exporter=x --on null";
    let result = ycsb(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    for warned in ["property exporter has no effect here", "binding \"basic\""] {
        assert_eq!(result.err.matches(warned).count(), 1, "{warned}: {result:?}");
    }
    // YCSB's own percentiles, the minimum, and a file if one is named.
    let exported = ycsb(folder.path(), "run -P workloadc -p exportfile=lines.txt --on null");
    assert_eq!((exported.code, exported.out.as_str()), (0, ""), "{exported:?}");
    let lines = ProgramOutput {
        out: std::fs::read_to_string(folder.path().join("lines.txt")).unwrap(),
        ..exported
    };
    let printed = [
        "MinLatency(us)",
        "50thPercentileLatency(us)",
        "95thPercentileLatency(us)",
        "99thPercentileLatency(us)",
        "MaxLatency(us)",
    ];
    let printed = printed.map(|what| value(&lines, &format!("[READ], {what}")).unwrap());
    assert!(printed.is_sorted(), "{printed:?}");
    for (line, sentence) in [
        (
            "run -P workloadc -p recordcuont=5 --on null",
            "is not a property of YCSB's core workload",
        ),
        ("run -P nowhere --on null", "cannot read the properties nowhere"),
        ("run -P workloadc", "no target was named"),
        ("load -P workloadc --on sqlite", "name a place, such as sqlite:./store"),
        ("run -p recordcount=5 --on null", "a run needs an end"),
        ("run -P workloadc -p table=Users --on null", "it takes lower case"),
        (
            "run -P workloadc -p hdrhistogram.percentiles=50,101 --on null",
            "percentiles such as 50,99",
        ),
        ("run -P workloadc -x --on null", "has no flag -x"),
    ] {
        let result = ycsb(folder.path(), line);
        assert_eq!(result.code, 2, "{line}: {result:?}");
        assert!(result.err.contains(sentence), "{line}: {result:?}");
    }
}

#[test]
fn a_dry_run_of_either_phase_prints_its_plan_and_changes_nothing() {
    let folder = folder();
    write_files(folder.path());
    for phase in ["load", "run"] {
        // No server listens on that port, which a dry run does not find out.
        for (on, words) in [
            // D18
            ("sqlite:./s.db", "INSERT INTO"),
            ("engine:./e", "without statements"),
            ("postgres://127.0.0.1:1/base", "CREATE TABLE"),
        ] {
            let line = format!("ycsb {phase} -P workloada --on {on} --dry-run");
            let result = syncline(folder.path(), &line);
            assert_eq!(result.code, 0, "{phase}: {result:?}");
            for words in [words, "would load about 1000 rows"] {
                assert!(result.out.contains(words), "{phase}: {words}: {result:?}");
            }
            assert!(result.err.contains("nothing was changed"), "{result:?}");
        }
    }
    let private = syncline(folder.path(), "ycsb run -P workloada --on redis:private --dry-run");
    assert!(private.out.contains("a temporary server would be started"), "{private:?}");
    // The plan for a server, from its URL alone.
    for words in ["would create", "would open", "would load"] {
        assert!(private.out.contains(words), "{words}: {private:?}");
    }
    assert_eq!(left_behind(folder.path()).len(), FILES.len());
    assert!(records(folder.path()).is_empty());
}

#[test]
fn a_mix_that_inserts_uses_up_a_load_and_never_removes_it() {
    let folder = folder();
    write_files(folder.path());
    for (url, place) in
        [("engine:./kept?segment_kib=1024", "kept"), ("sqlite:./kept.db?durability=os", "kept.db")]
    {
        let alone = ycsb(folder.path(), &format!("run -P workloadd --on {url}"));
        assert_eq!(alone.code, 0, "{alone:?}");
        assert!(!folder.path().join(place).exists(), "its own rows go");
        let load = ycsb(folder.path(), &format!("load -P workloada --on {url}"));
        assert_eq!(load.code, 0, "{load:?}");
        for letter in ["a", "b", "c", "f", "d"] {
            let result = ycsb(folder.path(), &format!("run -P workload{letter} --on {url}"));
            assert_eq!(result.code, 0, "{url} {letter}: {result:?}");
            let last = records(folder.path()).pop().unwrap();
            let record = std::fs::read_to_string(last).unwrap();
            assert!(record.contains("\"rows_kept\":true"), "{letter}: {record}");
            assert!(!record.contains("\"violated\""), "{letter}: {record}");
        }
        for line in ["run -P workloadc", "run -P workloade", "load -P workloada"] {
            let result = ycsb(folder.path(), &format!("{line} --on {url}"));
            assert_eq!(result.code, 2, "{url} {line}: {result:?}");
            assert!(result.err.contains("inserts or deletes has left other rows"), "{result:?}");
        }
        assert!(folder.path().join(place).exists(), "{url}");
    }
}

#[test]
fn the_duration_of_a_load_is_that_of_its_loaders() {
    let folder = folder();
    let took_ms = (0..5).map(|number| {
        let line = format!("load -p recordcount=10 --on engine:./kept{number}?durability=none");
        let result = ycsb(folder.path(), &line);
        assert_eq!(result.code, 0, "{result:?}");
        value(&result, "[OVERALL], RunTime(ms)").unwrap()
    });
    let least = took_ms.fold(f64::INFINITY, f64::min);
    assert!(least < 90.0, "ten rows took {least} ms at best");
}

/// f16: parts of the records are loaded one after another, in any order; a run requires all, or names a part.
#[test]
fn records_are_loaded_in_parts_and_run_as_a_whole() {
    let folder = folder();
    for url in ["engine:./parts", "sqlite:./parts.db?durability=os"] {
        let part = |first: u64, count: u64| {
            let line = format!(
                "load -p recordcount=1000 -p insertstart={first} -p insertcount={count} --on {url}"
            );
            ycsb(folder.path(), &line)
        };
        let run = |more: &str| {
            let line = format!(
                "run -p recordcount=1000 -p operationcount=200 -p readproportion=0.5 \
                 -p updateproportion=0.5 -p dataintegrity=true {more} --on {url}"
            );
            ycsb(folder.path(), &line)
        };
        let result = part(500, 300);
        assert_eq!(result.code, 0, "{result:?}");
        assert_eq!(value(&result, "[INSERT], Return=OK"), Some(300.0), "{result:?}");
        let early = run("");
        assert_eq!(early.code, 2, "only a part is there: {early:?}");
        assert!(early.err.contains("of which are there 500+300"), "{early:?}");
        let again = part(600, 100);
        assert_eq!(again.code, 0, "{again:?}");
        assert_eq!(value(&again, "[INSERT], Return=OK"), Some(0.0), "{again:?}");
        let twice = part(700, 200);
        assert_eq!(twice.code, 2, "{twice:?}");
        let why = "cannot load the records 700+200: 500+300 exist already";
        assert!(twice.err.contains(why), "{twice:?}");
        for (first, count) in [(0, 500), (800, 200)] {
            let result = part(first, count);
            assert_eq!(result.code, 0, "{url} {first}: {result:?}");
            let loaded = value(&result, "[INSERT], Return=OK");
            assert_eq!(loaded, Some(count as f64), "{result:?}");
        }
        for more in ["", "-p insertstart=900 -p insertcount=50 -p requestdistribution=sequential"] {
            let result = run(more);
            assert_eq!(result.code, 0, "{url}: {result:?}");
            let verified = value(&result, "[VERIFY], Return=OK");
            assert_eq!(verified, value(&result, "[READ], Operations"), "{result:?}");
        }
        let whole = ycsb(folder.path(), &format!("load -p recordcount=1000 --on {url}"));
        assert_eq!(value(&whole, "[INSERT], Return=OK"), Some(0.0), "{whole:?}");
    }
}

/// f15: the histogram's file determines the length of fields, in every row and through updates, which are
/// verified.
#[test]
fn field_lengths_come_from_a_histogram_file() {
    let folder = folder();
    let file = folder.path().join("hist.txt");
    std::fs::write(&file, "BlockSize\t7\n0\t5\n1\t0\n2\t5\n3\t1\n").unwrap();
    let line = "-p recordcount=200 -p operationcount=300 -p updateproportion=0.5 -p readproportion=0.5 \
                -p fieldlengthdistribution=histogram -p dataintegrity=true --on sqlite:kept.db?durability=os";
    for phase in ["load", "run"] {
        let result = ycsb(folder.path(), &format!("{phase} {line}"));
        assert_eq!(result.code, 0, "{result:?}");
        assert!(!result.err.contains("has no effect here"), "{result:?}");
    }
    // Another histogram makes other rows.
    std::fs::write(&file, "BlockSize\t7\n0\t5\n1\t1\n2\t5\n3\t1\n").unwrap();
    let result = ycsb(folder.path(), &format!("run {line}"));
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.err.contains("keeps rows of"), "{result:?}");
    std::fs::write(&file, "BlockSize\t7\n0\tmany\n").unwrap();
    let result = ycsb(folder.path(), &format!("run {line}"));
    assert_eq!(result.code, 2, "{result:?}");
    let why = "the histogram hist.txt (fieldlengthhistogram): line 2 must be the bucket 0";
    assert!(result.err.contains(why), "{result:?}");
}

/// f28: with dataintegrity every read is verified, and the result lines report the number.
#[test]
fn verified_reads_have_their_own_lines() {
    let folder = folder();
    let result = ycsb(
        folder.path(),
        "run -p recordcount=100 -p operationcount=100 -p readproportion=0.5 -p updateproportion=0 \
         -p readmodifywriteproportion=0.5 -p dataintegrity=true -p maxscanrate=0 --on sqlite?durability=os",
    );
    assert_eq!(result.code, 0, "{result:?}");
    assert_eq!(value(&result, "[VERIFY], Operations"), Some(100.0), "{result:?}");
    assert_eq!(value(&result, "[VERIFY], Return=OK"), Some(100.0), "{result:?}");
    assert!(result.err.contains("property maxscanrate has no effect here"), "{result:?}");
}
