//! From a seed to a violation, or none: lives, crashes, openings, and openings cut short.

use super::life::{End, checkpoints, live};
use super::spoil::lose_file;
use super::world::{Failure, SimulatedEngine, Tally, World, verify};
use crate::error::Error;
use crate::log::Durability;
use std::sync::Arc;
use syncline_disk::SimulatedDisk;
use syncline_disk::simulated::{Crash, Fault, FaultRule, SyncFailure};

/// How many lives follow one another in a world.
const LIVES: u32 = 4;

/// Lives through the world of a seed; the first violation, in words.
pub(super) fn search(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let mut world = World::new(seed);
    let mut lived = Ok(());
    for life in 0..LIVES {
        lived = match world.random.u8(0..5) {
            0 if world.is_made => fault_life(&mut world),
            _ => crash_life(&mut world),
        };
        if let Err(why) = lived {
            let log = &world.options.log;
            let (level, sync) = (log.durability, log.direct);
            lived = Err(format!("life {life}, {level:?}, direct {sync}: {why}"));
            break;
        }
    }
    tally.add(&world.tally);
    lived
}

/// A life that the power ends, and what every crash image of it opens to.
fn crash_life(world: &mut World) -> Result<(), String> {
    if world.random.u8(0..8) > 0 {
        let most = [30, 30, 100, 100, 400, 2_000][world.random.usize(0..6)];
        let cut = world.random.u64(0..most);
        world.disk.crash_after(cut);
    }
    match world.open() {
        Ok(engine) => {
            let steps = steps(world);
            match live(world, engine, steps) {
                Err(End::Broken(why)) => return Err(why),
                Err(End::Dead(_)) | Ok(()) => {}
            }
        }
        Err(Failure::Broken(why)) => return Err(why),
        Err(Failure::Refused(error)) => power_is_off(&error)?,
    }
    go_through_images(world)
}

/// How long a life is, if nothing ends it before: now and then long enough for the log to go round.
fn steps(world: &mut World) -> u32 {
    let most = [100, 500, 500, 500, 2_500][world.random.usize(0..5)];
    world.random.u32(20..most)
}

/// Every image must open to what the oracle allows; one of them goes on.
fn go_through_images(world: &mut World) -> Result<(), String> {
    let images = world.images();
    for &how in &images {
        let image = world.disk.crash(how);
        check_image(world, &image).map_err(|why| format!("{how:?}: {why}"))?;
    }
    let chosen = images[world.random.usize(0..images.len())];
    let disk = world.disk.crash(chosen);
    if world.is_made {
        let found = cut_opening(world, &disk).map_err(|why| format!("{chosen:?}, {why}"))?;
        if let Some(csn) = found
            && world.random.u8(0..4) == 0
        {
            lose_file(world, &disk, csn).map_err(|why| format!("{chosen:?}, {why}"))?;
        }
    }
    world.disk = disk;
    Ok(())
}

/// Opens an image, or what is left of a making, and holds it against the oracle. The commit that it
/// holds everything up to; none if there is no database yet.
pub(super) fn check_image(world: &mut World, disk: &SimulatedDisk) -> Result<Option<u64>, String> {
    world.tally.cycles += 1;
    match world.recover(disk) {
        Ok((engine, csn)) => {
            count(world, &engine, csn);
            if world.random.u8(0..3) == 0 {
                verify(&engine).map_err(|failure| format!("{failure:?}"))?;
            }
            Ok(Some(csn))
        }
        Err(Failure::Refused(Error::Missing { .. } | Error::NoDataFile { .. }))
            if !world.is_made =>
        {
            Ok(None)
        }
        Err(Failure::Refused(error)) => Err(format!("an image is refused: {error}")),
        Err(Failure::Broken(why)) => Err(why),
    }
}

fn count(world: &mut World, engine: &Arc<SimulatedEngine>, csn: u64) {
    let (tally, oracle) = (&mut world.tally, &world.oracle);
    tally.lost += u64::from(csn < oracle.last);
    tally.kept += u64::from(csn > oracle.promised);
    tally.whole += u64::from(csn == oracle.last);
    tally.redone += u64::from(engine.redone.commits > 0);
    tally.unfinished += u64::from(!engine.redone.unnamed_trees.is_empty());
}

