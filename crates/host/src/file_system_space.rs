//! The free space of the file system under a directory.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The size and free space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystemSpace {
    /// The file system's device number: directories with the same number share the space.
    pub device: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes that a process without privileges may still use.
    pub free_bytes: u64,
}

impl FileSystemSpace {
    /// The space under `directory`, or under its nearest existing ancestor. Costs one system call if the
    /// directory exists. The error is a sentence.
    pub fn of(directory: &Path) -> Result<FileSystemSpace, String> {
        let mut last = None;
        for directory in directory.ancestors() {
            let here = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
            match std::fs::metadata(here) {
                Ok(metadata) => return FileSystemSpace::read(here, metadata.dev()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => last = Some(error),
                Err(error) => return Err(refusal(directory, &error)),
            }
        }
        let error = last.unwrap_or_else(|| std::io::ErrorKind::NotFound.into());
        Err(refusal(directory, &error))
    }

    fn read(directory: &Path, device: u64) -> Result<FileSystemSpace, String> {
        let stat = rustix::fs::statvfs(directory)
            .map_err(|error| refusal(directory, &std::io::Error::from(error)))?;
        // Network file systems that do not know their size report zero blocks.
        if stat.f_blocks == 0 {
            let directory = directory.display();
            return Err(format!("the file system under {directory} does not report its size"));
        }
        Ok(FileSystemSpace {
            device,
            bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        })
    }
}

fn refusal(directory: &Path, error: &std::io::Error) -> String {
    format!("the free space under {} cannot be read: {error}", directory.display())
}

#[cfg(test)]
mod tests {
    use super::FileSystemSpace;

    // B.F9
    #[test]
    fn a_missing_directory_has_the_space_of_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        let here = FileSystemSpace::of(folder.path()).unwrap();
        let below = FileSystemSpace::of(&folder.path().join("not/yet")).unwrap();
        assert_eq!((here.device, here.bytes), (below.device, below.bytes));
        assert!(here.free_bytes <= here.bytes && here.bytes > 0);
    }

    // B.F9
    #[test]
    fn a_file_system_that_reports_no_size_is_an_error() {
        let why = FileSystemSpace::of(std::path::Path::new("/proc")).unwrap_err();
        assert!(why.contains("does not report its size"), "{why}");
    }
}
