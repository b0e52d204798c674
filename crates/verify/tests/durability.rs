//! Whole verifications of real stores, in miniature: what must hold holds, what must lose loses, and
//! with the feature `plants` the engine's planted bugs are caught from outside.
//!
//! Stores that are servers stand in `servers.rs`. The program starts itself as the child that runs the
//! store. Without root and /dev/fuse it tests what is said then, and that nothing is claimed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test without a harness speaks for itself"
)]

#[path = "durability/support.rs"]
mod support;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use support::{CHILD, request, verified};
use syncline_verify::durability::{
    ChildProgram, Class, VERB, Verdict, across, child, kept, parse, recheck_images, stores, verify,
};
use syncline_verify::power::Mount;
use tempfile::TempDir;

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == CHILD) {
        return child();
    }
    a_store_that_is_there_is_refused();
    no_store_is_left_out();
    if Mount::refusal().is_some() {
        without_a_file_system_of_ours_nothing_is_claimed();
        return ExitCode::SUCCESS;
    }
    without_the_right_to_mount_processes_are_killed_and_nothing_is_claimed();
    if cfg!(feature = "plants") {
        planted_bugs_are_caught_from_outside();
    }
    if cfg!(feature = "rocksdb") {
        what_syncs_holds_in("rocksdb");
    }
    sqlite_holds_in_full_and_loses_as_documented();
    what_syncs_holds_in("engine");
    a_failing_image_is_kept_and_fails_again();
    a_full_recording_ends_a_load_and_not_the_verification();
    histories_go_on_behind_crashes();
    ExitCode::SUCCESS
}

fn a_store_that_is_there_is_refused() {
    let crashes = "verify isolation --crashes";
    for (verb, target, words, not) in [
        (VERB, "sqlite:live.db", "say sqlite,", "--like"),
        (
            VERB,
            "postgres://host/db",
            "say postgres, with its options behind a question mark, or --like",
            "does not support",
        ),
        (VERB, "postgres:private", "say postgres,", "is there"),
        (VERB, "nothing", "; it supports engine, sqlite", "--like"),
        (VERB, "redis://host", "does not support", "--like"),
        (VERB, "lmdb", "does not support", "this build"),
        (VERB, "jdbc:derby", "derby", "durability of jdbc"),
        (crashes, "postgres://host/db", crashes, "--like"),
    ] {
        let error = parse(verb, target).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains(not), "{target}: {error}");
    }
}

fn without_a_file_system_of_ours_nothing_is_claimed() {
    let scratch = tempfile::tempdir().unwrap();
    let finding = verified(&request("sqlite", &scratch));
    assert!(matches!(finding.verdict, Verdict::Unknown(_)));
    assert!(finding.images.is_none() && finding.kills.bad() == 0);
    let text = finding.sentences().join("\n");
    assert!(text.contains("rests on process kills alone"), "{text}");
}

/// Root of a container may open /dev/fuse and still not mount: the kills count, and the reason is told.
fn without_the_right_to_mount_processes_are_killed_and_nothing_is_claimed() {
    let without = || {
        let mut rights = capabilities(None).unwrap();
        rights.effective.remove(CapabilitySet::SYS_ADMIN);
        // Of this thread alone.
        set_capabilities(None, rights).unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let finding = verified(&request("sqlite", &scratch));
        let Verdict::Unknown(why) = &finding.verdict else {
            panic!("{:?}", finding.verdict);
        };
        assert!(why.contains("no right to mount"), "{why}");
        assert_eq!((finding.kills.kills, finding.kills.bad()), (2, 0));
        assert!(finding.images.is_none() && finding.controls.is_empty());
    };
    std::thread::scope(|scope| scope.spawn(without).join().unwrap());
}

fn sqlite_holds_in_full_and_loses_as_documented() {
    let scratch = tempfile::tempdir().unwrap();
    let mut request = request("sqlite", &scratch);
    request.faults = true;
    let finding = verified(&request);
    let survived =
        Verdict::Survived { cuts: finding.images.as_ref().unwrap().places, images: 40, kills: 2 };
    assert_eq!(finding.verdict, survived);
    let images = finding.images.as_ref().unwrap();
    assert_eq!(images.count(Class::Ok, None), 40);
    assert!(images.exercised["log"].lost > 0, "the log was exercised");
    let [off, normal] = &finding.controls[..] else {
        panic!("SQLite has two controls: {:?}", finding.controls);
    };
    assert!(off.fired() && off.images.count(Class::Ok, None) < 20);
    assert!(normal.fired() && normal.images.count(Class::Lost, None) > 0);
    let faults = finding.faults.as_ref().unwrap();
    assert_eq!(faults.len(), 12);
    for struck in faults {
        assert_eq!(struck.times == 0, struck.found.is_none(), "{struck:?}");
        assert_eq!(struck.is_bad(), !struck.kept.is_empty(), "{struck:?}");
        for image in &struck.kept {
            let case = kept(image).unwrap();
            let fault = case.fault.unwrap_or_default();
            assert!(fault.starts_with(&struck.fault), "{fault}: {struck:?}");
            fails_again(image, &ChildProgram::this(CHILD).unwrap(), &scratch);
        }
    }
    let in_log = |words| {
        let mut of = faults.iter().filter(|one| one.class.word() == "log");
        of.find(|one| one.fault == words).unwrap().found
    };
    assert_eq!(in_log("disk full (ENOSPC)"), Some(Class::Ok));
    let text = finding.sentences().join("\n");
    assert!(text.contains("Not known from here"), "{text}");
    let gone = scratch.path().join("scratch");
    assert!(!text.contains(gone.to_str().unwrap()), "{text}");
    let advice = "never use WAL, synchronous=OFF; use WAL, synchronous=NORMAL only where";
    assert!(text.contains(advice), "{text}");
    let speed = ["per second", "transactions/s", "commits/s"];
    assert!(!speed.iter().any(|words| text.contains(words)), "{text}");
}

