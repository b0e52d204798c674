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

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use support::{CHILD, request, verified};
use syncline_testkit::public_directory;
use syncline_verify::durability::{
    ChildProgram, Class, Control, FaultVerdict, Finding, Images, InjectedFault, Verdict, across,
    child, place, recheck_images,
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
    }
    a_torn_first_page_is_put_in_place_from_its_newest_whole_copy();
    postgresql_holds_and_its_settings_lose_what_they_may();
    mariadb_loses_nothing_it_has_synced_but_where_first_pages_are_torn();
    histories_of_servers_go_on_behind_crashes();
    ExitCode::SUCCESS
}

/// Where every user may enter.
fn scratch(store: &str) -> TempDir {
    public_directory(&place(store).unwrap())
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

/// Whole transactions are gone, in their order, and never all of them: the load is longer than the store's
/// window. How far back in time they reach is told and not held against a bound here, since a machine that
/// stands still for a second makes it a second more; a test beside the control's own verdict has the bound.
fn loses_the_latest_alone(late: &Control) {
    for class in [Class::Torn, Class::OutOfOrder] {
        assert_eq!(late.images.count(class, None), 0, "{late:?}");
    }
    assert!(late.window_ms.is_some(), "{late:?}");
    assert!(late.images.lost_max < late.images.acknowledged, "{late:?}");
}

fn struck<'f>(finding: &'f Finding, fault: &str, class: &str) -> &'f InjectedFault {
    let mut faults = finding.faults.as_ref().unwrap().iter();
    let found = faults.find(|one| one.fault == fault && one.class.word() == class);
    found.unwrap()
}

fn postgresql_holds_and_its_settings_lose_what_they_may() {
    let scratch = scratch("postgres");
    let mut request = request("postgres", &scratch);
    (request.control_images, request.faults) = (20, true);
    let finding = verified(&request);
    let survived =
        Verdict::Survived { cuts: finding.images.as_ref().unwrap().places, images: 40, kills: 2 };
    assert_eq!(finding.verdict, survived);
    let exercised = &finding.images.as_ref().unwrap().exercised;
    assert!(exercised["log"].lost > 0 && exercised["data"].torn > 0);
    assert!(control(&finding, "fsync=off").images.count(Class::Ok, None) < 20);
    let torn = control(&finding, "full_page_writes=off");
    assert!(damaged(&torn.images) > 0, "{torn:?}");
    let late = control(&finding, "synchronous_commit=off");
    assert!(late.images.lost_max > 0, "{late:?}");
    assert_eq!(damaged(&late.images), 0, "whole transactions: {late:?}");
    loses_the_latest_alone(late);
    let failed = struck(&finding, "failed sync (EIO)", "log");
    let log = failed.gravest.as_deref().unwrap();
    assert!(log.starts_with("PANIC:") && log.contains("sync"), "{log}");
    assert!(!failed.stopped.is_empty(), "the server went on: {failed:?}");
    let bad = matches!(finding.fault_verdict, Some(FaultVerdict::NotDurable(_)));
    assert!(!bad, "{:?}", finding.fault_verdict);
    let text = finding.sentences().join("\n");
    assert!(text.contains("Not known from here"), "{text}");
}

/// Recovery of this version leaves torn first pages as they are where the file has not grown since the last
/// checkpoint.
const LEAVES_FIRST_PAGES: &str = "10.11.19";

/// So many transactions write the first page of a table for certain.
const ENOUGH: u64 = 500;

/// MariaDB 10.11 does not restore the first page of a tablespace that was torn, although its copy stands
/// whole in the doublewrite buffer: such an image has a table that cannot be read, and none fails else.
fn mariadb_loses_nothing_it_has_synced_but_where_first_pages_are_torn() {
    let scratch = scratch("mariadb");
    let mut request = request("mariadb", &scratch);
    // So many that some of them fall where first pages are being written, and those of controls where
    // the most of the log, and of the data, waits.
    (request.images, request.control_images, request.kills) = (60, 20, 1);
    let finding = verified(&request);
    let images = finding.images.as_ref().unwrap();
    for loss in ["drop", "keep", "random subset"] {
        assert_eq!(images.losses[loss].1, 0, "{loss}: {images:?}");
    }
    let ok = images.count(Class::Ok, None);
    let unreadable = images.count(Class::Unreadable, None);
    let known = images.known.values().sum::<u64>();
    assert_eq!((ok + unreadable, known), (60, unreadable), "{images:?}");
    assert_eq!(images.heads.1, unreadable, "{images:?}");
    let version = &finding.settings.version;
    if version.starts_with(LEAVES_FIRST_PAGES) && images.acknowledged >= ENOUGH {
        assert!(unreadable > 0, "{version}: {images:?}");
        let text = finding.sentences().join("\n");
        let torn = format!("the first page of a data file {unreadable} of {}", images.heads.0);
        assert!(text.contains(&torn), "{text}");
    }
    // On a version that mends it too, no image is left to mend by hand.
    for kept in &images.kept {
        mends_by_hand(kept, &scratch);
    }
    assert_eq!(finding.kills.bad(), 0);
    let torn = control(&finding, "innodb_doublewrite=0");
    assert!(damaged(&torn.images) > 0, "{torn:?}");
    let late = |value| control(&finding, &format!("innodb_flush_log_at_trx_commit={value}"));
    let lost = [0, 2].map(|value| late(value).images.lost_max);
    assert!(lost.iter().sum::<u64>() > 0, "{lost:?}");
    for value in [0, 2] {
        loses_the_latest_alone(late(value));
    }
}

