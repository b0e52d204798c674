//! Small but complete verifications of unmodified servers; with the feature `jdbc` also of Derby.
//!
//! A missing product fails the test; `./test` installs them first. Without root and /dev/fuse power losses
//! cannot be simulated: the program prints a note and passes.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test without a harness prints its own results"
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
    ChildProgram, Class, Control, FaultVerdict, Finding, Images, InjectedFault, Verdict,
    check_crash_histories, child, place, recheck_images,
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
        derby_holds_if_pages_are_written_atomically();
    }
    a_torn_first_page_is_restored_from_its_newest_intact_copy();
    postgresql_holds_and_its_weaker_settings_lose_data();
    mariadb_holds_except_for_torn_first_pages();
    histories_of_servers_continue_after_crashes();
    ExitCode::SUCCESS
}

/// A scratch directory that every user may enter.
fn scratch(store: &str) -> TempDir {
    public_directory(&place(store).unwrap())
}

fn control<'f>(finding: &'f Finding, name: &str) -> &'f Control {
    let mut controls = finding.controls.iter();
    let found = controls.find(|one| one.name == name);
    found.unwrap_or_else(|| panic!("no control {name}: {:?}", finding.controls))
}

/// Images with damage, as opposed to missing rows.
fn damaged(images: &Images) -> u64 {
    let classes = [Class::Torn, Class::Unreadable, Class::WillNotOpen];
    classes.iter().map(|class| images.count(*class, None)).sum()
}