fn what_syncs_holds_in(store: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let mut request = request(store, &scratch);
    // Long enough for checkpoints, and for tables of RocksDB.
    request.load = Duration::from_secs(2);
    let finding = verified(&request);
    let survived = matches!(finding.verdict, Verdict::Survived { .. });
    assert!(survived, "{store}: {:?}", finding.verdict);
    assert!(finding.controls.iter().any(|one| one.images.lost_max > 0), "{store}");
    let images = finding.images.as_ref().unwrap();
    let data = images.exercised.get("data").copied().unwrap_or_default();
    assert!(data.lost > 0, "{store}: {images:?}");
}

/// Stores are tested by name, here and in `servers.rs`.
fn no_store_is_left_out() {
    let tested = ["engine", "sqlite", "rocksdb", "postgres", "mariadb", "derby"];
    let stores = stores().into_iter();
    let left: Vec<_> = stores.filter(|one| !tested.contains(one)).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Lists of both stores outlive crashes whole; a setting that does not sync loses the latest, whole too.
fn histories_go_on_behind_crashes() {
    for (target, holds) in [
        ("engine?isolation=serializable", true),
        ("engine?isolation=snapshot", true),
        ("engine?durability=none", false),
        ("sqlite", true),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let request = request(target, &scratch);
        let program = ChildProgram::this(CHILD).unwrap();
        let found = across(&request, &program, &AtomicBool::new(false), &|_| {}).unwrap();
        println!("{}\n", found.sentences().join("\n"));
        assert!(found.holds(), "{found:?}");
        let cuts = found.cuts.unwrap();
        assert_eq!((found.kills.crashes, cuts.crashes), (2, 40));
        assert!(cuts.committed > 1000, "{cuts:?}");
        assert_eq!(cuts.lost == 0, holds, "{cuts:?}");
        // What is not even written before it is acknowledged goes with its process.
        assert!(!found.kills.is_broken() && (found.kills.lost == 0 || !holds));
    }
}

fn a_failing_image_is_kept_and_fails_again() {
    let scratch = tempfile::tempdir().unwrap();
    let mut request = request("sqlite?durability=os", &scratch);
    (request.control_images, request.must_hold) = (1, true);
    let finding = verified(&request);
    assert!(matches!(finding.verdict, Verdict::NotDurable(_)));
    let kept = finding.images.unwrap().kept;
    assert!(!kept.is_empty());
    for image in &kept {
        fails_again(image, &ChildProgram::this(CHILD).unwrap(), &scratch);
    }
}

/// A store that writes much fills a recording before its load is over: its clients are then told of a
/// power that is gone, and are not at fault.
fn a_full_recording_ends_a_load_and_not_the_verification() {
    let scratch = tempfile::tempdir().unwrap();
    let mut request = request("sqlite", &scratch);
    (request.images, request.control_images) = (10, 10);
    request.recorded_bytes_max = 1_000_000;
    let finding = verified(&request);
    let images = finding.images.as_ref().unwrap();
    assert_eq!(images.count(Class::Ok, None), 10, "{images:?}");
    assert!(images.acknowledged > 0, "{images:?}");
}

fn fails_again(kept: &Path, program: &ChildProgram, scratch: &TempDir) {
    for _ in 0..2 {
        let (case, now) = recheck_images(kept, program, &scratch.path().join("again")).unwrap();
        assert_ne!(now.class, Class::Ok);
        assert_eq!((case.outcome.class, case.outcome.lost), (now.class, now.lost));
    }
}

/// A planted bug makes the engine lose what it acknowledged, or worse, in some of 300 images: the budget.
/// The last is a bug of checkpoints, of which a load makes several.
fn planted_bugs_are_caught_from_outside() {
    for plant in ["AcknowledgeBeforeSync", "SkipDirectorySync", "RootBeforePages"] {
        let scratch = tempfile::tempdir().unwrap();
        let mut request = request("engine", &scratch);
        (request.images, request.control_images, request.kills) = (300, 10, 0);
        let mut program = ChildProgram::this("verify-child").unwrap();
        program.arguments.insert(0, format!("SYNCLINE_PLANT={plant}").into());
        program.arguments.insert(1, program.path.clone().into());
        program.path = "/usr/bin/env".into();
        let finding = verify(&request, &program, &AtomicBool::new(false), &|_| {}).unwrap();
        println!("{plant}: {}", finding.sentences().join("\n"));
        let images = finding.images.as_ref().unwrap();
        let bad = images.images - images.count(Class::Ok, None);
        assert!(bad > 0, "{plant} was not caught in {} images", images.images);
        assert!(!images.kept.is_empty());
        fails_again(&images.kept[0], &program, &scratch);
    }
}
