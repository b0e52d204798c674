//! Every cut of a small life, under every kind of image, and every cut of such openings.

use super::life::{End, live};
use super::search::{check_image, power_is_off};
use super::world::{Failure, World};
use syncline_disk::SimulatedDisk;
use syncline_disk::simulated::Crash;

/// A life with fewer operations of its disk has no checkpoint worth cutting.
const OPERATIONS_MIN: u64 = 60;

/// The world of a seed after a life of so many steps, which the power has ended after `cut` operations;
/// none if it never did.
fn cut_world(seed: u64, steps: u32, cut: u64) -> Option<World> {
    let mut world = World::new(seed);
    world.disk.crash_after(cut);
    let lived = match world.open() {
        Ok(engine) => live(&mut world, engine, steps),
        Err(Failure::Broken(why)) => Err(End::Broken(why)),
        Err(Failure::Refused(error)) => Err(End::Dead(error)),
    };
    match lived {
        // At durability none it need not have noticed.
        Ok(()) => {}
        Err(End::Broken(why)) => panic!("seed {seed}, cut {cut}: {why}"),
        Err(End::Dead(error)) => power_is_off(&error).expect("nothing but the power fails"),
    }
    (world.disk.operations() > cut).then_some(world)
}

/// Cuts the opening of an image at every I/O; what is left must open to the same each time.
fn cut_openings(world: &mut World, image: &SimulatedDisk, expected: Option<u64>) {
    for cut in 0.. {
        let disk = image.crash(Crash::DropAll);
        disk.crash_after(cut);
        let is_cut = match world.recover(&disk) {
            Ok(_) => false,
            Err(Failure::Refused(_)) => true,
            Err(Failure::Broken(why)) => panic!("opening cut at {cut}: {why}"),
        };
        for how in [Crash::DropAll, Crash::KeepAll, Crash::Torn { seed: cut }] {
            let found = check_image(world, &disk.crash(how));
            assert_eq!(found, Ok(expected), "opening cut at {cut}, {how:?}");
        }
        if !is_cut {
            return;
        }
    }
}

/// How many crash images were opened; none if the life has too few operations to be of interest.
fn every_cut(seed: u64, steps: u32) -> Option<u64> {
    cut_world(seed, steps, OPERATIONS_MIN)?;
    let mut cycles = 0;
    for cut in 0.. {
        let Some(mut world) = cut_world(seed, steps, cut) else {
            return Some(cycles);
        };
        for (number, how) in world.images().into_iter().enumerate() {
            let image = world.disk.crash(how);
            let found = check_image(&mut world, &image.crash(Crash::DropAll));
            let csn = found.unwrap_or_else(|why| panic!("seed {seed}, cut {cut}, {how:?}: {why}"));
            // Not for every image, else the count explodes without news.
            if csn.is_some() && (number as u64 + cut).is_multiple_of(7) {
                cut_openings(&mut world, &image, csn);
            }
        }
        cycles += world.tally.cycles;
    }
    unreachable!("a life ends")
}

#[test]
fn every_cut_of_small_lives_keeps_every_promise() {
    let lives: Vec<u64> = (0..40)
        .filter_map(|seed| every_cut(seed, 220))
        .take(3)
        .collect();
    assert!(
        lives.len() == 3 && lives.iter().all(|cycles| *cycles > 500),
        "{lives:?}"
    );
}
