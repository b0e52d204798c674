//! A power loss at every I/O of a small episode, under every kind of image, and at every I/O of their
//! openings.

use super::episode::{EpisodeEnd, run_episode};
use super::harness::{Failure, Harness};
use super::search::{check_image, power_is_off};
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::Crash;

/// An episode with fewer disk operations has no checkpoint worth interrupting.
const OPERATIONS_MIN: u64 = 60;

/// The harness of a seed after an episode of `steps` that lost power after `crash_at` operations; none if it
/// ended before that.
fn harness_after_power_loss(seed: u64, steps: u32, crash_at: u64) -> Option<Harness> {
    let mut harness = Harness::new(seed);
    harness.disk.crash_after(crash_at);
    let lived = match harness.open() {
        Ok(engine) => run_episode(&mut harness, engine, steps),
        Err(Failure::Broken(why)) => Err(EpisodeEnd::Broken(why)),
        Err(Failure::Refused(error)) => Err(EpisodeEnd::Dead(error)),
    };
    match lived {
        // At durability `none` the episode need not have noticed.
        Ok(()) => {}
        Err(EpisodeEnd::Broken(why)) => panic!("seed {seed}, power loss at {crash_at}: {why}"),
        Err(EpisodeEnd::Dead(error)) => power_is_off(&error).expect("only the power fails"),
    }
    (harness.disk.operations() > crash_at).then_some(harness)
}

/// Interrupts the opening of an image at every I/O; each time the remains must open to the same state.
fn interrupt_openings(harness: &mut Harness, image: &SimulatedDisk, expected: Option<u64>) {
    for crash_at in 0.. {
        let disk = image.crash(Crash::DropAll);
        disk.crash_after(crash_at);
        let is_interrupted = match harness.recover(&disk) {
            Ok(_) => false,
            Err(Failure::Refused(_)) => true,
            Err(Failure::Broken(why)) => panic!("opening interrupted at {crash_at}: {why}"),
        };
        for how in [Crash::DropAll, Crash::KeepAll, Crash::Torn { seed: crash_at }] {
            let opened = check_image(harness, &disk.crash(how));
            assert_eq!(opened, Ok(expected), "opening interrupted at {crash_at}, {how:?}");
        }
        if !is_interrupted {
            return;
        }
    }
}

/// The number of crash images opened; none if the episode has too few operations to be of interest.
fn lose_power_at_every_io(seed: u64, steps: u32) -> Option<u64> {
    harness_after_power_loss(seed, steps, OPERATIONS_MIN)?;
    let mut cycles = 0;
    for crash_at in 0.. {
        let Some(mut harness) = harness_after_power_loss(seed, steps, crash_at) else {
            return Some(cycles);
        };
        for (number, how) in harness.images().into_iter().enumerate() {
            let image = harness.disk.crash(how);
            let opened = check_image(&mut harness, &image.crash(Crash::DropAll));
            let csn = opened.unwrap_or_else(|why| {
                panic!("seed {seed}, power loss at {crash_at}, {how:?}: {why}")
            });
            // Not for every image, or the count explodes without new cases.
            if csn.is_some() && (number as u64 + crash_at).is_multiple_of(7) {
                interrupt_openings(&mut harness, &image, csn);
            }
        }
        cycles += harness.tally.cycles;
    }
    unreachable!("an episode ends")
}

#[test]
fn a_power_loss_at_any_io_of_small_episodes_violates_no_guarantee() {
    let episodes: Vec<u64> =
        (0..40).filter_map(|seed| lose_power_at_every_io(seed, 220)).take(3).collect();
    assert!(episodes.len() == 3 && episodes.iter().all(|cycles| *cycles > 500), "{episodes:?}");
}
