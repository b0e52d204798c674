//! From a seed to a violation, or none: episodes, crashes, openings, and interrupted openings.

use super::corruption::lose_file;
use super::episode::{EpisodeEnd, checkpoints, run_episode};
use super::harness::{Failure, Harness, SimulatedEngine, Tally, verify};
use super::restores::check_restore;
use crate::error::Error;
use crate::log::Durability;
use std::sync::Arc;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::{Crash, Fault, FaultRule, SyncFailure};

/// Every n-th image is opened for reading as well.
const READ_ONLY_EVERY: u64 = 4;

/// Episodes of one harness, one after another.
const EPISODES: u32 = 4;

/// Runs the episodes of a seed. Returns the first violation, in words.
pub(super) fn search(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let mut harness = Harness::new(seed);
    let mut outcome = Ok(());
    for episode in 0..EPISODES {
        outcome = match harness.random.u8(0..5) {
            0 if harness.is_made => fault_episode(&mut harness),
            _ => crash_episode(&mut harness),
        };
        if let Err(why) = outcome {
            let log = &harness.options.log;
            let (level, sync) = (log.durability, log.direct);
            outcome = Err(format!("episode {episode}, {level:?}, direct {sync}: {why}"));
            break;
        }
    }
    tally.add(&harness.tally);
    outcome
}

/// An episode that a power loss ends, and the opening of each crash image.
fn crash_episode(harness: &mut Harness) -> Result<(), String> {
    if harness.random.u8(0..8) > 0 {
        let most = [30, 30, 100, 100, 400, 2_000][harness.random.usize(0..6)];
        let crash_at = harness.random.u64(0..most);
        harness.disk.crash_after(crash_at);
    }
    match harness.open() {
        Ok(engine) => {
            let steps = steps(harness);
            match run_episode(harness, engine, steps) {
                Err(EpisodeEnd::Broken(why)) => return Err(why),
                Err(EpisodeEnd::Dead(_)) | Ok(()) => {}
            }
        }
        Err(Failure::Broken(why)) => return Err(why),
        Err(Failure::Refused(error)) => power_is_off(&error)?,
    }
    check_images(harness)
}

/// The length of an episode that nothing ends before: in some cases long enough for the log to wrap around.
fn steps(harness: &mut Harness) -> u32 {
    let most = [100, 500, 500, 500, 2_500][harness.random.usize(0..5)];
    harness.random.u32(20..most)
}

/// Opens every image, which must match the oracle; the next episode continues with one of them.
fn check_images(harness: &mut Harness) -> Result<(), String> {
    let images = harness.images();
    for &how in &images {
        let image = harness.disk.crash(how);
        check_image(harness, &image).map_err(|why| format!("{how:?}: {why}"))?;
    }
    let chosen = images[harness.random.usize(0..images.len())];
    let disk = harness.disk.crash(chosen);
    if harness.is_made {
        let opened =
            interrupt_opening(harness, &disk).map_err(|why| format!("{chosen:?}, {why}"))?;
        if let Some(csn) = opened
            && harness.random.u8(0..4) == 0
        {
            lose_file(harness, &disk, csn).map_err(|why| format!("{chosen:?}, {why}"))?;
        }
    }
    harness.disk = disk;
    Ok(())
}

/// Opens an image, or the remains of a creation, and compares it with the oracle. Returns the last commit
/// that it holds; none if there is no database yet.
pub(super) fn check_image(
    harness: &mut Harness,
    disk: &SimulatedDisk,
) -> Result<Option<u64>, String> {
    harness.tally.cycles += 1;
    let read = if harness.tally.cycles.is_multiple_of(READ_ONLY_EVERY) {
        Some(harness.read(disk))
    } else {
        None
    };
    let recovered = harness.recover(disk);
    if let Some(read) = read {
        compare_openings(harness, &read, &recovered)?;
    }
    match recovered {
        Ok((engine, csn)) => {
            count(harness, &engine, csn);
            if harness.random.u8(0..3) == 0 {
                verify(&engine).map_err(|failure| format!("{failure:?}"))?;
            }
            drop(engine);
            if harness.options.log.archive.is_some() && harness.random.u8(0..4) == 0 {
                check_restore(harness, disk, csn)?;
            }
            Ok(Some(csn))
        }
        Err(Failure::Refused(Error::Missing { .. } | Error::NoDataFile { .. }))
            if !harness.is_made =>
        {
            Ok(None)
        }
        Err(Failure::Refused(error)) => Err(format!("an image is refused: {error}")),
        Err(Failure::Broken(why)) => Err(why),
    }
}

/// An opening for reading must end at the commit where the opening for writing does, or be refused like it.
fn compare_openings(
    harness: &mut Harness,
    read: &Result<u64, Failure>,
    recovered: &Result<(Arc<SimulatedEngine>, u64), Failure>,
) -> Result<(), String> {
    match (read, recovered) {
        (Ok(read), Ok((_, written))) if read == written => {
            harness.tally.read_only += 1;
            Ok(())
        }
        (Err(Failure::Refused(_)), Err(Failure::Refused(_))) => Ok(()),
        _ => {
            let written = recovered.as_ref().map(|(_engine, csn)| csn);
            Err(format!("opened for reading: {read:?}, for writing: {written:?}"))
        }
    }
}

