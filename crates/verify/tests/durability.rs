//! Small but complete verifications of real stores: settings that must hold do hold, those that must lose do
//! lose, and with the feature `plants` the engine's planted bugs are caught from outside.
//!
//! Servers are tested in `server_durability.rs`. The program starts itself as the child that runs the store.
//! Without root and /dev/fuse it tests the messages for that case, and that no conclusion is drawn.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test without a harness prints its own results"
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
    ChildProgram, Class, VERB, Verdict, check_crash_histories, child, parse, read_case,
    recheck_images, stores, verify,
};
use syncline_verify::power::Mount;
use tempfile::TempDir;

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == CHILD) {
        return child();
    }
    an_existing_store_is_refused();
    every_store_is_tested();
    if Mount::refusal().is_some() {
        without_a_mount_the_verdict_is_unknown();
        return ExitCode::SUCCESS;
    }
    without_the_mount_capability_only_kills_are_tested();
    if cfg!(feature = "plants") {
        planted_bugs_are_caught_from_outside();
    }
    if cfg!(feature = "rocksdb") {
        synced_settings_hold_in("rocksdb");
    }
    sqlite_holds_in_full_and_loses_as_documented();
    synced_settings_hold_in("engine");
    a_failing_image_is_kept_and_fails_again();
    a_full_recording_ends_the_load_but_not_the_verification();
    histories_continue_after_crashes();
    ExitCode::SUCCESS
}

fn an_existing_store_is_refused() {
    let crashes = "verify isolation --crashes";
    for (verb, target, words, not) in [
        (VERB, "sqlite:live.db", "give only sqlite,", "--like"),
        (
            VERB,
            "postgres://host/db",
            "give only postgres, with its options after a question mark, or use --like",
            "does not support",
        ),
        (VERB, "postgres:private", "give only postgres,", "existing"),
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

fn without_a_mount_the_verdict_is_unknown() {
    let scratch = tempfile::tempdir().unwrap();
    let finding = verified(&request("sqlite", &scratch));
    assert!(matches!(finding.verdict, Verdict::Unknown(_)));
    assert!(finding.images.is_none() && finding.kills.bad() == 0);
    let text = finding.sentences().join("\n");
    assert!(text.contains("rests on process kills alone"), "{text}");
}

/// Root in a container may open /dev/fuse and still lack the right to mount: only the kills count then.
fn without_the_mount_capability_only_kills_are_tested() {
    let without = || {
        let mut rights = capabilities(None).unwrap();
        rights.effective.remove(CapabilitySet::SYS_ADMIN);
        // For this thread only.
        set_capabilities(None, rights).unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let finding = verified(&request("sqlite", &scratch));
        let Verdict::Unknown(why) = &finding.verdict else {
            panic!("{:?}", finding.verdict);
        };
        assert!(why.contains("lacks the capability"), "{why}");
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
    assert!(images.exercised["log"].lost > 0, "the log must be exercised");
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
            let case = read_case(image).unwrap();
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
    let advice = "never use WAL, synchronous=OFF; use WAL, synchronous=NORMAL only if";
    assert!(text.contains(advice), "{text}");
    let speed = ["per second", "transactions/s", "commits/s"];
    assert!(!speed.iter().any(|words| text.contains(words)), "{text}");
}

fn synced_settings_hold_in(store: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let mut request = request(store, &scratch);
    // Long enough for checkpoints, and for sorted tables of RocksDB.
    request.load = Duration::from_secs(2);
    let finding = verified(&request);
    let survived = matches!(finding.verdict, Verdict::Survived { .. });
    assert!(survived, "{store}: {:?}", finding.verdict);
    assert!(finding.controls.iter().any(|one| one.images.lost_max > 0), "{store}");
    let images = finding.images.as_ref().unwrap();
    let data = images.exercised.get("data").copied().unwrap_or_default();
    assert!(data.lost > 0, "{store}: {images:?}");
}

/// Checks that every store is tested, here or in `server_durability.rs`.
fn every_store_is_tested() {
    let tested = ["engine", "sqlite", "rocksdb", "postgres", "mariadb", "derby"];
    let stores = stores().into_iter();
    let left: Vec<_> = stores.filter(|one| !tested.contains(one)).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Lists of both stores survive crashes; a setting that does not sync loses only the latest transactions,
/// whole.
fn histories_continue_after_crashes() {
    for (target, holds) in [
        ("engine?isolation=serializable", true),
        ("engine?isolation=snapshot", true),
        ("engine?durability=none", false),
        ("sqlite", true),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let request = request(target, &scratch);
        let program = ChildProgram::this(CHILD).unwrap();
        let found =
            check_crash_histories(&request, &program, &AtomicBool::new(false), &|_| {}).unwrap();
        println!("{}\n", found.sentences().join("\n"));
        assert!(found.holds(), "{found:?}");
        let cuts = found.cuts.unwrap();
        assert_eq!((found.kills.crashes, cuts.crashes), (2, 40));
        assert!(cuts.committed > 1000, "{cuts:?}");
        assert_eq!(cuts.lost == 0, holds, "{cuts:?}");
        // A transaction that is acknowledged before it is written is lost with its process.
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

/// A store that writes a lot fills its recording before the load ends: the errors that its clients then
/// report come from the power cut, and do not fail the verification.
fn a_full_recording_ends_the_load_but_not_the_verification() {
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

/// A planted bug makes the engine lose acknowledged data, or worse, in some of 300 images.
/// The last one is a bug in checkpoints, of which a load makes several.
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
