//! Directories that the engine makes: a database's, its log's, its archive's.

use crate::error::Result;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use syncline_vfs::Disk;

/// The names in a directory, which is made if it is missing. Its own name is stable then: nothing is put into
/// it before, so only an empty one may be left of an attempt that failed in between.
pub(crate) fn made<D: Disk>(disk: &D, directory: &Path) -> Result<Vec<PathBuf>> {
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    match disk.list(directory) {
        Ok(names) if names.is_empty() => match disk.sync_directory(parent) {
            // The caller's own directory, in one that may not be read.
            Err(error) if error.kind() == Some(ErrorKind::PermissionDenied) => Ok(names),
            synced => Ok(synced.map(|()| names)?),
        },
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => {
            disk.create_directory(directory)?;
            disk.sync_directory(parent)?;
            Ok(Vec::new())
        }
        listed => Ok(listed?),
    }
}

#[cfg(test)]
mod tests {
    use super::made;
    use std::path::Path;
    use syncline_vfs::simulated::{Crash, Fault, FaultRule, Metadata};
    use syncline_vfs::{Disk, SimulatedDisk};

    // Fault found by the simulation on 2026-11-29: a backup was lost with its directory, whose name an
    // earlier attempt had not made stable.
    #[test]
    fn after_a_failed_attempt_the_name_is_made_stable_all_the_same() {
        let disk = SimulatedDisk::new(1, Metadata::Strict);
        let directory = Path::new("directory");
        disk.arm(FaultRule::next(Fault::DirectorySyncError, ""));
        made(&disk, directory).unwrap_err();
        made(&disk, directory).unwrap();
        assert!(disk.crash(Crash::DropAll).list(directory).is_ok());
    }
}
