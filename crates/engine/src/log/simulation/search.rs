//! From a seed to a violation, or none: episodes, crashes, recoveries, and interrupted recoveries.

use super::corruption::lose_file;
use super::episode::{Harness, names, read_all, recover, refuses_other_database};
use super::oracle::RecoveredRecords;
use crate::error::Error;
use crate::log::options::Durability;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::{Crash, Fault, FaultRule, SyncFailure};

/// How many episodes a harness runs.
const EPISODES: u32 = 3;

/// What a search has done, so that a test can check that it did something.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Recoveries tried, including interrupted ones.
    pub(super) recoveries: u64,
    /// Faults that were injected.
    pub(super) faults: u64,
    /// Recoveries that delivered commits.
    pub(super) fruitful: u64,
    /// Commits that the archives of recovered images held.
    pub(super) archived: u64,
}

impl Tally {
    /// Adds another search's counts.
    fn add(&mut self, other: &Tally) {
        self.recoveries += other.recoveries;
        self.faults += other.faults;
        self.fruitful += other.fruitful;
        self.archived += other.archived;
    }
}

/// Runs the harness of a seed; returns the first violation.
pub(super) fn search(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let mut harness = Harness::new(seed);
    for _ in 0..EPISODES {
        if harness.random.u8(0..4) == 0 {
            fault_episode(&mut harness, tally)?;
        } else {
            crash_episode(&mut harness, tally)?;
        }
    }
    Ok(())
}

/// An episode that ends with a power loss, and the recovery of every crash image of it.
fn crash_episode(harness: &mut Harness, tally: &mut Tally) -> Result<(), String> {
    if harness.random.u8(0..8) > 0 {
        let crash_at = harness.random.u64(0..60);
        harness.disk.crash_after(crash_at);
    }
    let was_made = harness.is_made;
    let opened = harness.open();
    if let Ok(log) = opened {
        let steps = harness.random.u32(20..250);
        // The power fails with these requests in flight.
        drop(harness.run_steps(&log, steps));
    } else if !was_made {
        // The making was interrupted: nothing was promised, and it may start again.
        let seed = harness.random.u64(..);
        let how = [Crash::DropAll, Crash::KeepAll, Crash::Torn { seed }];
        harness.disk = harness.disk.crash(how[harness.random.usize(0..how.len())]);
        return Ok(());
    }
    let pending = harness.disk.pending();
    let mut images = vec![Crash::DropAll, Crash::KeepAll];
    if pending > 0 {
        images.push(Crash::Only(harness.random.usize(0..pending)));
    }
    for _ in 0..3 {
        let seed = harness.random.u64(..);
        images.push(Crash::Subset { seed });
        images.push(Crash::Torn { seed });
    }
    for &how in &images {
        check_image(harness, &harness.disk.crash(how), tally)
            .map_err(|why| format!("{how:?}: {why}"))?;
    }
    let chosen = images[harness.random.usize(0..images.len())];
    let disk = harness.disk.crash(chosen);
    interrupt_recovery(harness, &disk, tally).map_err(|why| format!("{chosen:?}, {why}"))?;
    damage(harness, &disk)?;
    if harness.random.u8(0..3) == 0 {
        lose_file(harness, &disk)?;
    }
    restart(harness, disk)
}

