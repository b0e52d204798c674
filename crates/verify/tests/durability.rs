//! Whole verifications of real stores, in miniature: what must hold holds, what must lose loses, and
//! with the feature `plants` the engine's planted bugs are caught from outside.
//!
//! The program starts itself as the child that runs the store. Without root and /dev/fuse it tests what
//! is said then, and that nothing is claimed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test without a harness speaks for itself"
)]

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_verify::durability::{
    Class, Finding, Program, Request, Verdict, child, look_again, parse, stores, verify,
};
use syncline_verify::power::Mount;
use tempfile::TempDir;

const CHILD: &str = "verify-child";

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == CHILD) {
        return child();
    }
    a_store_that_is_there_is_refused();
    if Mount::refusal().is_some() {
        without_a_file_system_of_ours_nothing_is_claimed();
        return ExitCode::SUCCESS;
    }
    if cfg!(feature = "plants") {
        planted_bugs_are_caught_from_outside();
        return ExitCode::SUCCESS;
    }
    sqlite_holds_in_full_and_loses_as_documented();
    what_syncs_holds_in_every_store();
    a_failing_image_is_kept_and_fails_again();
    ExitCode::SUCCESS
}

fn request(target: &str, scratch: &TempDir) -> Request {
    let (store, options) = parse(target).unwrap();
    Request {
        store,
        options,
        images: 40,
        control_images: 20,
        kills: 2,
        load: Duration::from_millis(600),
        must_hold: false,
        faults: false,
        seed: 7,
        scratch: scratch.path().join("scratch"),
        keep: scratch.path().join("kept"),
    }
}

fn verified(request: &Request) -> Finding {
    let program = Program::this(CHILD).unwrap();
    let finding = verify(request, &program, &AtomicBool::new(false), &|_| {}).unwrap();
    println!("{}\n", finding.sentences().join("\n"));
    finding
}

fn a_store_that_is_there_is_refused() {
    for target in ["sqlite:live.db", "postgres://host/db", "nothing"] {
        let error = parse(target).unwrap_err().to_string();
        assert!(
            error.contains("of its own") || error.contains("it knows"),
            "{error}"
        );
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

fn sqlite_holds_in_full_and_loses_as_documented() {
    let scratch = tempfile::tempdir().unwrap();
    let mut request = request("sqlite", &scratch);
    request.faults = true;
    let finding = verified(&request);
    let survived = matches!(finding.verdict, Verdict::Survived { cuts: 40, kills: 2 });
    assert!(survived, "{:?}", finding.verdict);
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
    }
    let in_log = |words| {
        let mut of = faults.iter().filter(|one| one.class.word() == "log");
        of.find(|one| one.fault == words).unwrap().found
    };
    assert_eq!(in_log("disk full (ENOSPC)"), Some(Class::Ok));
    let text = finding.sentences().join("\n");
    assert!(text.contains("Not known from here"), "{text}");
    let speed = ["per second", "transactions/s", "commits/s"];
    assert!(!speed.iter().any(|words| text.contains(words)), "{text}");
}

fn what_syncs_holds_in_every_store() {
    for store in stores().into_iter().filter(|store| *store != "sqlite") {
        let scratch = tempfile::tempdir().unwrap();
        let finding = verified(&request(store, &scratch));
        let survived = matches!(finding.verdict, Verdict::Survived { .. });
        assert!(survived, "{store}: {:?}", finding.verdict);
        assert!(
            finding.controls.iter().any(|one| one.images.lost_max > 0),
            "{store}"
        );
        // Loads are long enough for checkpoints.
        let images = finding.images.as_ref().unwrap();
        assert!(images.exercised["data"].lost > 0, "{store}");
    }
}

fn a_failing_image_is_kept_and_fails_again() {
    let scratch = tempfile::tempdir().unwrap();
    let mut request = request("sqlite?durability=os", &scratch);
    (request.control_images, request.must_hold) = (1, true);
    let finding = verified(&request);
    assert!(matches!(finding.verdict, Verdict::NotDurable(_)));
    let kept = finding.images.unwrap().kept;
    assert_eq!(kept.len(), 3, "{kept:?}");
    fails_again(&kept[0], &Program::this(CHILD).unwrap(), &scratch);
}

fn fails_again(kept: &Path, program: &Program, scratch: &TempDir) {
    for _ in 0..2 {
        let (case, now) = look_again(kept, program, &scratch.path().join("again")).unwrap();
        assert_ne!(now.class, Class::Ok);
        assert_eq!(
            (case.outcome.class, case.outcome.lost),
            (now.class, now.lost)
        );
    }
}

/// A planted bug makes the engine lose what it acknowledged, or worse, in some of 300 images: the budget.
/// The last is a bug of checkpoints, of which a load makes several.
fn planted_bugs_are_caught_from_outside() {
    for plant in [
        "AcknowledgeBeforeSync",
        "SkipDirectorySync",
        "RootBeforePages",
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let mut request = request("engine", &scratch);
        (request.images, request.control_images, request.kills) = (300, 10, 0);
        let mut program = Program::this("verify-child").unwrap();
        program
            .arguments
            .insert(0, format!("SYNCLINE_PLANT={plant}").into());
        program.arguments.insert(1, program.path.clone().into());
        program.path = "/usr/bin/env".into();
        let finding = verify(&request, &program, &AtomicBool::new(false), &|_| {}).unwrap();
        println!("{plant}: {}", finding.sentences().join("\n"));
        let images = finding.images.as_ref().unwrap();
        let bad = images.images - images.count(Class::Ok, None);
        assert!(
            bad > 0,
            "{plant} was not caught in {} images",
            images.images
        );
        assert!(!images.kept.is_empty());
        fails_again(&images.kept[0], &program, &scratch);
    }
}
