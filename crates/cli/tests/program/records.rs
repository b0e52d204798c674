//! Records: shown again, valid under the published schema, refused if newer, and compared.

use crate::support::{figure, folder, quick_run, records, syncline};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/record.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_real_record_is_valid_and_a_broken_one_is_not() {
    let folder = folder();
    let result = quick_run(folder.path(), "--on sqlite --transactions 100 --operations --json");
    let record = result.json();
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&record).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    let mut broken = record.clone();
    broken["outcomes"]["committed"] = Value::from("many");
    assert!(!validator.is_valid(&broken));
}

#[test]
fn show_prints_the_record_again() {
    let folder = folder();
    let result = quick_run(folder.path(), "--on null --transactions 100 --json");
    let path = records(folder.path()).remove(0);
    let shown = syncline(folder.path(), &format!("show --json {}", path.display()));
    assert_eq!(shown.code, 0, "{shown:?}");
    assert_eq!(shown.json(), result.json());
    let table = syncline(folder.path(), &format!("show {}", path.display()));
    assert!(table.out.contains("null") && table.out.contains("commits"), "{table:?}");
}

// D18
#[test]
fn a_record_keeps_the_statements_of_a_store_with_statements() {
    let folder = folder();
    let statements = |on: &str| {
        let result = quick_run(folder.path(), &format!("--on {on} --transactions 10 --json"));
        let id = result.json()["id"].as_str().unwrap().to_owned();
        syncline(folder.path(), &format!("show {id} --statements")).out
    };
    for on in ["sqlite", "sqlite?client=queue"] {
        let text = statements(on);
        for part in [
            "CREATE TABLE",
            "PRAGMA synchronous=",
            "BEGIN IMMEDIATE",
            "Operation: insert",
            "INSERT INTO",
        ] {
            assert!(text.contains(part), "{on}: {part}: {text}");
        }
        assert!(!text.contains("no statements"), "{text}");
    }
    let text = statements("engine");
    assert!(text.contains("no statements: the store runs in this process"), "{text}");
}

#[test]
fn a_record_is_found_by_its_id() {
    let folder = folder();
    let run = || quick_run(folder.path(), "--on null --transactions 100 --json").json();
    let [first, second] = [run(), run()];
    let id = |record: &Value| record["id"].as_str().unwrap().to_owned();
    let listed = syncline(folder.path(), "list runs").out;
    assert!(listed.contains(&id(&first)), "{listed}");
    let shown = syncline(folder.path(), &format!("show --json {}", id(&first)));
    assert_eq!(shown.json(), first);
    let line = format!("compare {} {}", id(&first), id(&second));
    let compared = syncline(folder.path(), &line);
    // D4: one moment of each does not show which is faster.
    assert_eq!(compared.code, 2, "{compared:?}");
    assert!(compared.out.contains("too short to judge"), "{compared:?}");
    assert!(compared.err.contains("--repeat 5"), "{compared:?}");
    let again = syncline(folder.path(), &format!("run --json --like {}", id(&second)));
    assert_eq!(again.json()["workload"], second["workload"]);
    for line in ["show nosuch", "run --like nosuch", "run insert --on null --line nosuch"] {
        let result = syncline(folder.path(), line);
        assert_eq!(result.code, 2, "{result:?}");
        assert!(result.err.contains("there is no record nosuch"), "{result:?}");
    }
}

#[test]
fn a_run_is_repeated_like_its_record() {
    let folder = folder();
    let line = "--on sqlite?client=queue --clients 3 --transactions 60 --commit-every 5 --seed 7";
    quick_run(folder.path(), line);
    let path = records(folder.path()).remove(0);
    let result = syncline(folder.path(), &format!("run --like {} --json", path.display()));
    assert_eq!(result.code, 0, "{result:?}");
    let (old, new) =
        (syncline(folder.path(), &format!("show --json {}", path.display())).json(), result.json());
    for part in ["plan", "workload"] {
        assert_eq!(old[part], new[part]);
    }
    assert_eq!(old["plan"]["pipeline"], false, "SQLite takes call after call");
    assert_eq!(old["target"]["url"], new["target"]["url"]);
    assert_eq!(old["outcomes"]["attempted"], new["outcomes"]["attempted"]);
    assert_ne!(old["id"], new["id"]);
}

