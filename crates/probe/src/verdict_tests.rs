//! The table of verdicts: a row for each way to reach one.

use super::{VerdictInput, verdicts};
use crate::test_support::{cell, counted, figures, latency};
use crate::{
    Cell, DeviceFacts, DeviceSummary, Layer, Placement, Rpm, SyncBehavior, Verdict, VerdictWord,
    WriteCache,
};
use std::path::Path;
use syncline_record::{Counted, PlainWrite};
use syncline_vfs::SyncMethod;

/// A bare machine with one disk whose cache is write back, every sync with one flush, 100 us each,
/// and plain writes of 40 us.
struct Case {
    device: DeviceFacts,
    cells: Vec<Cell>,
    plain_write: Option<PlainWrite>,
    rpm_by_hand: Option<u32>,
}

impl Case {
    fn new() -> Case {
        let summary = DeviceSummary {
            disks: vec!["sda".to_owned()],
            write_cache: WriteCache::Back,
            cache_off_command: Some("hdparm -W0 /dev/sda".to_owned()),
            ..DeviceSummary::default()
        };
        let layers = vec![layer(SyncBehavior::PassesOn)];
        let plain_write =
            PlainWrite { write_bytes: 4096, rate_per_s: 25_000.0, latency_ns: latency(40_000) };
        Case {
            device: DeviceFacts { layers, summary, ..DeviceFacts::default() },
            cells: vec![
                cell(SyncMethod::Fdatasync, 1, 10_000.0),
                cell(SyncMethod::DirectFdatasync, 1, 10_000.0),
                same_block(10_000.0),
            ],
            plain_write: Some(plain_write),
            rpm_by_hand: None,
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Case)) -> Case {
        change(&mut self);
        self
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let evidence = VerdictInput {
            device: &self.device,
            cells: &self.cells,
            plain_write: self.plain_write.as_ref(),
            rpm_by_hand: self.rpm_by_hand,
        };
        verdicts(Path::new("/log"), &evidence)
    }

    #[track_caller]
    fn is(&self, word: VerdictWord, reason: &str) -> Verdict {
        let verdict = self.verdicts().remove(0);
        assert_eq!(verdict.subject, "/log");
        assert_eq!(verdict.word, word, "{verdict:?}");
        assert!(verdict.reason.contains(reason), "{}", verdict.reason);
        verdict
    }
}

fn layer(standing: SyncBehavior) -> Layer {
    let (name, kind) = ("/".to_owned(), "ext4".to_owned());
    Layer { name, kind, depth: 0, facts: Vec::new(), standing }
}

fn same_block(rate_per_s: f64) -> Cell {
    let mut cell = cell(SyncMethod::Fdatasync, 1, rate_per_s);
    cell.placement = Placement::SameBlock;
    cell
}

fn set_flushes(case: &mut Case, counted: &Counted) {
    for cell in &mut case.cells {
        figures(cell).flushes_per_sync = counted.clone();
    }
}

#[test]
fn flushes_that_are_counted_and_take_time() {
    let verdict =
        Case::new().is(VerdictWord::ConsistentWithFlushing, "1.00 flushes are sent per sync");
    assert!(verdict.reason.contains("40 us and with its flush 100 us"), "{}", verdict.reason);
    assert_eq!(verdict.remedy.as_deref(), Some("hdparm -W0 /dev/sda"));
}

#[test]
fn a_layer_that_breaks_syncs_decides_before_all_else() {
    let breaks = SyncBehavior::Breaks {
        evidence: "ext4 at / is mounted with barrier=0".to_owned(),
        remedy: Some("mount -o remount,barrier=1 /".to_owned()),
    };
    let case = Case::new().with(|case| {
        case.device.layers.push(layer(SyncBehavior::NotKnown("?".to_owned())));
        case.device.layers.push(layer(breaks));
        case.device.summary.virtual_machine = Some("KVM".to_owned());
    });
    let verdict = case.is(VerdictWord::NotDurable, "barrier=0");
    assert_eq!(verdict.remedy.as_deref(), Some("mount -o remount,barrier=1 /"));
}

#[test]
fn a_flush_counter_that_does_not_move() {
    let case = Case::new().with(|case| set_flushes(case, &counted(0.01)));
    case.is(VerdictWord::NotDurable, "sda has a volatile cache, but 30000 syncs sent 0.01 flushes");
    // The kernel sends none to a disk whose cache it takes for write through.
    let through = Case::new().with(|case| {
        set_flushes(case, &counted(0.0));
        case.device.summary.write_cache = WriteCache::Through;
    });
    through.is(VerdictWord::Unknown, "a setting, not evidence");
    // A write with O_DSYNC may be a FUA write, so its count shows nothing.
    let fua = Case::new().with(|case| {
        set_flushes(case, &counted(0.0));
        for cell in &mut case.cells {
            cell.method = SyncMethod::DirectODsync;
        }
    });
    fua.is(VerdictWord::Unknown, "no sync call was measured");
    let half = Case::new().with(|case| set_flushes(case, &counted(0.5)));
    half.is(VerdictWord::Unknown, "only 0.50 flushes");
}

