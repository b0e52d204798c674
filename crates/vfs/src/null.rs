//! A disk that keeps names and lengths but no bytes: reads return zeros.
//!
//! The engine's transient mode runs its log on it, so that one code path serves both modes and nothing
//! reaches the operating system. It promises no durability: its users must set durability none. Every
//! directory exists.

use crate::{Create, Disk, Error, File, OpenOptions, Result};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

#[derive(Debug, Default)]
struct NullContents {
    bytes: AtomicU64,
    /// [`EXCLUSIVE`], or how many handles share the lock.
    lock: AtomicI32,
}

const EXCLUSIVE: i32 = -1;

/// A disk without bytes. Copies are the same disk.
#[derive(Clone, Debug, Default)]
pub struct NullDisk {
    files: Arc<Mutex<BTreeMap<PathBuf, Arc<NullContents>>>>,
}

/// A file of a [`NullDisk`].
#[derive(Debug)]
pub struct NullFile {
    path: PathBuf,
    contents: Arc<NullContents>,
    /// 0, 1 for a share of the lock, or [`EXCLUSIVE`].
    held: AtomicI32,
}

impl NullDisk {
    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<NullContents>>> {
        self.files.lock()
    }
}

impl Disk for NullDisk {
    type File = NullFile;

    fn open(&self, path: &Path, options: OpenOptions) -> Result<NullFile> {
        let mut files = self.files();
        let known = files.get(path).cloned();
        let contents = match (known, options.create) {
            (None, Create::Never) => return Err(failed("open", path, ErrorKind::NotFound)),
            (Some(_), Create::New) => return Err(failed("open", path, ErrorKind::AlreadyExists)),
            (Some(contents), _) => contents,
            (None, _) => {
                let contents = Arc::new(NullContents::default());
                files.insert(path.to_owned(), Arc::clone(&contents));
                contents
            }
        };
        Ok(NullFile { path: path.to_owned(), contents, held: AtomicI32::new(0) })
    }

    fn create_directory(&self, _path: &Path) -> Result<()> {
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        match self.files().remove(path) {
            Some(_) => Ok(()),
            None => Err(failed("remove", path, ErrorKind::NotFound)),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut files = self.files();
        let Some(contents) = files.remove(from) else {
            return Err(failed("rename", from, ErrorKind::NotFound));
        };
        files.insert(to.to_owned(), contents);
        Ok(())
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        let files = self.files();
        let inside = files.keys().filter(|path| path.parent() == Some(directory));
        Ok(inside.filter_map(|path| path.file_name().map(PathBuf::from)).collect())
    }

    fn sync_directory(&self, _directory: &Path) -> Result<()> {
        Ok(())
    }
}

impl File for NullFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let left = self.len()?.saturating_sub(offset);
        let bytes = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        buffer[..bytes].fill(0);
        Ok(bytes)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let end = offset + bytes.len() as u64;
        self.contents.bytes.fetch_max(end, Ordering::Relaxed);
        Ok(())
    }

    fn sync_data(&self) -> Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> Result<()> {
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.contents.bytes.load(Ordering::Relaxed))
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        self.contents.bytes.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn preallocate(&self, bytes: u64) -> Result<()> {
        self.contents.bytes.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn try_lock(&self) -> Result<()> {
        if self.held.load(Ordering::Acquire) == EXCLUSIVE {
            return Ok(());
        }
        self.lock(|lock| (lock == 0).then_some(EXCLUSIVE), EXCLUSIVE)
    }

    fn try_lock_shared(&self) -> Result<()> {
        if self.held.load(Ordering::Acquire) == 1 {
            return Ok(());
        }
        self.lock(|lock| (lock >= 0).then(|| lock + 1), 1)
    }
}

impl NullFile {
    /// Takes the lock if `next` has a value for it, and notes what this handle holds.
    fn lock(&self, next: impl Fn(i32) -> Option<i32>, held: i32) -> Result<()> {
        let lock = &self.contents.lock;
        if lock.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_err() {
            return Err(Error::Locked { path: self.path.clone() });
        }
        self.held.store(held, Ordering::Release);
        Ok(())
    }
}

impl Drop for NullFile {
    fn drop(&mut self) {
        self.contents.lock.fetch_sub(self.held.load(Ordering::Acquire), Ordering::AcqRel);
    }
}

fn failed(what: &str, path: &Path, kind: ErrorKind) -> Error {
    Error::io(what, path, kind.into())
}

#[cfg(test)]
mod tests {
    use super::NullDisk;
    use crate::{Disk, Error, File, OpenOptions};
    use std::path::{Path, PathBuf};

    #[test]
    fn names_lengths_and_locks_are_kept_and_bytes_are_not() {
        let disk = NullDisk::default();
        let path = Path::new("folder/file");
        assert!(disk.open(path, OpenOptions::READ).is_err());
        let file = disk.open(path, OpenOptions::READ_WRITE).unwrap();
        file.write_at(b"bytes", 7).unwrap();
        let mut buffer = [1; 20];
        assert_eq!(file.read_at(&mut buffer, 4).unwrap(), 8);
        assert_eq!(buffer[..8], [0; 8]);
        assert_eq!(disk.list(Path::new("folder")).unwrap(), [PathBuf::from("file")]);

        file.try_lock().unwrap();
        let other = disk.open(path, OpenOptions::READ_WRITE).unwrap();
        assert!(matches!(other.try_lock(), Err(Error::Locked { .. })));
        drop(file);
        other.try_lock().unwrap();

        disk.rename(path, Path::new("folder/other")).unwrap();
        assert!(disk.remove(path).is_err());
        disk.remove(Path::new("folder/other")).unwrap();
        assert!(disk.list(Path::new("folder")).unwrap().is_empty());
    }
}