#[test]
fn a_shared_record_names_no_host_and_no_path() {
    let folder = folder();
    quick_run(folder.path(), "--on sqlite --transactions 50");
    let path = records(folder.path()).remove(0);
    let shared = syncline(folder.path(), &format!("show --json --share {}", path.display()));
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let here = folder.path().display().to_string();
    assert_eq!(shared.code, 0);
    assert!(!shared.out.contains(&here), "{}", shared.out);
    assert!(shared.json()["machine"]["host"] != host.trim());
}

#[test]
fn a_report_is_written_whole() {
    let folder = folder();
    quick_run(folder.path(), "--on null --transactions 100");
    let path = records(folder.path()).remove(0);
    let result = syncline(folder.path(), &format!("show --html report.html {}", path.display()));
    assert_eq!(result.code, 0, "{result:?}");
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(!page.contains("http://") || page.contains("http://www.w3.org"), "it loads nothing");
}

#[test]
fn runs_are_shown_next_to_published_results() {
    let folder = folder();
    let line = "--on sqlite --clients 1 --transactions 40 --sweep commit-every=1,10";
    assert_eq!(quick_run(folder.path(), line).code, 0);
    let paths: Vec<String> =
        records(folder.path()).iter().map(|path| path.display().to_string()).collect();
    assert_eq!(paths.len(), 2);
    let paths = paths.join(" ");
    let curve = syncline(folder.path(), &format!("show --as fromdual {paths}"));
    assert_eq!(curve.code, 0, "{curve:?}");
    for expected in ["2008", "55.6/s", "inserts a commit", "now 2", "sqlite"] {
        assert!(curve.out.contains(expected), "{expected}: {}", curve.out);
    }
    let matrix = syncline(folder.path(), &format!("show --share --as mail2002 {paths}"));
    assert_eq!(matrix.code, 0, "{matrix:?}");
    assert!(matrix.out.contains("above the ceiling"), "{}", matrix.out);
    let here = folder.path().display().to_string();
    assert!(!matrix.out.contains(&here), "{}", matrix.out);
    for view in ["k2", "bigdata", "derby"] {
        let refused = syncline(folder.path(), &format!("show --as {view} {paths}"));
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{refused:?}");
        assert_eq!(refused.err.lines().count(), 1, "{refused:?}");
        assert!(refused.err.contains("a run of insert"), "{refused:?}");
        assert!(refused.err.contains("syncline run "), "{refused:?}");
    }
    for other in ["--json", "--html x.html"] {
        let refused = syncline(folder.path(), &format!("show --as fromdual {other} {paths}"));
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{refused:?}");
    }
}

#[test]
fn a_record_of_a_newer_version_is_refused() {
    let folder = folder();
    quick_run(folder.path(), "--on null --transactions 100");
    let path = records(folder.path()).remove(0);
    let text = fs::read_to_string(&path).unwrap();
    let newer = text.replace("\"version\":1", "\"version\":999");
    assert_ne!(newer, text);
    fs::write(&path, newer).unwrap();
    let result = syncline(folder.path(), &format!("show {}", path.display()));
    assert_eq!((result.code, result.err.lines().count()), (2, 1), "{result:?}");
    assert!(result.err.contains("999"), "{result:?}");
}

