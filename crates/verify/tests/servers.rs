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

use std::fs::{self, Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use support::{CHILD, request, verified};
use syncline_verify::durability::{
    Class, Control, FaultVerdict, Finding, Images, Program, Struck, Verdict, across, child,
    look_again, place,
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
    mariadb_loses_nothing_it_has_synced_but_where_first_pages_are_torn();
    histories_of_servers_go_on_behind_crashes();
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
    assert_eq!(late.images.count(Class::OutOfOrder, None), 0, "{late:?}");
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
/// whole in the doublewrite buffer: such an image has a table that cannot be read, and none fails else.
fn mariadb_loses_nothing_it_has_synced_but_where_first_pages_are_torn() {
    let scratch = scratch("mariadb");
    let mut request = request("mariadb", &scratch);
    // So many that some of them fall where first pages are being written.
    (request.images, request.control_images, request.kills) = (60, 10, 1);
    let finding = verified(&request);
    let images = finding.images.as_ref().unwrap();
    for loss in ["drop", "keep", "random subset"] {
        assert_eq!(images.losses[loss].1, 0, "{loss}: {images:?}");
    }
    let ok = images.count(Class::Ok, None);
    let unreadable = images.count(Class::Unreadable, None);
    let known = images.known.values().sum::<u64>();
    assert_eq!((ok + unreadable, known), (60, unreadable), "{images:?}");
    // On a version that mends it too, no image is left to mend by hand.
    for kept in &images.kept {
        mends_by_hand(kept, &scratch);
    }
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
        for class in [Class::Torn, Class::OutOfOrder] {
            assert_eq!(late.images.count(class, None), 0, "{late:?}");
        }
    }
}

/// InnoDB's default.
const PAGE_BYTES: usize = 16384;

/// An image that fails holds all that recovery wants, and what was built is what a disk may leave: with the
/// first page put in place from its copy in the doublewrite buffer, as recovery should, all is there.
fn mends_by_hand(kept: &Path, scratch: &TempDir) {
    let program = Program::this(CHILD).unwrap();
    let (case, before) = look_again(kept, &program, &scratch.path().join("again")).unwrap();
    assert_eq!(before.class, Class::Unreadable, "{before:?}");
    let (_, line) = case
        .outcome
        .what
        .split_once("The first page of file ")
        .unwrap();
    let (table, _) = line.split_once(" is corrupted").unwrap();
    let data = kept.join("image/data");
    let (table, system) = (data.join(table), fs::read(data.join("ibdata1")).unwrap());
    let mut bytes = fs::read(&table).unwrap();
    // Of a page: its number, its tablespace, and the same end of its log sequence number at both its ends.
    let space = &bytes[34..38];
    let is_copy = |page: &&[u8]| {
        page[4..8] == [0; 4]
            && &page[34..38] == space
            && page[20..24] == page[PAGE_BYTES - 8..][..4]
    };
    let copies = system.chunks_exact(PAGE_BYTES).filter(is_copy);
    let copy = copies.max_by_key(|page| page[16..24].to_vec()).unwrap();
    bytes[..PAGE_BYTES].copy_from_slice(copy);
    fs::write(&table, bytes).unwrap();
    let (_, after) = look_again(kept, &program, &scratch.path().join("again")).unwrap();
    assert_eq!(after.class, Class::Ok, "{after:?}");
}

/// Lists of servers outlive kills and losses of power whole, at the level that is asked for.
fn histories_of_servers_go_on_behind_crashes() {
    for target in ["postgres?isolation=serializable", "mariadb"] {
        let store = target.split('?').next().unwrap();
        let scratch = scratch(store);
        let mut request = request(target, &scratch);
        (request.images, request.tears) = (12, store != "mariadb");
        let program = Program::this(CHILD).unwrap();
        let found = across(&request, &program, &AtomicBool::new(false), &|_| {}).unwrap();
        println!("{}\n", found.sentences().join("\n"));
        assert!(found.holds(), "{found:?}");
        let cuts = found.cuts.unwrap();
        assert_eq!((found.kills.crashes, cuts.crashes), (2, 12));
        assert!(
            found.kills.committed > 10 && cuts.committed > 10,
            "{cuts:?}"
        );
        assert_eq!((found.kills.lost, cuts.lost), (0, 0), "{cuts:?}");
    }
    let scratch = scratch("postgres");
    let mut late = request("postgres?synchronous_commit=off", &scratch);
    (late.images, late.kills) = (12, 1);
    let program = Program::this(CHILD).unwrap();
    let found = across(&late, &program, &AtomicBool::new(false), &|_| {}).unwrap();
    println!("{}\n", found.sentences().join("\n"));
    let cuts = found.cuts.as_ref().unwrap();
    // It loses the latest, whole and in order.
    assert!(cuts.lost > 0 && found.holds(), "{found:?}");
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
