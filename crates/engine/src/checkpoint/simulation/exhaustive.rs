//! Every power loss of a small episode, with many kinds of crash image, and for many of those every power
//! loss of the opening and the checkpoint that follow.

use super::harness::{CheckpointOutcome, Failure, Harness};
use super::search::copies;
use syncline_vfs::simulated::Crash;

/// Runs some checkpoints, or until the power fails after `crash_at` operations; true if it failed.
fn run_checkpoints(harness: &mut Harness, crash_at: u64, checkpoints: u32) -> bool {
    harness.disk.crash_after(crash_at);
    let mut file = match harness.open() {
        Ok(file) => file,
        Err(Failure::Refused(_)) => return true,
        Err(Failure::Broken(why)) => panic!("power loss at {crash_at}: {why}"),
    };
    for _ in 0..checkpoints {
        match harness.checkpoint(&mut file).unwrap() {
            CheckpointOutcome::Done => {}
            CheckpointOutcome::Full => return false,
            CheckpointOutcome::Failed(_) => return true,
        }
    }
    false
}

fn images(pending: usize) -> Vec<Crash> {
    let mut images = vec![Crash::DropAll, Crash::KeepAll];
    images.extend((0..pending.min(6)).map(Crash::Only));
    for seed in 0..6 {
        images.push(Crash::Subset { seed });
        images.push(Crash::Torn { seed });
    }
    images
}

/// Opens and checkpoints the harness with a power loss at every operation; each resulting image must be
/// right. Returns the number of images.
fn interrupt_again(harness: &Harness) -> u64 {
    let mut opened = 0;
    for crash_at in 0.. {
        let mut again = harness.on(copies(&harness.disk));
        let has_crashed = run_checkpoints(&mut again, crash_at, 1);
        let seeds = [crash_at, crash_at + 1];
        let torn = seeds.map(|seed| Crash::Torn { seed });
        for how in [Crash::DropAll, Crash::KeepAll].into_iter().chain(torn) {
            opened += 1;
            let checked = again.check_image(again.disk.crash(how));
            checked.unwrap_or_else(|why| panic!("second power loss at {crash_at}, {how:?}: {why}"));
        }
        if !has_crashed {
            break;
        }
    }
    opened
}

fn every_cut(seed: u64, is_direct: bool) -> u64 {
    let mut opened = 0;
    for crash_at in 0.. {
        let mut harness = Harness::new(seed);
        harness.options.direct = is_direct;
        harness.page_bytes = if is_direct { 4096 } else { 512 };
        let has_crashed = run_checkpoints(&mut harness, crash_at, 3);
        for (number, how) in images(harness.disk.pending()).into_iter().enumerate() {
            let image = harness.disk.crash(how);
            opened += 1;
            let checked = harness.check_image(copies(&image));
            checked.unwrap_or_else(|why| panic!("power loss at {crash_at}, {how:?}: {why}"));
            // Two levels for every fifth image only: otherwise the count explodes without finding more.
            if (number as u64 + crash_at).is_multiple_of(5) {
                opened += interrupt_again(&harness.on(image));
            }
        }
        if !has_crashed {
            assert!(crash_at > 15, "the episode was too small: {crash_at} operations");
            break;
        }
    }
    opened
}

#[test]
fn every_power_loss_of_a_small_episode_keeps_every_promise() {
    let opened = every_cut(2, false) + every_cut(7, false);
    assert!(opened > 3_000, "{opened}");
}

#[test]
fn every_power_loss_with_direct_writes_keeps_every_promise() {
    let opened = every_cut(7, true);
    assert!(opened > 3_000, "{opened}");
}
