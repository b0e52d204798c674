//! Every power loss of a small workload, with every kind of crash image, then every power loss of every such
//! recovery, and every power loss of the recovery after that.

use super::episode::{Harness, recover};
use super::oracle::RecoveredRecords;
use crate::log::options::Options;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::Crash;

/// The harness of a seed, run until the power fails after `crash_at` operations; none if it never did.
fn interrupted_harness(seed: u64, crash_at: u64, options: &Options) -> Option<Harness> {
    let mut harness = Harness::new(seed);
    harness.options = options.clone();
    harness.disk.crash_after(crash_at);
    let log = harness.open();
    let mut power_is_on = log.is_ok();
    if let Ok(log) = log {
        let in_flight = harness.run_steps(&log, 90);
        harness.finish(&log, in_flight);
        power_is_on = log.shared().durable_lsn.failure().is_none();
    }
    (!power_is_on).then_some(harness)
}

fn images(pending: usize) -> Vec<Crash> {
    let mut images = vec![Crash::DropAll, Crash::KeepAll];
    images.extend((0..pending.min(8)).map(Crash::Only));
    for seed in 0..8 {
        images.push(Crash::Subset { seed });
        images.push(Crash::Torn { seed });
    }
    images
}

fn recovered(disk: &SimulatedDisk, harness: &Harness) -> RecoveredRecords {
    let (_, recovered) = recover(disk, &harness.options, &harness.oracle).unwrap();
    harness.oracle.check(&recovered).unwrap();
    recovered
}

/// Interrupts the recovery of `disk` at every I/O; each resulting image must recover to `expected`. Returns
/// the number of recoveries.
fn interrupt_recoveries(
    disk: &SimulatedDisk,
    harness: &Harness,
    expected: &RecoveredRecords,
    depth: u32,
) -> u64 {
    let mut recoveries = 0;
    for crash_at in 0.. {
        let copy = disk.crash(Crash::DropAll);
        copy.crash_after(crash_at);
        let has_crashed = recover(&copy, &harness.options, &harness.oracle).is_err();
        let hows = [Crash::DropAll, Crash::KeepAll, Crash::Torn { seed: crash_at }];
        for how in hows {
            let left = copy.crash(how);
            recoveries += 1;
            assert_eq!(
                &recovered(&left.crash(Crash::DropAll), harness),
                expected,
                "power loss at {crash_at}, {how:?}"
            );
            if depth > 1 && has_crashed {
                recoveries += interrupt_recoveries(&left, harness, expected, depth - 1);
            }
        }
        if !has_crashed {
            return recoveries;
        }
    }
    recoveries
}

fn every_cut(seed: u64, options: &Options) -> u64 {
    let mut recoveries = 0;
    for crash_at in 0.. {
        let Some(harness) = interrupted_harness(seed, crash_at, options) else {
            assert!(crash_at > 20, "the workload was too small: {crash_at} operations");
            break;
        };
        if !harness.is_made {
            continue;
        }
        for (number, how) in images(harness.disk.pending()).into_iter().enumerate() {
            let image = harness.disk.crash(how);
            let expected = recovered(&image.crash(Crash::DropAll), &harness);
            recoveries += 1;
            // Two levels for every ninth image only: otherwise the count explodes without finding more.
            if (number as u64 + crash_at).is_multiple_of(9) {
                recoveries += interrupt_recoveries(&image, &harness, &expected, 2);
            }
        }
    }
    recoveries
}

#[test]
fn every_power_loss_with_synced_writes_keeps_every_promise() {
    let options = Options { direct: true, ..Options::tiny() };
    assert!(every_cut(3, &options) > 1_000);
}

#[test]
fn every_power_loss_with_sync_calls_keeps_every_promise() {
    let options = Options { direct: false, writes_in_flight_max: 3, ..Options::tiny() };
    assert!(every_cut(5, &options) > 1_000);
}