/// Checks that only the latest transactions are gone, whole, and never all of them: the load is longer than
/// the store's window. Their reach in time has no bound here, because a machine that stalls for a second
/// extends it by a second; a unit test of the control's verdict checks the bound.
fn assert_only_the_latest_lost(late: &Control) {
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

fn postgresql_holds_and_its_weaker_settings_lose_data() {
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
    assert_eq!(damaged(&late.images), 0, "only whole transactions: {late:?}");
    assert_only_the_latest_lost(late);
    let failed = struck(&finding, "failed sync (EIO)", "log");
    let log = failed.most_severe_line.as_deref().unwrap();
    assert!(log.starts_with("PANIC:") && log.contains("sync"), "{log}");
    assert!(!failed.stopped.is_empty(), "the server continued: {failed:?}");
    let bad = matches!(finding.fault_verdict, Some(FaultVerdict::NotDurable(_)));
    assert!(!bad, "{:?}", finding.fault_verdict);
    let text = finding.sentences().join("\n");
    assert!(text.contains("Not known from here"), "{text}");
}

/// Recovery in this version does not repair torn first pages if the file has not grown since the last
/// checkpoint.
const LEAVES_FIRST_PAGES: &str = "10.11.19";

/// A load of this many transactions is certain to write the first page of a table.
const ENOUGH: u64 = 500;

/// MariaDB 10.11 does not restore the torn first page of a tablespace, although the doublewrite buffer holds
/// an intact copy: a table of such an image cannot be read. No other image may fail.
fn mariadb_holds_except_for_torn_first_pages() {
    let scratch = scratch("mariadb");
    let mut request = request("mariadb", &scratch);
    // Enough images that some strike while first pages are being written, and enough of the controls that
    // some strike while the most log and data bytes wait.
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
    // On a version that repairs them, no image is kept.
    for kept in &images.kept {
        restore_by_hand(kept, &scratch);
    }
    assert_eq!(finding.kills.bad(), 0);
    let torn = control(&finding, "innodb_doublewrite=0");
    assert!(damaged(&torn.images) > 0, "{torn:?}");
    let late = |value| control(&finding, &format!("innodb_flush_log_at_trx_commit={value}"));
    let lost = [0, 2].map(|value| late(value).images.lost_max);
    assert!(lost.iter().sum::<u64>() > 0, "{lost:?}");
    for value in [0, 2] {
        assert_only_the_latest_lost(late(value));
    }
}

/// InnoDB's default.
const PAGE_BYTES: usize = 16384;

/// Offsets in a page: its number, its log sequence number, the low half of that, and its tablespace.
const NUMBER: Range<usize> = 4..8;
const LSN: Range<usize> = 16..24;
const LSN_LOW: Range<usize> = 20..24;
const SPACE: Range<usize> = 34..38;

/// The low half again at the end; the two match in an intact page.
const LSN_LOW_AT_END: Range<usize> = PAGE_BYTES - 8..PAGE_BYTES - 4;

/// Shows that a failing image is a valid crash state and holds all that recovery needs: once the first page
/// is restored from its copy in the doublewrite buffer, as recovery should do, all data is there.
fn restore_by_hand(kept: &Path, scratch: &TempDir) {
    let program = ChildProgram::this(CHILD).unwrap();
    let (case, before) = recheck_images(kept, &program, &scratch.path().join("again")).unwrap();
    assert_eq!(before.class, Class::Unreadable, "{before:?}");
    let (_, line) = case.outcome.what.split_once("The first page of file ").unwrap();
    let (table, _) = line.split_once(" is corrupted").unwrap();
    let data = kept.join("image/data");
    let (table, system) = (data.join(table), fs::read(data.join("ibdata1")).unwrap());
    let mut bytes = fs::read(&table).unwrap();
    restore_first_page(&mut bytes, &system);
    fs::write(&table, bytes).unwrap();
    let (_, after) = recheck_images(kept, &program, &scratch.path().join("again")).unwrap();
    assert_eq!(after.class, Class::Ok, "{after:?}");
}

/// Restores the first page of a table from its newest intact copy in the system tablespace, which holds
/// the doublewrite buffer.
fn restore_first_page(table: &mut [u8], system: &[u8]) {
    let space = &table[SPACE];
    let is_copy = |page: &&[u8]| {
        page[NUMBER] == [0; 4] && &page[SPACE] == space && page[LSN_LOW] == page[LSN_LOW_AT_END]
    };
    let copies = system.chunks_exact(PAGE_BYTES).filter(is_copy);
    let newest = copies.max_by_key(|page| page[LSN].to_vec()).unwrap();
    table[..PAGE_BYTES].copy_from_slice(newest);
}

/// A table torn after its first sector, and a system tablespace with copies of its first page and others: an
/// older copy, a torn copy, copies of another page and of another table.
fn a_torn_first_page_is_restored_from_its_newest_intact_copy() {
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
    restore_first_page(&mut table, &copies.concat());
    assert_eq!(table, [new, rest].concat());
}

/// Lists of servers survive kills and power losses at the requested level, except for the known behaviour of
/// PostgreSQL's commits on a busy machine, which is reported as such.
fn histories_of_servers_continue_after_crashes() {
    for target in ["postgres?isolation=serializable", "mariadb"] {
        let store = target.split('?').next().unwrap();
        let scratch = scratch(store);
        let mut request = request(target, &scratch);
        (request.images, request.tears) = (12, store != "mariadb");
        let program = ChildProgram::this(CHILD).unwrap();
        let found =
            check_crash_histories(&request, &program, &AtomicBool::new(false), &|_| {}).unwrap();
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
    let found = check_crash_histories(&late, &program, &AtomicBool::new(false), &|_| {}).unwrap();
    println!("{}\n", found.sentences().join("\n"));
    let cuts = found.cuts.as_ref().unwrap();
    // It loses the latest transactions, whole and in order.
    assert!(cuts.lost > 0 && found.holds(), "{found:?}");
}

/// Derby does not repair torn pages, and does not sync directories.
fn derby_holds_if_pages_are_written_atomically() {
    let scratch = scratch("derby");
    let mut request = request("derby", &scratch);
    (request.images, request.control_images, request.tears) = (20, 10, false);
    let finding = verified(&request);
    let survived = matches!(finding.verdict, Verdict::Survived { images: 10.., kills: 2, .. });
    assert!(survived, "{:?}", finding.verdict);
    assert!(finding.kills.acknowledged > 0, "the load acknowledged transactions before the kill");
    let test = control(&finding, "derby.system.durability=test");
    assert!(test.images.lost_max > 0, "{test:?}");
    let text = finding.sentences().join("\n");
    assert!(text.contains("No page was torn"), "{text}");
}
