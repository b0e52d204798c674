//! Whole verifications of servers that run unmodified, in miniature; with the feature `jdbc` of Derby.
//!
//! What is not installed fails here; `./test` installs it first. Without root and /dev/fuse no power can
//! be lost, and each says that it tests nothing.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test without a harness speaks for itself"
)]

#[path = "durability/support.rs"]
mod support;

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;
use support::{CHILD, request, verified};
use syncline_verify::durability::{
    Class, Control, FaultVerdict, Finding, Images, Struck, Verdict, child, place,
};
use syncline_verify::power::Mount;
use tempfile::TempDir;

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == CHILD) {
        return child();
    }
    if let Some(why) = Mount::refusal() {
        println!("not tested here: {why}");
        return ExitCode::SUCCESS;
    }
    if cfg!(feature = "jdbc") {
        derby_holds_where_pages_are_written_whole();
        return ExitCode::SUCCESS;
    }
    postgresql_holds_and_its_settings_lose_what_they_may();
    mariadb_loses_nothing_it_has_synced();
    ExitCode::SUCCESS
}

/// Where every user may enter.
fn scratch(store: &str) -> TempDir {
    let scratch = tempfile::tempdir_in(place(store).unwrap()).unwrap();
    set_permissions(scratch.path(), Permissions::from_mode(0o755)).unwrap();
    scratch
}

fn control<'f>(finding: &'f Finding, name: &str) -> &'f Control {
    let mut controls = finding.controls.iter();
    let found = controls.find(|one| one.name == name);
    found.unwrap_or_else(|| panic!("no control {name}: {:?}", finding.controls))
}

/// Images in which damage was seen, rather than rows that are gone.
fn damaged(images: &Images) -> u64 {
    let classes = [Class::Torn, Class::Unreadable, Class::WillNotOpen];
    classes.iter().map(|class| images.count(*class, None)).sum()
}

fn struck<'f>(finding: &'f Finding, fault: &str, class: &str) -> &'f Struck {
    let mut faults = finding.faults.as_ref().unwrap().iter();
    let found = faults.find(|one| one.fault == fault && one.class.word() == class);
    found.unwrap()
}

fn postgresql_holds_and_its_settings_lose_what_they_may() {
    let scratch = scratch("postgres");
    let mut request = request("postgres", &scratch);
    (request.control_images, request.faults) = (20, true);
    let finding = verified(&request);
    let survived = matches!(finding.verdict, Verdict::Survived { cuts: 40, kills: 2 });
    assert!(survived, "{:?}", finding.verdict);
    let exercised = &finding.images.as_ref().unwrap().exercised;
    assert!(exercised["log"].lost > 0 && exercised["data"].torn > 0);
    assert!(control(&finding, "fsync=off").images.count(Class::Ok, None) < 20);
    let torn = control(&finding, "full_page_writes=off");
    assert!(damaged(&torn.images) > 0, "{torn:?}");
    let late = control(&finding, "synchronous_commit=off");
    assert!(late.fired() && late.images.lost_max > 0, "{late:?}");
    assert_eq!(damaged(&late.images), 0, "whole transactions: {late:?}");
    let failed = struck(&finding, "failed sync (EIO)", "log");
    let log = failed.gravest.as_deref().unwrap();
    assert!(log.starts_with("PANIC:") && log.contains("sync"), "{log}");
    assert!(!failed.stopped.is_empty(), "the server went on: {failed:?}");
    let bad = matches!(finding.fault_verdict, Some(FaultVerdict::NotDurable(_)));
    assert!(!bad, "{:?}", finding.fault_verdict);
    let text = finding.sentences().join("\n");
    assert!(text.contains("Not known from here"), "{text}");
}

/// MariaDB 10.11 does not restore the first page of a tablespace that was torn, although its copy stands
/// whole in the doublewrite buffer: such an image has a table that cannot be read.
fn mariadb_loses_nothing_it_has_synced() {
    let scratch = scratch("mariadb");
    let mut request = request("mariadb", &scratch);
    // So many that some of them fall where pages are being written.
    (request.images, request.control_images, request.kills) = (20, 50, 1);
    let finding = verified(&request);
    let images = finding.images.as_ref().unwrap();
    for loss in ["drop", "keep", "random subset"] {
        assert_eq!(images.losses[loss].1, 0, "{loss}: {images:?}");
    }
    let (whole, unreadable) = (
        images.count(Class::Ok, None),
        images.count(Class::Unreadable, None),
    );
    assert_eq!(whole + unreadable, 20, "{images:?}");
    assert_eq!(finding.kills.bad(), 0);
    let torn = control(&finding, "innodb_doublewrite=0");
    assert!(damaged(&torn.images) > 0, "{torn:?}");
    // What else writes the log may have synced all of it just before one of the two cuts.
    let late = |value| control(&finding, &format!("innodb_flush_log_at_trx_commit={value}"));
    let lost = [0, 2].map(|value| late(value).images.lost_max);
    assert!(lost.iter().sum::<u64>() > 0, "{lost:?}");
    for value in [0, 2] {
        let late = late(value);
        assert!(late.images.reach_ms_max <= 2000, "{late:?}");
        assert_eq!(late.images.count(Class::Torn, None), 0, "{late:?}");
    }
}

/// Derby mends no page that was torn, and syncs no directory.
fn derby_holds_where_pages_are_written_whole() {
    let scratch = scratch("derby");
    let mut request = request("derby", &scratch);
    (request.images, request.control_images, request.tears) = (20, 10, false);
    let finding = verified(&request);
    let survived = matches!(
        finding.verdict,
        Verdict::Survived {
            cuts: 10..,
            kills: 2
        }
    );
    assert!(survived, "{:?}", finding.verdict);
    assert!(finding.kills.acknowledged > 0, "it was killed under load");
    let test = control(&finding, "derby.system.durability=test");
    assert!(test.images.lost_max > 0, "{test:?}");
    let text = finding.sentences().join("\n");
    assert!(text.contains("No page was torn"), "{text}");
}