#[test]
fn merged_flushes_of_many_outstanding_are_no_evidence() {
    let case = Case::new().with(|case| {
        let mut merged = cell(SyncMethod::Fdatasync, 16, 50_000.0);
        figures(&mut merged).flushes_per_sync = counted(0.05);
        case.cells.push(merged);
    });
    case.is(VerdictWord::ConsistentWithFlushing, "1.00 flushes");
}

#[test]
fn a_spinning_disk_of_known_speed() {
    let by_hand = |rate, rpm| {
        Case::new().with(|case| {
            case.cells[2] = same_block(rate);
            case.rpm_by_hand = Some(rpm);
        })
    };
    let verdict = by_hand(2_600.0, 7_200).is(VerdictWord::Implausible, "above the 120 turns/s");
    assert!(
        verdict.reason.contains("2600 syncs/s of one block by fdatasync"),
        "{}",
        verdict.reason
    );
    assert!(verdict.reason.contains("7200 rpm (by hand)"), "{}", verdict.reason);
    assert_eq!(verdict.remedy.as_deref(), Some("hdparm -W0 /dev/sda"));
    by_hand(115.0, 7_200).is(VerdictWord::ConsistentWithFlushing, "not above the 120 turns/s");
    by_hand(90.0, 5_400).is(VerdictWord::ConsistentWithFlushing, "90 turns/s");
    let by_page = Case::new().with(|case| {
        case.device.summary.rpm = Some(Rpm { value: 7_200, said_by: "/sys/vpd_pgb1".to_owned() });
    });
    by_page.is(VerdictWord::Implausible, "(/sys/vpd_pgb1)");
}

#[test]
fn a_walk_or_a_few_syncs_are_never_implausible() {
    let walking = Case::new().with(|case| {
        case.cells.truncate(2);
        case.rpm_by_hand = Some(7_200);
    });
    walking.is(VerdictWord::ConsistentWithFlushing, "flushes are sent");
    let few = Case::new().with(|case| {
        figures(&mut case.cells[2]).syncs = 199;
        case.rpm_by_hand = Some(7_200);
    });
    few.is(VerdictWord::ConsistentWithFlushing, "flushes are sent");
    let not_honest = Case::new().with(|case| {
        case.cells[2].method = SyncMethod::SyncFileRange;
        case.rpm_by_hand = Some(7_200);
    });
    not_honest.is(VerdictWord::ConsistentWithFlushing, "flushes are sent");
}

#[test]
fn unknown_layers_limit_the_verdict() {
    let machine = Case::new().with(|case| {
        case.device.summary.virtual_machine = Some("KVM".to_owned());
    });
    machine.is(VerdictWord::Unknown, "the host's cache cannot be seen");
    let fast = Case::new().with(|case| {
        case.device.summary.virtual_machine = Some("KVM".to_owned());
        case.rpm_by_hand = Some(7_200);
    });
    fast.is(VerdictWord::Unknown, "so a cache answers; virtual machine");
    let controller = Case::new().with(|case| {
        let reason = "sda is shown by a RAID controller".to_owned();
        case.device.layers.push(layer(SyncBehavior::NotKnown(reason)));
        case.rpm_by_hand = Some(7_200);
        set_flushes(case, &counted(0.0));
    });
    controller.is(VerdictWord::Unknown, "RAID controller");
}

#[test]
fn each_missing_figure_has_its_reason() {
    let none = Case::new().with(|case| case.cells.clear());
    none.is(VerdictWord::Unknown, "no sync call was measured");
    let reason = Counted::unknown("2 disks lie below");
    let uncounted = Case::new().with(|case| set_flushes(case, &reason));
    uncounted.is(VerdictWord::Unknown, "flushes were not counted: 2 disks lie below");
    let few = Case::new().with(|case| {
        for cell in &mut case.cells {
            figures(cell).syncs = 3;
        }
    });
    few.is(VerdictWord::Unknown, "only 9 syncs");
    let no_floor = Case::new().with(|case| case.plain_write = None);
    no_floor.is(VerdictWord::Unknown, "no write without a sync");
    let no_cache = Case::new().with(|case| case.device.summary.write_cache = WriteCache::Unknown);
    no_cache.is(VerdictWord::Unknown, "is not reported");
}

#[test]
fn a_flush_that_takes_no_time_is_not_known() {
    let case = Case::new().with(|case| {
        let plain = case.plain_write.as_mut().unwrap();
        plain.latency_ns = latency(95_000);
    });
    case.is(VerdictWord::Unknown, "cannot be distinguished");
}

#[test]
fn sync_file_range_has_its_own_verdict() {
    let case = Case::new().with(|case| {
        case.cells.push(cell(SyncMethod::SyncFileRange, 1, 30_000.0));
    });
    let all = case.verdicts();
    assert_eq!(all.len(), 2);
    assert_eq!(
        (all[1].subject.as_str(), all[1].word),
        ("sync_file_range", VerdictWord::NotDurable)
    );
    assert_eq!(Case::new().verdicts().len(), 1);
}
