//! Cuts: honest disks keep everything, volatile disks lose data and are found out, and several cuts add up.

use super::harness::{Harness, plan, subject, with_witness, with_witness_on};
use super::volatile_disk::VolatileDisk;
use crate::disk::{Class, Cut, Kind, Limit, Method, Plan, Verdict, check};
use std::collections::BTreeMap;
use syncline_vfs::simulated::{Crash, Metadata};
use syncline_vfs::{SimulatedDisk, SyncMethod};

fn fresh(seed: u64) -> SimulatedDisk {
    SimulatedDisk::new(seed, Metadata::OrderedJournal)
}

#[test]
fn an_honest_disk_survives_every_cut_by_every_method() {
    with_witness(|harness| {
        let (mut judged, mut promised, mut survived) = (0, 0, 0);
        for method in Method::ALL {
            for names in [Metadata::Strict, Metadata::OrderedJournal] {
                for cut in [7, 9, 10, 41, 105] {
                    let disk = SimulatedDisk::new(cut, names);
                    disk.crash_after(cut);
                    let mut plan = plan(method);
                    plan.abandon = true;
                    let silent = harness.cut_off(&disk, &plan);
                    for crash in [
                        Crash::DropAll,
                        Crash::KeepAll,
                        Crash::Subset { seed: cut },
                        Crash::Torn { seed: cut },
                        Crash::Torn { seed: cut + 1 },
                    ] {
                        let found = harness.checked(&disk.crash(crash), Some(Cut::PlugPull));
                        let last = &found.judgement;
                        assert_eq!(last.bad(), 0, "{method:?} {cut} {crash:?}: {found:?}");
                        judged += 1;
                        promised += last.promised;
                        survived += u64::from(matches!(found.verdict, Verdict::Survived(_)));
                        let took = last.controls_gone > 0;
                        assert!(took || last.promised == 0 || crash != Crash::DropAll);
                    }
                    drop(silent);
                }
            }
        }
        assert!(promised > 8 * judged && survived > judged / 3, "{judged} {promised} {survived}");
    });
}

/// The finding about a volatile disk after a cut.
fn volatile_finding(harness: &Harness, crash: Crash, operations: u64) -> crate::disk::Finding {
    let disk = fresh(3);
    disk.crash_after(operations);
    let mut plan = plan(SyncMethod::Fdatasync);
    plan.abandon = true;
    let _silent = harness.cut_off(&VolatileDisk(disk.clone()), &plan);
    harness.checked(&disk.crash(crash), Some(Cut::PlugPull))
}

#[test]
fn a_volatile_disk_is_found_out_whatever_it_loses() {
    with_witness(|harness| {
        let classes = |found: &crate::disk::Finding| found.judgement.bad.clone();
        let lost = volatile_finding(harness, Crash::DropAll, 20);
        assert!(classes(&lost).contains_key(&Class::Lost), "{lost:?}");
        assert_eq!(lost.judgement.reordered, 0);
        let (mut seen, mut reordered) = (BTreeMap::new(), 0);
        for seed in 0..12 {
            // After the first lap, old blocks remain in the places of lost ones.
            for crash in [Crash::Subset { seed }, Crash::Torn { seed }] {
                let found = volatile_finding(harness, crash, 90);
                assert!(matches!(found.verdict, Verdict::NotDurable(_)), "{found:?}");
                let text = found.sentences().join("\n");
                assert!(text.contains("not durable: after a plug pull"), "{text}");
                for (class, count) in classes(&found) {
                    *seen.entry(class).or_insert(0) += count;
                }
                reordered += found.judgement.reordered;
            }
        }
        assert!(seen[&Class::Stale] > 0 && seen[&Class::Torn] > 0, "{seen:?}");
        assert!(reordered > 0);
    });
}

#[test]
fn a_cut_that_loses_nothing_gives_no_verdict() {
    with_witness(|harness| {
        let found = volatile_finding(harness, Crash::KeepAll, 40);
        let Verdict::Unknown(why) = &found.verdict else {
            panic!("{found:?}");
        };
        assert!(why.contains("unsynced control blocks are all there too"), "{why}");
    });
}

