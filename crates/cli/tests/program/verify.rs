//! `verify durability`: its output, its records, and its exit codes.

use crate::support::{ProgramOutput, folder, left_behind, program, syncline};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use syncline_verify::power::{Class, Mount};

/// True if the recording file system can be mounted; otherwise power loss is not simulated, and the result is
/// unknown.
fn loses_power() -> bool {
    Mount::refusal().is_none()
}

const SMALL: &str = "--images 20 --control-images 10 --kills 1 --load 300ms --no-faults";

fn small(folder: &Path, line: &str) -> ProgramOutput {
    syncline(folder, &format!("verify durability {line} {SMALL}"))
}

#[test]
fn a_setting_that_holds_ends_with_0_and_the_limits_of_the_test() {
    let folder = folder();
    let result = small(folder.path(), "sqlite");
    if !loses_power() {
        assert_eq!(result.code, 2, "{result:?}");
        assert!(result.out.contains("process kills alone"), "{result:?}");
        return;
    }
    assert_eq!(result.code, 0, "{result:?}");
    let first = result.out.lines().next().unwrap();
    assert!(
        first.contains("survived 2 simulated power losses (20 crash images) and 1 process kill:"),
        "{first}"
    );
    assert!(result.out.contains("Not known from here"), "{result:?}");
    assert!(
        result.out.contains("Control WAL, synchronous=OFF (must lose data): lost data in "),
        "{result:?}"
    );
    assert!(result.err.contains("record: syncline-runs/"), "{result:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new(), "nothing else stays");
}

#[test]
fn a_setting_that_loses_ends_with_1_if_it_must_hold_and_keeps_images_that_fail_again() {
    let folder = folder();
    if !loses_power() {
        println!("not tested here: FUSE file systems cannot be mounted");
        return;
    }
    let result = small(folder.path(), "sqlite?durability=os --must-hold");
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains(": not durable: "), "{result:?}");
    assert!(result.err.contains("not durable"), "{result:?}");
    assert_eq!(left_behind(folder.path()), ["syncline-kept"]);
    let again = syncline(folder.path(), "verify durability --again syncline-kept/image-1");
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.out.contains("Then: ") && again.out.contains("Now: "), "{again:?}");
    let again = syncline(folder.path(), "verify durability --again syncline-kept/image-1 --json");
    assert_eq!(again.code, 1, "{again:?}");
    let found = again.json();
    assert_eq!(found["store"], "sqlite");
    assert_eq!(found["then"]["class"], found["now"]["class"], "{found}");
}

#[test]
fn the_same_setting_ends_with_0_if_it_promises_nothing() {
    let folder = folder();
    let result = small(folder.path(), "sqlite?durability=os --json");
    assert_eq!(result.code, 0, "{result:?}");
    let record = result.json()["finding"].clone();
    assert!(record["verdict"]["promises_nothing"].is_string(), "{record}");
    assert_eq!((&record["store"], &record["tears"]), (&"sqlite".into(), &true.into()));
}

#[test]
fn stores_that_may_not_be_killed_are_refused_with_2_before_any_change() {
    for (target, words) in [
        ("postgres://host/db", "makes a temporary one"),
        ("sqlite:precious.db", "makes a temporary one"),
        ("nosuchstore", "it supports "),
        ("postgres?fsync", "has no value"),
        ("postgres?durability=much", "own settings"),
        ("sqlite --dir absent", "absent"),
    ] {
        let folder = folder();
        let result = small(folder.path(), target);
        assert_eq!(result.code, 2, "{target}: {result:?}");
        assert_eq!(result.out, "", "{target}");
        assert!(result.err.contains(words), "{target}: {result:?}");
        assert_eq!(left_behind(folder.path()), Vec::<String>::new(), "{target}");
    }
}

/// The next verification removes what a killed one left behind, and nothing else.
#[test]
fn the_next_verification_removes_what_a_killed_one_left_with_a_note() {
    let folder = folder();
    // No process has a number this large.
    let [dead, locked, named] =
        ["syncline-verify-4200001", "syncline-verify-4200002", "syncline-verify-mine"].map(
            |name| {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.join("image-0")).unwrap();
                path
            },
        );
    let lives = std::fs::File::open(&locked).unwrap();
    lives.try_lock().unwrap();
    let result = small(folder.path(), "sqlite --dir . --keep kept");
    assert!(
        result.err.contains("removed ./syncline-verify-4200001, left by a killed verification"),
        "{result:?}"
    );
    assert!(!dead.exists() && locked.exists() && named.exists());
    drop(lives);
}

#[test]
fn the_next_verification_removes_everything_that_one_killed_under_load_left() {
    let folder = folder();
    let line = "verify durability sqlite --dir . --load 60s --kills 0";
    let mut killed = program(folder.path(), line).stderr(Stdio::null()).spawn().unwrap();
    let left = folder.path().join(format!("syncline-verify-{}", killed.id()));
    let point = left.join("load/point");
    let mounted = || point.join("store.db").exists();
    for _ in 0..2000 {
        if !loses_power() || mounted() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    if loses_power() {
        assert!(left.exists());
    }
    let result = small(folder.path(), "sqlite --dir .");
    assert!(!left.exists(), "{result:?}");
    assert_eq!(result.code, if loses_power() { 0 } else { 2 }, "{result:?}");
}

#[test]
fn no_speed_is_measured_on_a_recording_mount() {
    if !loses_power() {
        println!("not tested here: FUSE file systems cannot be mounted");
        return;
    }
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    for name in ["backing", "recorded", "copy"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    let none = |_: &Path| Class::Other;
    let mount = Mount::new(&at("backing"), &at("recorded"), &at("copy"), none, 1 << 30).unwrap();
    let refused = |from: &Path, line: &str| {
        let result = syncline(from, line);
        assert_eq!(result.code, 2, "{line}: {result:?}");
        let why = "a speed measured there means nothing";
        assert!(result.err.contains(why), "{line}: {result:?}");
        assert_eq!(result.out, "", "{line}");
    };
    for line in [
        "probe recorded",
        "probe writetest -f recorded/file",
        "survey --dir recorded",
        "survey --on sqlite:recorded/store.db",
        "run insert --on sqlite:recorded/store.db --duration 100ms --line none",
        "run insert --on engine:recorded/store --duration 100ms --line none",
        "ycsb load --on sqlite:recorded/store.db -p recordcount=10",
        "sysbench oltp_insert prepare --on=sqlite:recorded/store.db",
    ] {
        refused(folder.path(), line);
    }
    let private = "run insert --on sqlite --duration 100ms --line none";
    refused(&at("recorded"), private);
    drop(mount);
    assert_eq!(std::fs::read_dir(at("backing")).unwrap().count(), 0, "and nothing is made");
}