/// Cuts the opening at its I/Os, and the opening after that: all must end where the uncut one does, which is
/// the answer.
fn cut_opening(world: &mut World, disk: &SimulatedDisk) -> Result<Option<u64>, String> {
    let Some(uncut) = check_image(world, &disk.crash(Crash::DropAll))? else {
        return Ok(None);
    };
    for cut in 0..2 {
        let mut disk = disk.crash(Crash::DropAll);
        for depth in 1..=2 {
            let at = match depth {
                1 => cut * 4 + world.random.u64(0..4),
                _ => world.random.u64(0..9),
            };
            disk.crash_after(at);
            world.tally.cycles += 1;
            match world.recover(&disk) {
                Ok(_) => {}
                Err(Failure::Broken(why)) => return Err(why),
                Err(Failure::Refused(error)) => {
                    world.tally.cut += 1;
                    power_is_off(&error)?;
                }
            }
            let seed = world.random.u64(..);
            let how = [
                Crash::DropAll,
                Crash::KeepAll,
                Crash::Subset { seed },
                Crash::Torn { seed },
            ];
            disk = disk.crash(how[world.random.usize(0..how.len())]);
            let again = check_image(world, &disk.crash(Crash::DropAll));
            let again =
                again.map_err(|why| format!("opening cut at {at}, depth {depth}: {why}"))?;
            if again != Some(uncut) {
                return Err(format!(
                    "opening cut at {at}: {again:?} is found, it was {uncut}"
                ));
            }
        }
    }
    Ok(Some(uncut))
}

/// A life in which a fault strikes; the process starts again on the same disk, and then the power goes.
fn fault_life(world: &mut World) -> Result<(), String> {
    let fault = arm(world);
    let before = world.disk.faults_struck();
    let opened = world.open();
    let lived = match opened {
        Ok(engine) => {
            let steps = steps(world);
            live(world, Arc::clone(&engine), steps).and_then(|()| close(world, &engine))
        }
        Err(Failure::Broken(why)) => Err(End::Broken(why)),
        Err(Failure::Refused(error)) => Err(End::Dead(error)),
    };
    let struck = world.disk.faults_struck() - before;
    world.tally.faults += struck;
    world.disk.disarm();
    match lived {
        Err(End::Broken(why)) => return Err(format!("{fault:?}: {why}")),
        Err(End::Dead(error)) if struck == 0 => {
            return Err(format!("no fault has struck, but {error}"));
        }
        Err(End::Dead(_)) | Ok(()) => {}
    }
    if world.random.u8(0..3) == 0 {
        world.disk.evict();
    }
    // What the process does that starts again and may know of no failure.
    let again = world.disk.clone();
    let first = check_image(world, &again).map_err(|why| format!("{fault:?}, again: {why}"))?;
    // What that opening has found must stand although some syncs had lied.
    let later = again.crash(Crash::DropAll);
    let second = check_image(world, &later).map_err(|why| format!("{fault:?}, later: {why}"))?;
    if first != second {
        return Err(format!(
            "{fault:?}: {second:?} is found after a power cut, it was {first:?}"
        ));
    }
    // The next life goes on after the power cut, or in the process that has found the store so.
    world.disk = if world.random.bool() { later } else { again };
    Ok(())
}

/// Ends without a failure: everything is stable then.
fn close(world: &mut World, engine: &Arc<SimulatedEngine>) -> Result<(), End> {
    engine.core.log.flush()?;
    if world.options.log.durability != Durability::None {
        world.oracle.promise(engine.core.log.published().0);
    }
    if world.random.bool() {
        let run = checkpoints(engine).run(&engine.core, &engine.forest);
        run.map(drop).or_else(End::of)?;
    }
    Ok(())
}

fn arm(world: &mut World) -> Fault {
    let faults = [
        Fault::WriteError,
        Fault::WriteFull,
        Fault::PreallocateFull,
        Fault::PreallocateFull,
        Fault::SyncError(SyncFailure::PagesDropped),
        Fault::SyncError(SyncFailure::PagesKeptUntilEviction),
        Fault::SyncError(SyncFailure::OneHandleOnly),
        Fault::SyncFull,
        Fault::DirectorySyncError,
        Fault::ReadError,
    ];
    let fault = faults[world.random.usize(0..faults.len())];
    world.disk.arm(FaultRule {
        skip: world.random.u64(0..40),
        repeat: fault == Fault::PreallocateFull && world.random.bool(),
        ..FaultRule::next(fault, "")
    });
    fault
}

pub(super) fn power_is_off(error: &Error) -> Result<(), String> {
    match error {
        Error::Disk(_) | Error::Poisoned { .. } | Error::Indeterminate { .. } => Ok(()),
        other => Err(format!("with the power off it says: {other}")),
    }
}