/// InnoDB's default.
const PAGE_BYTES: usize = 16384;

/// Where a page says its number, its log sequence number, the low half of that, and its tablespace.
const NUMBER: Range<usize> = 4..8;
const LSN: Range<usize> = 16..24;
const LSN_LOW: Range<usize> = 20..24;
const SPACE: Range<usize> = 34..38;

/// The low half again: of a whole page the same.
const LSN_LOW_AT_END: Range<usize> = PAGE_BYTES - 8..PAGE_BYTES - 4;

/// An image that fails holds all that recovery wants, and what was built is what a disk may leave: with the
/// first page put in place from its copy in the doublewrite buffer, as recovery should, all is there.
fn mends_by_hand(kept: &Path, scratch: &TempDir) {
    let program = ChildProgram::this(CHILD).unwrap();
    let (case, before) = recheck_images(kept, &program, &scratch.path().join("again")).unwrap();
    assert_eq!(before.class, Class::Unreadable, "{before:?}");
    let (_, line) = case.outcome.what.split_once("The first page of file ").unwrap();
    let (table, _) = line.split_once(" is corrupted").unwrap();
    let data = kept.join("image/data");
    let (table, system) = (data.join(table), fs::read(data.join("ibdata1")).unwrap());
    let mut bytes = fs::read(&table).unwrap();
    put_in_place(&mut bytes, &system);
    fs::write(&table, bytes).unwrap();
    let (_, after) = recheck_images(kept, &program, &scratch.path().join("again")).unwrap();
    assert_eq!(after.class, Class::Ok, "{after:?}");
}

/// Puts the first page of a table in place from the newest whole copy of it in the system tablespace, where
/// the doublewrite buffer is.
fn put_in_place(table: &mut [u8], system: &[u8]) {
    let space = &table[SPACE];
    let is_copy = |page: &&[u8]| {
        page[NUMBER] == [0; 4] && &page[SPACE] == space && page[LSN_LOW] == page[LSN_LOW_AT_END]
    };
    let copies = system.chunks_exact(PAGE_BYTES).filter(is_copy);
    let newest = copies.max_by_key(|page| page[LSN].to_vec()).unwrap();
    table[..PAGE_BYTES].copy_from_slice(newest);
}

/// A table torn behind its first sector, and a system tablespace with copies of its page and of others: an
/// older one, one that is torn itself, another page's, another table's.
fn a_torn_first_page_is_put_in_place_from_its_newest_whole_copy() {
    let page = |space: u32, number: u32, lsn: u64| {
        let mut page = vec![lsn as u8; PAGE_BYTES];
        page[NUMBER].copy_from_slice(&number.to_be_bytes());
        page[SPACE].copy_from_slice(&space.to_be_bytes());
        page[LSN].copy_from_slice(&lsn.to_be_bytes());
        page[LSN_LOW_AT_END].copy_from_slice(&lsn.to_be_bytes()[4..]);
        page
    };
    let (old, new) = (page(7, 0, 300), page(7, 0, 400));
    let torn = |newer: &[u8], older: &[u8]| [&newer[..512], &older[512..]].concat();
    let copies = [
        page(0, 0, 900),
        old.clone(),
        new.clone(),
        torn(&page(7, 0, 500), &new),
        page(7, 3, 600),
        page(8, 0, 600),
    ];
    let rest = page(7, 1, 350);
    let mut table = [torn(&new, &old), rest.clone()].concat();
    put_in_place(&mut table, &copies.concat());
    assert_eq!(table, [new, rest].concat());
}

/// Lists of servers outlive kills and losses of power whole, at the level that is asked for; but for what is
/// known of PostgreSQL's commits on a machine as busy as those that tests run on, which is told.
fn histories_of_servers_go_on_behind_crashes() {
    for target in ["postgres?isolation=serializable", "mariadb"] {
        let store = target.split('?').next().unwrap();
        let scratch = scratch(store);
        let mut request = request(target, &scratch);
        (request.images, request.tears) = (12, store != "mariadb");
        let program = ChildProgram::this(CHILD).unwrap();
        let found = across(&request, &program, &AtomicBool::new(false), &|_| {}).unwrap();
        println!("{}\n", found.sentences().join("\n"));
        let is_known = store == "postgres" && found.is_explained();
        assert!(found.holds() || is_known, "{found:?}");
        let cuts = found.cuts.unwrap();
        assert_eq!((found.kills.crashes, cuts.crashes), (2, 12));
        assert!(found.kills.committed > 10 && cuts.committed > 10, "{cuts:?}");
        assert_eq!((found.kills.lost, cuts.lost), (0, 0), "{cuts:?}");
    }
    let scratch = scratch("postgres");
    let mut late = request("postgres?synchronous_commit=off", &scratch);
    (late.images, late.kills) = (12, 1);
    let program = ChildProgram::this(CHILD).unwrap();
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
    let survived = matches!(finding.verdict, Verdict::Survived { images: 10.., kills: 2, .. });
    assert!(survived, "{:?}", finding.verdict);
    assert!(finding.kills.acknowledged > 0, "it was killed under load");
    let test = control(&finding, "derby.system.durability=test");
    assert!(test.images.lost_max > 0, "{test:?}");
    let text = finding.sentences().join("\n");
    assert!(text.contains("No page was torn"), "{text}");
}
