//! From a seed to a violation, or none: episodes, crashes, faults, and corrupted bytes.

use super::corruption;
use super::harness::{CheckpointOutcome, Failure, Harness};
use crate::checkpoint::tests::format_2::downgrade;
use crate::error::Error;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::{Crash, Fault, FaultRule, SyncFailure};

/// How many episodes a harness runs.
const EPISODES: u32 = 5;

/// What a search has done, so that a test can check that it did something.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Crash images opened and checked against the model.
    pub(super) recoveries: u64,
    /// Faults that were injected.
    pub(super) faults: u64,
    /// Checkpoints that were done.
    pub(super) checkpoints: u64,
    /// Corrupted files that were opened.
    pub(super) corrupted: u64,
    /// Checkpoints that found the disk full.
    pub(super) full: u64,
    /// Files rewritten in format 2.
    pub(super) downgraded: u64,
}

impl Tally {
    /// Adds another search's counts.
    fn add(&mut self, other: &Tally) {
        self.recoveries += other.recoveries;
        self.faults += other.faults;
        self.checkpoints += other.checkpoints;
        self.corrupted += other.corrupted;
        self.full += other.full;
        self.downgraded += other.downgraded;
    }
}

/// Runs the harness of a seed; returns the first violation.
pub(super) fn search(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let mut harness = Harness::new(seed);
    for _ in 0..EPISODES {
        match harness.random.u8(0..4) {
            0 => fault_episode(&mut harness, tally)?,
            _ => crash_episode(&mut harness, tally)?,
        }
    }
    Ok(())
}

/// An episode that ends with a power loss, and the opening of every crash image of it.
fn crash_episode(harness: &mut Harness, tally: &mut Tally) -> Result<(), String> {
    if harness.random.u8(0..8) > 0 {
        let crash_at = harness.random.u64(0..50);
        harness.disk.crash_after(crash_at);
    }
    match harness.open() {
        Ok(mut file) => {
            for _ in 0..harness.random.u8(0..5) {
                match harness.checkpoint(&mut file)? {
                    CheckpointOutcome::Done => tally.checkpoints += 1,
                    CheckpointOutcome::Full | CheckpointOutcome::Failed(_) => break,
                }
            }
        }
        Err(Failure::Broken(why)) => return Err(why),
        Err(Failure::Refused(error)) => power_is_off(&error)?,
    }
    go_through_images(harness, tally)
}

/// Every image must open to a state that the model allows; the next episode continues from one of them.
fn go_through_images(harness: &mut Harness, tally: &mut Tally) -> Result<(), String> {
    let images = harness.images();
    for &how in &images {
        tally.recoveries += 1;
        let image = harness.disk.crash(how);
        harness.check_image(image).map_err(|why| format!("{how:?}: {why}"))?;
    }
    let chosen = images[harness.random.usize(0..images.len())];
    let disk = harness.disk.crash(chosen);
    if harness.is_made && harness.random.u8(0..3) == 0 {
        tally.corrupted += 1;
        corruption::corrupt(harness, &disk.crash(Crash::DropAll))?;
    }
    harness.disk = disk;
    if harness.is_made && harness.random.u8(0..4) == 0 {
        let file = harness.open().map_err(|failure| failure.to_string())?;
        downgrade(file).map_err(|error| error.to_string())?;
        tally.downgraded += 1;
    }
    Ok(())
}

/// An episode with an injected fault; the process restarts on the same disk, and then the power fails.
fn fault_episode(harness: &mut Harness, tally: &mut Tally) -> Result<(), String> {
    if !harness.is_made {
        drop(harness.open().map_err(|failure| failure.to_string())?);
    }
    let fault = arm(harness);
    let before = harness.disk.faults_injected();
    let failed = run_with_faults(harness, tally).map_err(|why| format!("{fault:?}: {why}"))?;
    tally.faults += harness.disk.faults_injected() - before;
    harness.disk.disarm();
    harness.reads_fail = false;
    if failed && harness.random.u8(0..3) == 0 {
        harness.disk.evict();
    }
    // As a restarted process does, which may know of no failure.
    let mut file = harness.open().map_err(|why| format!("{fault:?}, opened again: {why}"))?;
    if harness.random.bool() {
        let crash_at = harness.random.u64(0..20);
        harness.disk.crash_after(crash_at);
    }
    for _ in 0..harness.random.u8(0..3) {
        match harness.checkpoint(&mut file)? {
            CheckpointOutcome::Done => tally.checkpoints += 1,
            CheckpointOutcome::Full | CheckpointOutcome::Failed(_) => break,
        }
    }
    drop(file);
    go_through_images(harness, tally).map_err(|why| format!("{fault:?}, later {why}"))
}

/// True if something failed.
fn run_with_faults(harness: &mut Harness, tally: &mut Tally) -> Result<bool, String> {
    let mut file = match harness.open() {
        Ok(file) => file,
        Err(Failure::Broken(why)) => return Err(why),
        Err(Failure::Refused(_)) => return Ok(true),
    };
    for _ in 0..harness.random.u8(1..6) {
        match harness.checkpoint(&mut file)? {
            CheckpointOutcome::Done => tally.checkpoints += 1,
            CheckpointOutcome::Full => {
                tally.full += 1;
                return Ok(false);
            }
            CheckpointOutcome::Failed(error) => return not_full(&error).map(|()| true),
        }
    }
    Ok(false)
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
        Fault::ReadError,
        Fault::FlippedBit,
    ];
    let fault = faults[harness.random.usize(0..faults.len())];
    harness.reads_fail = matches!(fault, Fault::ReadError | Fault::FlippedBit);
    harness.disk.arm(FaultRule {
        skip: harness.random.u64(0..25),
        repeat: fault == Fault::PreallocateFull && harness.random.bool(),
        ..FaultRule::next(fault, "")
    });
    fault
}

fn power_is_off(error: &Error) -> Result<(), String> {
    match error {
        Error::Disk(_) => Ok(()),
        other => Err(format!("with the power off it failed with: {other}")),
    }
}

fn not_full(error: &Error) -> Result<(), String> {
    match error {
        Error::Disk(_) => Ok(()),
        other => Err(format!("a failure was reported as: {other}")),
    }
}

/// For other tests of the simulation.
pub(super) fn copies(disk: &SimulatedDisk) -> SimulatedDisk {
    disk.crash(Crash::DropAll)
}

mod tests {
    use super::{Tally, search};
    use crate::seeds::{asked_seeds, asked_threads, search_seeds};
    use syncline_instrument::clock;

    #[test]
    fn no_seed_breaks_a_promise() {
        let seeds = asked_seeds(|| (0..700).collect());
        let began = clock::now();
        let (tally, broken) = search_seeds((&seeds, asked_threads()), search, Tally::add);
        if let Some(why) = broken {
            panic!("{why}");
        }
        let seconds = (clock::now() - began) as f64 / 1e9;
        println!("{tally:?}, {:.0} images/s", tally.recoveries as f64 / seconds);
        if seeds.len() > 500 {
            assert!(tally.recoveries > 10_000 && tally.faults > 100, "{tally:?}");
            assert!(tally.checkpoints > 2_000 && tally.corrupted > 500, "{tally:?}");
            assert!(tally.full > 20 && tally.downgraded > 300, "{tally:?}");
        }
    }
}