/// An episode that a fault may end; the process restarts on the same disk. Then the power fails, at once or
/// in the next episode.
fn fault_episode(harness: &mut Harness, tally: &mut Tally) -> Result<(), String> {
    let was_made = harness.is_made;
    let fault = draw_fault(harness);
    let mut rule = FaultRule::next(fault, "");
    rule.skip = harness.random.u64(0..25);
    let opened = match harness.open() {
        Ok(log) => log,
        Err(error) => return Err(format!("no fault is armed, but {error}")),
    };
    harness.disk.arm(rule);
    let before = harness.disk.faults_injected();
    let steps = harness.random.u32(20..200);
    let in_flight = harness.run_steps(&opened, steps);
    tally.faults += harness.disk.faults_injected() - before;
    harness.disk.disarm();
    // As a process does that has noticed no failure, or has freed some space.
    if opened.shared().durable_lsn.failure().is_none() && was_made {
        harness.finish(&opened, in_flight);
        if harness.random.bool() {
            drop(opened);
            let disk = harness.disk.crash(Crash::DropAll);
            return restart(harness, disk);
        }
    }
    drop(opened);
    let again = harness.disk.clone();
    let reads_fail = harness.random.u8(0..4) == 0;
    if reads_fail {
        let skip = harness.random.u64(0..6);
        again.arm(FaultRule { skip, ..FaultRule::next(Fault::FlippedBit, "") });
    }
    let first = check_image(harness, &again, tally).map_err(|why| format!("{fault:?}: {why}"))?;
    again.disarm();
    // The commits of that recovery must stay although some syncs had lied.
    let later = again.crash(Crash::DropAll);
    let second = check_image(harness, &later, tally).map_err(|why| format!("{fault:?}: {why}"))?;
    same(&first, &second).map_err(|why| format!("after {fault:?} and a power loss {why}"))?;
    let next = if harness.random.bool() { again } else { later };
    restart(harness, next)
}

fn draw_fault(harness: &mut Harness) -> Fault {
    let faults = [
        Fault::WriteError,
        Fault::WriteFull,
        Fault::PreallocateFull,
        Fault::SyncError(SyncFailure::PagesDropped),
        Fault::SyncError(SyncFailure::PagesKeptUntilEviction),
        Fault::SyncError(SyncFailure::OneHandleOnly),
        Fault::SyncFull,
        Fault::DirectorySyncError,
    ];
    faults[harness.random.usize(0..faults.len())]
}

/// Recovers an image as it is and checks the result against the oracle.
fn check_image(
    harness: &Harness,
    disk: &SimulatedDisk,
    tally: &mut Tally,
) -> Result<RecoveredRecords, String> {
    tally.recoveries += 1;
    let found = recover(disk, &harness.options, &harness.oracle);
    let (_, recovered) = found.map_err(|error| format!("{error}; files {}", names(disk)))?;
    tally.fruitful += u64::from(!recovered.is_empty());
    harness.check_cap_on(disk);
    harness.oracle.check(&recovered)?;
    if harness.options.archive.is_some() {
        tally.archived += check_archive(harness, disk)?;
    }
    Ok(recovered)
}

/// Archive and log together hold every commit from the first on. Returns how many the archive holds.
fn check_archive(harness: &Harness, disk: &SimulatedDisk) -> Result<u64, String> {
    let (archived, records) = read_all(disk).map_err(|error| format!("the archive: {error}"))?;
    harness.oracle.check_from(0, &records).map_err(|why| format!("archive and log: {why}"))?;
    Ok(archived.0)
}

/// Interrupts recovery at its I/Os, and the recovery after that: all must end like the uninterrupted one.
fn interrupt_recovery(
    harness: &mut Harness,
    disk: &SimulatedDisk,
    tally: &mut Tally,
) -> Result<(), String> {
    let uninterrupted = check_image(harness, &disk.crash(Crash::DropAll), tally)?;
    if !refuses_other_database(disk, &harness.options) {
        return Err("a log of another database was opened".to_owned());
    }
    for pick in 0..2 {
        let mut disk = disk.crash(Crash::DropAll);
        for depth in 1..=2 {
            let at = if depth == 1 {
                pick * 3 + harness.random.u64(0..3)
            } else {
                harness.random.u64(0..6)
            };
            disk.crash_after(at);
            // It does not matter whether the power loss came in time: the image must be sound either way.
            let _cut = recover(&disk, &harness.options, &harness.oracle).is_err();
            tally.recoveries += 1;
            let seed = harness.random.u64(..);
            let how =
                [Crash::DropAll, Crash::KeepAll, Crash::Subset { seed }, Crash::Torn { seed }];
            disk = disk.crash(how[harness.random.usize(0..how.len())]);
            let recovered = check_image(harness, &disk.crash(Crash::DropAll), tally)
                .map_err(|why| format!("recovery interrupted at {at}, depth {depth}: {why}"))?;
            same(&uninterrupted, &recovered)
                .map_err(|why| format!("recovery interrupted at {at}: {why}"))?;
        }
    }
    Ok(())
}

