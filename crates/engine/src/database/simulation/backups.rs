//! Backups during an episode: their steps run between those of the clients and of checkpoints.
//!
//! An interrupted backup leaves its directory, which the next one uses again. A complete one is checked as it
//! would be after a loss of power: it holds what the oracle knows of its commit, and nothing is wrong with
//! it.

use super::episode::{Episode, EpisodeEnd, broken, checkpoints};
use super::harness::{Failure, verify};
use super::restores::MadeBackup;
use crate::database::backup::{Backup, BackupStep, RunningBackup};
use crate::error::Error;
use std::path::PathBuf;
use syncline_vfs::simulated::Crash;

/// I/Os of a backup between two steps of the episode, at most.
const STEPS_AT_ONCE: u32 = 6;

impl Episode<'_> {
    /// Begins a backup, or moves it on.
    pub(super) fn back_up(&mut self) -> Result<(), EpisodeEnd> {
        let Some(backup) = &mut self.backup else {
            if checkpoints(&self.engine).csn().0 < self.opened_at {
                // The oracle does not know that state any more.
                return Ok(());
            }
            let pages_at_once = self.harness.random.usize(1..30);
            let backup = RunningBackup::begin(&self.engine, &self.place(), pages_at_once);
            return match backup {
                Ok(backup) => {
                    self.backup = Some(backup);
                    Ok(())
                }
                Err(Error::Exists { .. }) => self.check_unreported(),
                Err(error) => EpisodeEnd::of(error),
            };
        };
        if self.harness.random.u8(0..60) == 0 {
            self.backup = None;
            return Ok(());
        }
        for _ in 0..self.harness.random.u32(1..STEPS_AT_ONCE) {
            match backup.step() {
                Ok(BackupStep::Worked) => {}
                Ok(BackupStep::Done(made)) => {
                    self.backup = None;
                    return self.check_backup(made);
                }
                Err(error) => {
                    self.backup = None;
                    return self.failed_backup(error);
                }
            }
        }
        Ok(())
    }

    /// The directory of the next backup.
    fn place(&self) -> PathBuf {
        PathBuf::from(format!("backup-{}", self.harness.backup_places))
    }

    /// The power failed after a backup was complete and before it was reported: it is whole.
    fn check_unreported(&mut self) -> Result<(), EpisodeEnd> {
        let engine = self.harness.open_to_read(&self.harness.disk, &self.place());
        self.harness.backup_places += 1;
        match engine.and_then(|engine| verify(&engine)) {
            Ok(()) => Ok(()),
            Err(Failure::Refused(error @ Error::Disk(_))) => Err(EpisodeEnd::Dead(error)),
            Err(failure) => Err(broken(format!("a backup of an earlier episode: {failure:?}"))),
        }
    }

    /// A backup may fail where the database goes on: a fault struck one of its own files.
    fn failed_backup(&self, error: Error) -> Result<(), EpisodeEnd> {
        if matches!(error, Error::Disk(_)) && self.engine.core.log.check().is_ok() {
            return Ok(());
        }
        EpisodeEnd::of(error)
    }

    fn check_backup(&mut self, made: Backup) -> Result<(), EpisodeEnd> {
        let place = self.place();
        self.harness.tally.backups += 1;
        self.harness.backup_places += 1;
        let disk = self.harness.disk.crash(Crash::DropAll);
        let checked = self.harness.open_to_read(&disk, &place).and_then(|engine| {
            let csn = engine.core.log.published();
            if csn != made.csn {
                return Err(Failure::Broken(format!("it ends at {csn}")));
            }
            self.harness.oracle.compare(&engine, csn.0)?;
            verify(&engine)
        });
        checked.map_err(|failure| broken(format!("the backup of {}: {failure:?}", made.csn)))?;
        self.harness.backups.push(MadeBackup { directory: place, csn: made.csn.0 });
        Ok(())
    }
}