#[test]
fn slower_with_disjoint_ranges_is_a_regression() {
    let folder = folder();
    let line = "--on null --clients 4 --duration 100ms --repeat 5";
    quick_run(folder.path(), line);
    quick_run(folder.path(), &format!("{line} --rate 1000 --arrival fixed"));
    let paths = records(folder.path());
    let (fast, slow) = match &paths[..] {
        [one, other] => {
            let of = |path: &std::path::PathBuf| {
                let result = syncline(folder.path(), &format!("show --json {}", path.display()));
                figure(&result.json(), "throughput_per_s")
            };
            if of(one) > of(other) {
                (one.display(), other.display())
            } else {
                (other.display(), one.display())
            }
        }
        other => panic!("{other:?}"),
    };
    let refused = syncline(folder.path(), &format!("compare {fast} {slow}"));
    assert_eq!(refused.code, 2, "another arrival is not compared unasked: {refused:?}");
    let slower = syncline(folder.path(), &format!("compare --unequal {fast} {slow}"));
    assert_eq!(slower.code, 1, "{slower:?}");
    assert!(slower.out.contains("slower"), "{slower:?}");
    let faster = syncline(folder.path(), &format!("compare --unequal {slow} {fast}"));
    assert_eq!(faster.code, 0, "{faster:?}");
}

#[test]
fn records_of_unequal_durability_are_not_compared_by_default() {
    let folder = folder();
    quick_run(folder.path(), "--on sqlite?durability=os --transactions 50");
    quick_run(folder.path(), "--on sqlite?durability=data --transactions 50");
    let paths = records(folder.path());
    let both = format!("{} {}", paths[0].display(), paths[1].display());
    let result = syncline(folder.path(), &format!("compare {both}"));
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.err.contains("durability"), "{result:?}");
}

// Section 7, point 4: a comparison could not be kept as a page.
#[test]
fn a_comparison_is_written_as_a_page_which_explains_a_refusal() {
    let folder = folder();
    for line in ["--clients 1", "--clients 1", "--clients 2"] {
        quick_run(folder.path(), &format!("--on null --transactions 100 {line}"));
    }
    let clients = |path: &std::path::PathBuf| {
        let result = syncline(folder.path(), &format!("show --json {}", path.display()));
        result.json()["plan"]["clients"].as_u64().unwrap()
    };
    let mut paths = records(folder.path());
    paths.sort_by_key(clients);
    let page = folder.path().join("page.html");
    let compare = |one: usize, other: usize| {
        let (one, other) = (paths[one].display(), paths[other].display());
        let line = format!("compare {one} {other} --html {}", page.display());
        let result = syncline(folder.path(), &line);
        (result, fs::read_to_string(&page).unwrap())
    };
    let (alike, text) = compare(0, 1);
    assert!(alike.out.contains("throughput"), "{alike:?}");
    assert!(alike.err.contains("page.html"), "{alike:?}");
    assert!(text.contains("throughput: B/A") && text.ends_with("</html>"));
    let (refused, text) = compare(0, 2);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("clients 1 and 2"), "{refused:?}");
    assert!(text.contains("clients 1 and 2") && !text.contains("B/A"));
}

// A.D4
#[test]
fn a_report_is_written_to_devices_and_links_without_replacing_them() {
    let folder = folder();
    assert_eq!(quick_run(folder.path(), "--on null --transactions 10").code, 0);
    let record = records(folder.path()).remove(0);
    let show =
        |path: &str| syncline(folder.path(), &format!("show --html {path} {}", record.display()));
    let full = show("/dev/full");
    assert_eq!(full.code, 2, "{full:?}");
    assert!(full.err.contains("No space left"), "{full:?}");
    let piped = show("/dev/stdout");
    assert_eq!(piped.code, 0, "{piped:?}");
    assert!(piped.out.contains("<!DOCTYPE html>"), "{piped:?}");
    for device in ["/dev/full", "/dev/null"] {
        let kind = fs::metadata(device).unwrap().file_type();
        assert!(std::os::unix::fs::FileTypeExt::is_char_device(&kind), "{device}");
    }
    std::os::unix::fs::symlink("page.html", folder.path().join("link.html")).unwrap();
    assert_eq!(show("link.html").code, 0);
    let link = fs::symlink_metadata(folder.path().join("link.html")).unwrap();
    assert!(link.is_symlink());
    assert!(folder.path().join("page.html").is_file());
}