fn count(harness: &mut Harness, engine: &Arc<SimulatedEngine>, csn: u64) {
    let (tally, oracle) = (&mut harness.tally, &harness.oracle);
    tally.lost += u64::from(csn < oracle.last);
    tally.unacknowledged += u64::from(csn > oracle.promised);
    tally.whole += u64::from(csn == oracle.last);
    tally.redone += u64::from(engine.redone.commits > 0);
    tally.unfinished += u64::from(!engine.redone.unnamed_trees.is_empty());
}

/// Interrupts the opening at its I/Os, and the opening after that: all must end at the commit of the
/// uninterrupted one, which is returned.
fn interrupt_opening(harness: &mut Harness, disk: &SimulatedDisk) -> Result<Option<u64>, String> {
    let Some(uninterrupted) = check_image(harness, &disk.crash(Crash::DropAll))? else {
        return Ok(None);
    };
    for pick in 0..2 {
        let mut disk = disk.crash(Crash::DropAll);
        for depth in 1..=2 {
            let at = match depth {
                1 => pick * 4 + harness.random.u64(0..4),
                _ => harness.random.u64(0..9),
            };
            disk.crash_after(at);
            harness.tally.cycles += 1;
            match harness.recover(&disk) {
                Ok(_) => {}
                Err(Failure::Broken(why)) => return Err(why),
                Err(Failure::Refused(error)) => {
                    harness.tally.interrupted += 1;
                    power_is_off(&error)?;
                }
            }
            let seed = harness.random.u64(..);
            let how =
                [Crash::DropAll, Crash::KeepAll, Crash::Subset { seed }, Crash::Torn { seed }];
            disk = disk.crash(how[harness.random.usize(0..how.len())]);
            let again = check_image(harness, &disk.crash(Crash::DropAll));
            let again = again
                .map_err(|why| format!("opening interrupted at {at}, depth {depth}: {why}"))?;
            if again != Some(uninterrupted) {
                return Err(format!(
                    "opening interrupted at {at}: it ends at {again:?} instead of {uninterrupted}"
                ));
            }
        }
    }
    Ok(Some(uninterrupted))
}

/// An episode with a fault. The process restarts on the same disk, and then the power goes off.
fn fault_episode(harness: &mut Harness) -> Result<(), String> {
    let fault = arm(harness);
    let before = harness.disk.faults_injected();
    let opened = harness.open();
    let outcome = match opened {
        Ok(engine) => {
            let steps = steps(harness);
            run_episode(harness, Arc::clone(&engine), steps).and_then(|()| close(harness, &engine))
        }
        Err(Failure::Broken(why)) => Err(EpisodeEnd::Broken(why)),
        Err(Failure::Refused(error)) => Err(EpisodeEnd::Dead(error)),
    };
    let struck = harness.disk.faults_injected() - before;
    harness.tally.faults += struck;
    harness.disk.disarm();
    match outcome {
        Err(EpisodeEnd::Broken(why)) => return Err(format!("{fault:?}: {why}")),
        Err(EpisodeEnd::Dead(error)) if struck == 0 => {
            return Err(format!("no fault struck, but: {error}"));
        }
        Err(EpisodeEnd::Dead(_)) | Ok(()) => {}
    }
    if harness.random.u8(0..3) == 0 {
        harness.disk.evict();
    }
    // What a restarted process does that knows of no failure.
    let again = harness.disk.clone();
    let first = check_image(harness, &again).map_err(|why| format!("{fault:?}, again: {why}"))?;
    // What that opening returned must survive, although some syncs had lied.
    let later = again.crash(Crash::DropAll);
    let second = check_image(harness, &later).map_err(|why| format!("{fault:?}, later: {why}"))?;
    if first != second {
        return Err(format!(
            "{fault:?}: it ends at {second:?} after a power loss instead of {first:?}"
        ));
    }
    // The next episode continues after the power loss, or in the restarted process.
    harness.disk = if harness.random.bool() { later } else { again };
    Ok(())
}

/// Ends without a failure: everything is stable afterwards.
fn close(harness: &mut Harness, engine: &Arc<SimulatedEngine>) -> Result<(), EpisodeEnd> {
    engine.core.log.flush()?;
    if harness.options.log.durability != Durability::None {
        harness.oracle.promise(engine.core.log.published().0);
    }
    if harness.random.bool() {
        let run = checkpoints(engine).run(&engine.core, &engine.tree_directory);
        run.map(drop).or_else(EpisodeEnd::of)?;
    }
    Ok(())
}

fn arm(harness: &mut Harness) -> Fault {
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
    let fault = faults[harness.random.usize(0..faults.len())];
    harness.disk.arm(FaultRule {
        skip: harness.random.u64(0..40),
        repeat: fault == Fault::PreallocateFull && harness.random.bool(),
        ..FaultRule::next(fault, "")
    });
    fault
}

pub(super) fn power_is_off(error: &Error) -> Result<(), String> {
    match error {
        Error::Disk(_) | Error::Poisoned { .. } | Error::Indeterminate { .. } => Ok(()),
        other => Err(format!("an unexpected error with the power off: {other}")),
    }
}