/// Damages a stable frame that a later one names: the log must be refused, not truncated.
fn damage(harness: &mut Harness, disk: &SimulatedDisk) -> Result<(), String> {
    use crate::log::scan::Reader;
    use crate::log::{segment, survey};
    use syncline_vfs::{Disk, File, OpenOptions};
    if harness.random.u8(0..3) > 0 || harness.options.durability == Durability::None {
        return Ok(());
    }
    let disk = disk.crash(Crash::DropAll);
    let unit = harness.options.frame_unit_bytes;
    let failed = |error: Error| error.to_string();
    let found = survey::find(&disk, super::episode::directory()).map_err(failed)?;
    let start = crate::Csn(harness.oracle.released);
    let chain = survey::chain(&disk, super::episode::directory(), &found, None, start, None)
        .map_err(failed)?;
    let newest = chain.links[chain.links.len() - 1];
    let path = segment::path(super::episode::directory(), newest.index);
    let mut reader = Reader::open(&disk, &path).map_err(failed)?;
    let (mut frames, mut at) = (Vec::new(), u64::from(unit));
    while let Some((header, ..)) = reader.frame(at, unit).map_err(failed)? {
        if header.segment != newest.header.number {
            break;
        }
        frames.push((at, header.number, header.stable));
        at += header.frame_bytes(unit) as u64;
    }
    let named = frames.last().map_or(crate::FrameNumber::ZERO, |last| last.2);
    let stable: Vec<u64> = frames.iter().filter(|one| one.1 <= named).map(|one| one.0).collect();
    if stable.is_empty() {
        return Ok(());
    }
    let victim = stable[harness.random.usize(0..stable.len())];
    let file = disk.open(&path, OpenOptions::READ_WRITE).map_err(|e| e.to_string())?;
    let damaged = file.write_at(&[0xa5; 64], victim + 40).and_then(|()| file.sync_all());
    damaged.map_err(|error| error.to_string())?;
    match recover(&disk, &harness.options, &harness.oracle) {
        Err(Error::Damaged { .. }) => Ok(()),
        Err(error) => Err(format!("damage was refused with another error: {error}")),
        Ok(_) => Err(format!("damage to a stable frame at {victim} was taken for the log's end")),
    }
}

/// The harness continues with the log that this disk recovers to.
fn restart(harness: &mut Harness, disk: SimulatedDisk) -> Result<(), String> {
    let (log, recovered) =
        recover(&disk, &harness.options, &harness.oracle).map_err(|e| e.to_string())?;
    harness.oracle.check(&recovered)?;
    harness.oracle.go_on(log.durable_lsn().0);
    drop(log);
    harness.disk = disk;
    Ok(())
}

fn same(one: &RecoveredRecords, other: &RecoveredRecords) -> Result<(), String> {
    if one == other {
        return Ok(());
    }
    let ends = [one, other].map(|recovered| recovered.last().map(|(csn, _)| *csn));
    Err(format!("another state was recovered: the last csn was {:?}, now {:?}", ends[0], ends[1]))
}

mod tests {
    use super::{Tally, search};
    use crate::seeds::{asked_seeds, asked_threads, search_seeds};

    #[test]
    fn no_seed_breaks_a_promise() {
        let seeds = asked_seeds(|| (0..1_200).collect());
        let (tally, broken) = search_seeds((&seeds, asked_threads()), search, Tally::add);
        if let Some(why) = broken {
            panic!("{why}");
        }
        if seeds.len() >= 1_200 {
            assert!(tally.recoveries > 10_000 && tally.faults > 100, "{tally:?}");
            assert!(tally.fruitful > tally.recoveries / 3, "{tally:?}");
            assert!(tally.archived > 10_000, "{tally:?}");
        }
        println!("{tally:?}");
    }
}