#[test]
fn two_programs_are_compared_in_turns_and_their_records_can_be_compared_again() {
    let folder = folder();
    let program = env!("CARGO_BIN_EXE_syncline");
    let run = "-- run insert --on sqlite --transactions 200 --warm-up 0 --line none";
    let gate = "--fail-if per_commit.syncs>+2% --json";
    let line = format!("compare --a {program} --b {program} --rounds 5 {gate} {run}");
    let compared = syncline(folder.path(), &line);
    assert_eq!(compared.code, 0, "{compared:?}");
    let value = compared.json();
    assert_eq!(value["rules"][0]["outcome"], "holds", "{value}");
    let figures = value["figures"].as_array().unwrap();
    let syncs = figures.iter().find(|one| one["key"] == "per_commit.syncs").unwrap();
    assert!(syncs["interval"].is_array(), "{syncs}");
    let runs = folder.path().join("syncline-runs");
    let mut sides: Vec<_> = fs::read_dir(runs).unwrap().map(|one| one.unwrap().path()).collect();
    sides.sort();
    let again = format!("compare {} {} --markdown", sides[0].display(), sides[1].display());
    let again = syncline(folder.path(), &again);
    assert!(again.code != 2 && again.out.contains("| syncs per commit |"), "{again:?}");
    let unknown = format!(
        "compare {} {} --fail-if response_ns.p99>+2%",
        sides[0].display(),
        sides[1].display()
    );
    let unknown = syncline(folder.path(), &unknown);
    assert!(unknown.code == 2 && unknown.out.contains("no such figure"), "{unknown:?}");
}

#[test]
fn a_program_that_hangs_is_killed_with_what_it_started() {
    let folder = folder();
    let script = folder.path().join("hangs");
    fs::write(&script, "#!/bin/sh\nsleep 600 & echo $! >child; wait\n").unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let line = "compare --a ./hangs --b ./hangs --time-limit 300ms -- run insert --on null";
    let ended = syncline(folder.path(), line);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.err.contains("hangs ran longer than 300 ms"), "{ended:?}");
    let child = fs::read_to_string(folder.path().join("child")).unwrap();
    let state = fs::read_to_string(format!("/proc/{}/stat", child.trim()));
    let fails = folder.path().join("fails");
    fs::write(&fails, "#!/bin/sh\nsleep 600 & echo why >&2; exit 3\n").unwrap();
    fs::set_permissions(&fails, Permissions::from_mode(0o755)).unwrap();
    let failed = syncline(folder.path(), "compare --a ./fails --b ./fails -- run insert --on null");
    assert!(
        failed.code == 2 && failed.err.contains("why"),
        "its child is not waited for: {failed:?}"
    );
    // Init may not have collected it yet.
    assert!(state.is_err() || state.is_ok_and(|stat| stat.contains(") Z")), "the child is gone");
}

#[test]
fn a_program_that_fails_ends_the_comparison_with_what_it_said() {
    let folder = folder();
    let program = env!("CARGO_BIN_EXE_syncline");
    let line = format!("compare --a {program} --b {program} -- run insert --on nothing");
    let failed = syncline(folder.path(), &line);
    assert!(failed.code == 2 && failed.err.contains("nothing"), "{failed:?}");
    let line = format!("compare --a {program} --b {program} -- survey");
    let refused = syncline(folder.path(), &line);
    assert!(refused.code == 2 && refused.err.contains("must be a run"), "{refused:?}");
    let line = format!("compare --a /no/such --b {program} -- run insert --on null");
    let missing = syncline(folder.path(), &line);
    assert!(missing.code == 2 && missing.err.contains("/no/such"), "{missing:?}");
}
