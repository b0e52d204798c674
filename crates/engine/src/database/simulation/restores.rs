//! Restores: a backup of any earlier episode, brought forward by archive and log to a random commit, must
//! equal what the oracle knows of that commit. In between the power fails, and the restore begins anew.

use super::harness::{Failure, Harness, directory, verify};
use super::search::power_is_off;
use crate::database::restore::{Portions, RestoreSource, Restored, restore};
use crate::error::{Error, Result};
use crate::ids::Csn;
use crate::log::Until;
use std::path::{Path, PathBuf};
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::Crash;

/// The directory of archived segments.
pub(super) const ARCHIVE: &str = "archive";

/// A complete backup.
#[derive(Clone, Debug)]
pub(super) struct MadeBackup {
    pub(super) directory: PathBuf,
    pub(super) csn: u64,
}

/// Restores one of the backups to a random commit that a recovered disk holds, which ends at commit `last`.
/// The oracle knows the states since commit `opened_at`.
pub(super) fn check_restore(
    harness: &mut Harness,
    disk: &SimulatedDisk,
    last: u64,
) -> std::result::Result<(), String> {
    let count = harness.backups.len();
    if harness.options.log.archive.is_none() || count == 0 {
        return Ok(());
    }
    let backup = harness.backups[harness.random.usize(0..count)].clone();
    let first = backup.csn.max(harness.oracle.opened_at);
    if first > last {
        return Ok(());
    }
    let csn = harness.random.u64(first..=last);
    let (disk, place) = interrupted(harness, disk, &backup, csn)?;
    let name = format!("the backup of csn {}, restored to csn {csn} of {last}", backup.csn);
    let restored = restore_to(harness, &disk, &backup, (Until::Commit(Csn(csn)), place));
    let restored = restored.map_err(|error| format!("{name}: {error}"))?;
    // No replay of the log is needed any more, and nothing of the restore waits for a sync.
    let disk = disk.crash(Crash::DropAll);
    let checked = check_target(harness, &disk, (csn, place));
    checked.map_err(|failure| format!("{name}: {failure:?}"))?;
    harness.tally.restores += 1;
    check_time(harness, &disk, &backup, restored).map_err(|why| format!("{name}: {why}"))
}

fn restore_to(
    harness: &mut Harness,
    disk: &SimulatedDisk,
    backup: &MadeBackup,
    (until, place): (Until, &str),
) -> Result<Restored> {
    let source = RestoreSource {
        backup: backup.directory.clone(),
        archive: PathBuf::from(ARCHIVE),
        log: Some(directory().join("log")),
    };
    let portions = Portions {
        pages: harness.random.usize(1..40),
        record_bytes: harness.random.usize(0..4_000),
    };
    restore(disk, &source, Path::new(place), until, (harness.options.clone(), portions))
}

fn check_target(
    harness: &Harness,
    disk: &SimulatedDisk,
    (csn, place): (u64, &str),
) -> std::result::Result<(), Failure> {
    let engine = harness.open_to_read(disk, Path::new(place))?;
    let published = engine.core.log.published().0;
    if published != csn {
        return Err(Failure::Broken(format!("it ends at csn {published}")));
    }
    harness.oracle.compare(&engine, csn)?;
    verify(&engine)
}

/// The time at which a commit was written restores it, and nothing that was written later.
fn check_time(
    harness: &mut Harness,
    disk: &SimulatedDisk,
    backup: &MadeBackup,
    restored: Restored,
) -> std::result::Result<(), String> {
    let Some(wall_ns) = restored.wall_ns else {
        return Ok(());
    };
    let again = restore_to(harness, disk, backup, (Until::Time(wall_ns), "by-time"));
    let again = again.map_err(|error| format!("by its time: {error}"))?;
    if again.csn < restored.csn || again.wall_ns != Some(wall_ns) {
        return Err(format!("by its time {wall_ns}: {again:?}"));
    }
    Ok(())
}

/// In some cases a restore that a power loss ends: its target holds nothing, or everything. Returns the disk
/// after it, and where to restore.
fn interrupted(
    harness: &mut Harness,
    disk: &SimulatedDisk,
    backup: &MadeBackup,
    csn: u64,
) -> std::result::Result<(SimulatedDisk, &'static str), String> {
    let place = "restored";
    let disk = disk.crash(Crash::DropAll);
    if harness.random.bool() {
        return Ok((disk, place));
    }
    disk.crash_after(harness.random.u64(0..60));
    if let Err(error) = restore_to(harness, &disk, backup, (Until::Commit(Csn(csn)), place)) {
        power_is_off(&error)?;
    }
    let seed = harness.random.u64(..);
    let how = [Crash::DropAll, Crash::KeepAll, Crash::Subset { seed }, Crash::Torn { seed }];
    let left = disk.crash(how[harness.random.usize(0..how.len())]);
    match check_target(harness, &left, (csn, place)) {
        Ok(()) => Ok((left, "restored-again")),
        Err(Failure::Refused(Error::Missing { .. } | Error::NoDataFile { .. })) => {
            Ok((left, place))
        }
        Err(failure) => Err(format!("an interrupted restore left: {failure:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{MadeBackup, check_target, restore_to};
    use crate::database::simulation::episode::run_episode;
    use crate::database::simulation::harness::{Harness, SimulatedEngine, has_archive};
    use crate::ids::Csn;
    use crate::log::Until;
    use std::sync::Arc;
    use syncline_vfs::simulated::Crash;

    /// Lives until there is a backup, and then some steps longer. Returns the first backup.
    fn live(harness: &mut Harness) -> (MadeBackup, Arc<SimulatedEngine>) {
        loop {
            let engine = harness.open().unwrap();
            run_episode(harness, Arc::clone(&engine), 150).unwrap();
            engine.core.log.flush().unwrap();
            if let Some(backup) = harness.backups.first() {
                return (backup.clone(), engine);
            }
        }
    }

    #[test]
    fn every_commit_of_a_life_since_a_backup_can_be_restored() {
        let mut restored = 0;
        for seed in (1_000..1_120).filter(|seed| has_archive(*seed)) {
            let mut harness = Harness::new(seed);
            let (backup, engine) = live(&mut harness);
            let last = engine.core.log.durable_lsn().0;
            drop(engine);
            let first = backup.csn.max(harness.oracle.opened_at);
            for csn in first..=last {
                // At durability none the last commits are only written.
                let disk = harness.disk.crash(Crash::KeepAll);
                let until = (Until::Commit(Csn(csn)), "restored");
                let made = restore_to(&mut harness, &disk, &backup, until);
                made.unwrap_or_else(|error| panic!("seed {seed}, csn {csn} of {last}: {error}"));
                let checked = check_target(&harness, &disk, (csn, "restored"));
                checked.unwrap_or_else(|failure| panic!("seed {seed}, csn {csn}: {failure:?}"));
                restored += 1;
            }
        }
        assert!(restored > 200, "{restored}");
    }
}
