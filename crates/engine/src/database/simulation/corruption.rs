//! A file of the database vanishes or changes after a crash: the opening must refuse it, or return
//! everything. The log's own limit applies (`log::simulation`).

use super::harness::{Failure, Harness, directory};
use crate::error::Error;
use crate::log::simulation::corruption::{Loss, segment_files};
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::Crash;

/// Spoils a random file and opens the database, which ended at commit `whole` before.
pub(super) fn lose_file(
    harness: &mut Harness,
    disk: &SimulatedDisk,
    whole: u64,
) -> Result<(), String> {
    let disk = disk.crash(Crash::DropAll);
    let loss = Loss::random(&mut harness.random);
    let files = segment_files(&disk, &directory().join("log"), loss);
    let mut files = files.map_err(|error| error.to_string())?;
    files.push((directory().join("data"), false));
    let (victim, is_unknown) = files.swap_remove(harness.random.usize(0..files.len()));
    loss.strike(&disk, &victim).map_err(|error| error.to_string())?;
    harness.tally.cycles += 1;
    match harness.recover(&disk) {
        Ok((_, csn)) if csn == whole => Ok(()),
        Err(Failure::Refused(
            Error::Missing { .. }
            | Error::NoDataFile { .. }
            | Error::NotADataFile { .. }
            | Error::Damaged { .. },
        )) => Ok(()),
        _ if is_unknown => Ok(()),
        Ok((_, csn)) => Err(format!(
            "{} was {loss:?}, and the opening ends at commit {csn} instead of {whole}",
            victim.display()
        )),
        Err(failure) => Err(format!("{} was {loss:?}: {failure:?}", victim.display())),
    }
}