#[test]
fn cuts_add_up_and_one_loss_is_final() {
    let kept = SimulatedDisk::new(1, Metadata::Strict);
    with_witness_on(&kept, |harness| {
        for cut in 1..=5_u64 {
            let disk = fresh(cut);
            disk.crash_after(30 + cut);
            let _silent = harness.cut_off(&disk, &plan(SyncMethod::ODsync));
            let stated = (cut > 2).then_some(Cut::PlugPull);
            let image = disk.crash(Crash::DropAll);
            for _again in 0..2 {
                let found = harness.checked(&image, stated);
                let Verdict::Survived(cuts) = found.verdict.clone() else {
                    panic!("{found:?}");
                };
                let plugs = cut.saturating_sub(2);
                assert_eq!(cuts.get(&Kind::MachineKill), Some(&cut.min(2)));
                assert_eq!(cuts.get(&Kind::PlugPull).copied().unwrap_or(0), plugs);
            }
        }
    });
    // A restarted witness knows its ledger.
    with_witness_on(&kept.crash(Crash::DropAll), |harness| {
        for cut in [31, 32] {
            let disk = fresh(cut);
            disk.crash_after(cut);
            let _silent = harness.cut_off(&disk, &plan(SyncMethod::ODsync));
            let found = harness.checked(&disk.crash(Crash::DropAll), Some(Cut::PlugPull));
            let text = found.sentences().join("\n");
            assert!(text.contains("plug pulls and 2 machine kills"), "{text}");
            assert_eq!(text.contains("rule of three"), cut == 31 || cut == 32, "{text}");
        }
        let mut other = plan(SyncMethod::ODsync);
        let disk = fresh(9);
        disk.crash_after(60);
        let _silent = harness.cut_off(&VolatileDisk(disk.clone()), &other);
        let found = harness.checked(&disk.crash(Crash::DropAll), Some(Cut::PlugPull));
        assert!(matches!(found.verdict, Verdict::NotDurable(_)));
        let honest = |plan: &Plan| {
            let disk = fresh(4);
            disk.crash_after(40);
            let _silent = harness.cut_off(&disk, plan);
            harness.checked(&disk.crash(Crash::DropAll), Some(Cut::PlugPull))
        };
        let found = honest(&other);
        assert_eq!(found.judgement.bad(), 0);
        let text = found.sentences().join("\n");
        assert!(text.contains("in 1 of 7 runs that ended in a plug pull"), "{text}");
        // Another method is judged separately.
        other.method = Method::of(SyncMethod::Fsync).unwrap();
        let found = honest(&other);
        assert!(matches!(found.verdict, Verdict::Survived(_)), "{found:?}");
    });
}

#[test]
fn an_orderly_end_is_not_a_cut() {
    with_witness(|harness| {
        let disk = fresh(2);
        let mut plan = plan(SyncMethod::Fsync);
        plan.limit = Limit { blocks: Some(45), time: None };
        assert_eq!(harness.written(&disk, &plan).blocks, 45);
        let found = harness.checked(&disk, None);
        assert_eq!((found.judgement.kind, found.judgement.bad()), (Kind::NoCut, 0));
        assert_eq!((found.judgement.promised, found.judgement.inspected), (45, 16));
        let text = found.sentences().join("\n");
        assert!(text.contains("unknown: the writer ended normally"), "{text}");
        // Promises of a run that ended normally must be kept as well.
        let gone = check(&fresh(1), &subject("after"), None, &mut harness.caller()).unwrap();
        assert_eq!(gone.judgement.bad, BTreeMap::from([(Class::Lost, 16)]));
        assert!(matches!(gone.verdict, Verdict::NotDurable(_)));
        // No check is needed before the next run begins.
        assert_eq!(harness.written(&disk, &plan).blocks, 45);
    });
}

#[test]
fn a_running_writer_is_not_judged() {
    with_witness(|harness| {
        let disk = fresh(2);
        let mut plan = plan(SyncMethod::Fsync);
        plan.limit.blocks = Some(600);
        let seen = |_| {
            let again = check(&disk, &subject("before"), None, &mut harness.caller());
            let why = again.unwrap_err().to_string();
            assert!(why.contains("a writer is running"), "{why}");
        };
        let stop = std::sync::atomic::AtomicBool::new(false);
        let written = crate::disk::write(&disk, &plan, &mut harness.caller(), &stop, &seen);
        assert_eq!(written.unwrap().blocks, 600);
    });
}

#[test]
fn an_unchecked_cut_blocks_the_next_run() {
    with_witness(|harness| {
        let disk = fresh(2);
        disk.crash_after(40);
        let _silent = harness.cut_off(&disk, &plan(SyncMethod::Fsync));
        let after = disk.crash(Crash::DropAll);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let again = |plan: &Plan| {
            crate::disk::write(&after, plan, &mut harness.caller(), &stop, &|_| {})
                .map(|written| written.blocks)
        };
        let mut next = plan(SyncMethod::Fsync);
        next.limit.blocks = Some(3);
        let why = again(&next).unwrap_err().to_string();
        assert!(why.contains("--check") && why.contains("--abandon"), "{why}");
        // The refused run left the blocks as they were.
        let found = harness.checked(&after, Some(Cut::PlugPull));
        assert!(matches!(found.verdict, Verdict::Survived(_)), "{found:?}");
        assert_eq!(again(&next).unwrap(), 3);
    });
}

#[test]
fn the_operators_statement_is_checked_against_the_evidence() {
    with_witness(|harness| {
        let disk = fresh(2);
        disk.crash_after(40);
        drop(harness.cut_off(&disk, &plan(SyncMethod::Fsync)));
        let image = disk.crash(Crash::KeepAll);
        let same = check(&image, &subject("before"), Some(Cut::PlugPull), &mut harness.caller());
        let why = same.unwrap_err().to_string();
        assert!(why.contains("has not been restarted"), "{why}");
        let found = check(&image, &subject("before"), None, &mut harness.caller()).unwrap();
        assert_eq!(found.judgement.kind, Kind::ProcessKill);
        let text = found.sentences().join("\n");
        assert!(text.contains("survived 1 process kill:"), "{text}");
        assert!(text.contains("loses nothing that the kernel holds"), "{text}");
    });
}
