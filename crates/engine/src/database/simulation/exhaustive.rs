//! Every cut of a small episode, under every kind of image, and every cut of such openings.

use super::episode::{EpisodeEnd, live};
use super::harness::{Failure, Harness};
use super::search::{check_image, power_is_off};
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::Crash;

/// An episode with fewer operations of its disk has no checkpoint worth cutting.
const OPERATIONS_MIN: u64 = 60;

/// The harness of a seed after an episode of so many steps, which the power has ended after `cut` operations;
/// none if it never did.
fn cut_world(seed: u64, steps: u32, cut: u64) -> Option<Harness> {
    let mut harness = Harness::new(seed);
    harness.disk.crash_after(cut);
    let lived = match harness.open() {
        Ok(engine) => live(&mut harness, engine, steps),
        Err(Failure::Broken(why)) => Err(EpisodeEnd::Broken(why)),
        Err(Failure::Refused(error)) => Err(EpisodeEnd::Dead(error)),
    };
    match lived {
        // At durability none it need not have noticed.
        Ok(()) => {}
        Err(EpisodeEnd::Broken(why)) => panic!("seed {seed}, cut {cut}: {why}"),
        Err(EpisodeEnd::Dead(error)) => power_is_off(&error).expect("nothing but the power fails"),
    }
    (harness.disk.operations() > cut).then_some(harness)
}

/// Cuts the opening of an image at every I/O; what is left must open to the same each time.
fn cut_openings(harness: &mut Harness, image: &SimulatedDisk, expected: Option<u64>) {
    for cut in 0.. {
        let disk = image.crash(Crash::DropAll);
        disk.crash_after(cut);
        let is_cut = match harness.recover(&disk) {
            Ok(_) => false,
            Err(Failure::Refused(_)) => true,
            Err(Failure::Broken(why)) => panic!("opening cut at {cut}: {why}"),
        };
        for how in [Crash::DropAll, Crash::KeepAll, Crash::Torn { seed: cut }] {
            let found = check_image(harness, &disk.crash(how));
            assert_eq!(found, Ok(expected), "opening cut at {cut}, {how:?}");
        }
        if !is_cut {
            return;
        }
    }
}

/// How many crash images were opened; none if the episode has too few operations to be of interest.
fn every_cut(seed: u64, steps: u32) -> Option<u64> {
    cut_world(seed, steps, OPERATIONS_MIN)?;
    let mut cycles = 0;
    for cut in 0.. {
        let Some(mut harness) = cut_world(seed, steps, cut) else {
            return Some(cycles);
        };
        for (number, how) in harness.images().into_iter().enumerate() {
            let image = harness.disk.crash(how);
            let found = check_image(&mut harness, &image.crash(Crash::DropAll));
            let csn = found.unwrap_or_else(|why| panic!("seed {seed}, cut {cut}, {how:?}: {why}"));
            // Not for every image, else the count explodes without news.
            if csn.is_some() && (number as u64 + cut).is_multiple_of(7) {
                cut_openings(&mut harness, &image, csn);
            }
        }
        cycles += harness.tally.cycles;
    }
    unreachable!("an episode ends")
}

#[test]
fn every_cut_of_small_lives_keeps_every_promise() {
    let episodes: Vec<u64> = (0..40).filter_map(|seed| every_cut(seed, 220)).take(3).collect();
    assert!(episodes.len() == 3 && episodes.iter().all(|cycles| *cycles > 500), "{episodes:?}");
}
