//! Files that vanish or change after a crash: the log is refused, or everything is there nevertheless.
//!
//! The one limit: until a file is prepared after it, only the newest segment's own file vouches for it, or a
//! file with a later name if it vanishes.

use super::episode::{Harness, directory, names, recover};
use crate::SegmentNumber;
use crate::error::Error;
use crate::log::segment::{self, HeaderRead};
use crate::log::survey::{self, SegmentFileInfo};
use fastrand::Rng;
use std::path::{Path, PathBuf};
use syncline_vfs::simulated::Crash;
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk};

/// What happens to a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loss {
    Vanished,
    Emptied,
    Zeroed,
    Halved,
    Lengthened,
}

/// Damages a random segment file and opens the log.
pub(super) fn lose_file(harness: &mut Harness, disk: &SimulatedDisk) -> Result<(), String> {
    let (_, whole) = recover(&disk.crash(Crash::DropAll), &harness.options, &harness.oracle)
        .map_err(|error| error.to_string())?;
    let disk = disk.crash(Crash::DropAll);
    let found = survey::find(&disk, directory()).map_err(|error| error.to_string())?;
    let victim = found[harness.random.usize(0..found.len())];
    let loss = Loss::random(&mut harness.random);
    let path = segment::path(directory(), victim.index);
    loss.strike(&disk, &path).map_err(|error| error.to_string())?;
    match recover(&disk, &harness.options, &harness.oracle) {
        Err(Error::Missing { .. } | Error::Damaged { .. }) => Ok(()),
        Err(error) => Err(format!("{loss:?} was refused with another error: {error}")),
        Ok((_, recovered)) if recovered == whole => Ok(()),
        Ok(_) if is_unknown(&found, &victim, loss) => Ok(()),
        Ok((_, recovered)) => Err(format!(
            "segment-{}.log was {loss:?}, and {} records were recovered instead of {}; files {}",
            victim.index,
            recovered.len(),
            whole.len(),
            names(&disk)
        )),
    }
}

impl Loss {
    pub(crate) fn random(random: &mut Rng) -> Loss {
        let losses = [Loss::Vanished, Loss::Emptied, Loss::Zeroed, Loss::Halved, Loss::Lengthened];
        losses[random.usize(0..losses.len())]
    }

    /// Applies it to a file.
    pub(crate) fn strike(self, disk: &SimulatedDisk, path: &Path) -> syncline_vfs::Result<()> {
        if matches!(self, Loss::Vanished) {
            disk.remove(path)?;
            return disk.sync_directory(path.parent().expect("the file is in a directory"));
        }
        let file = disk.open(path, OpenOptions::READ_WRITE)?;
        let bytes = file.len()?;
        match self {
            Loss::Vanished => {}
            Loss::Emptied => file.set_len(0)?,
            Loss::Zeroed => file.write_at(&vec![0; bytes as usize], 0)?,
            Loss::Halved => file.set_len(bytes / 2)?,
            Loss::Lengthened => file.set_len(bytes + 512)?,
        }
        file.sync_all()
    }
}

/// The segment files of a log's directory, each with whether no other file can reveal this loss.
pub(crate) fn segment_files(
    disk: &SimulatedDisk,
    directory: &Path,
    loss: Loss,
) -> crate::Result<Vec<(PathBuf, bool)>> {
    let found = survey::find(disk, directory)?;
    let files = found.iter().map(|file| {
        let path = segment::path(directory, file.index);
        (path, is_unknown(&found, file, loss))
    });
    Ok(files.collect())
}

/// True if the file holds the newest segment and no other file can reveal its loss: no header was written
/// after it, and no hole is left.
fn is_unknown(found: &[SegmentFileInfo], victim: &SegmentFileInfo, loss: Loss) -> bool {
    let number = |file: &SegmentFileInfo| match file.header {
        HeaderRead::Sound(header) => header.number,
        _ => SegmentNumber(0),
    };
    let mine = number(victim);
    let others = || found.iter().filter(|file| file.index != victim.index);
    let vouches = |file: &SegmentFileInfo| match file.header {
        HeaderRead::Sound(header) => header.begun >= mine || header.whole_files > victim.index,
        _ => false,
    };
    mine > SegmentNumber(0)
        && others().all(|file| number(file) < mine && !vouches(file))
        && (!matches!(loss, Loss::Vanished) || others().all(|file| file.index < victim.index))
}
