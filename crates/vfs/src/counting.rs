//! A disk that counts the operations it passes on to another disk.
//!
//! Only successful operations are counted. All copies of a [`CountingDisk`], and all files opened through
//! them, share one set of counts.

use crate::{
    BatchRead, BatchWrite, Disk, File, OpenOptions, QueuedRead, ReadQueue, Result, WriteSync,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The operations of a [`CountingDisk`] up to some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Writes, including synced ones.
    pub writes: u64,
    /// Bytes of those writes.
    pub written_bytes: u64,
    /// Writes to files opened with [`WriteSync::Data`] or [`WriteSync::Full`]: each is a sync too.
    pub synced_writes: u64,
    /// Calls of [`File::sync_data`].
    pub syncs_data: u64,
    /// Calls of [`File::sync_all`].
    pub syncs_all: u64,
    /// Calls of [`Disk::sync_directory`].
    pub directory_syncs: u64,
    /// Reads.
    pub reads: u64,
    /// Calls of [`File::read_batch`]; their reads count as reads, too.
    pub read_batches: u64,
    /// Bytes that the reads returned.
    pub read_bytes: u64,
    /// Calls of [`File::set_len`].
    pub set_lens: u64,
    /// Bytes by which [`File::preallocate`] and [`File::allocate`] grew files, not counted as writes.
    pub preallocated_bytes: u64,
}

impl Counts {
    /// The operations between `earlier` and this moment, both of one disk.
    #[must_use]
    pub fn since(&self, earlier: &Counts) -> Counts {
        Counts {
            writes: self.writes - earlier.writes,
            written_bytes: self.written_bytes - earlier.written_bytes,
            synced_writes: self.synced_writes - earlier.synced_writes,
            syncs_data: self.syncs_data - earlier.syncs_data,
            syncs_all: self.syncs_all - earlier.syncs_all,
            directory_syncs: self.directory_syncs - earlier.directory_syncs,
            reads: self.reads - earlier.reads,
            read_batches: self.read_batches - earlier.read_batches,
            read_bytes: self.read_bytes - earlier.read_bytes,
            set_lens: self.set_lens - earlier.set_lens,
            preallocated_bytes: self.preallocated_bytes - earlier.preallocated_bytes,
        }
    }

    /// All syncs of files, by call or by synced write; without directory syncs.
    pub fn syncs(&self) -> u64 {
        self.syncs_data + self.syncs_all + self.synced_writes
    }
}

/// A disk that passes every operation on to `D` and counts it.
#[derive(Clone, Debug)]
pub struct CountingDisk<D> {
    disk: D,
    counters: Arc<Counters>,
}

impl<D: Disk> CountingDisk<D> {
    /// Wraps a disk; all counts are zero.
    pub fn new(disk: D) -> CountingDisk<D> {
        CountingDisk { disk, counters: Arc::default() }
    }

    /// The wrapped disk; operations on it directly are not counted.
    pub fn inner(&self) -> &D {
        &self.disk
    }

    /// The operations so far. While other threads work, the fields are not of one instant.
    pub fn counts(&self) -> Counts {
        self.counters.read()
    }
}

impl<D: Disk> Disk for CountingDisk<D> {
    type File = CountingFile<D::File>;

    fn open(&self, path: &Path, options: OpenOptions) -> Result<CountingFile<D::File>> {
        let file = self.disk.open(path, options)?;
        let synced = options.write_sync != WriteSync::No;
        Ok(CountingFile { file, synced, counters: Arc::clone(&self.counters) })
    }

    fn create_directory(&self, path: &Path) -> Result<()> {
        self.disk.create_directory(path)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.disk.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.disk.rename(from, to)
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        self.disk.list(directory)
    }

    fn sync_directory(&self, directory: &Path) -> Result<()> {
        self.disk.sync_directory(directory)?;
        add(&self.counters.directory_syncs, 1);
        Ok(())
    }
}

/// A file whose reads, writes and syncs are counted.
#[derive(Debug)]
pub struct CountingFile<F> {
    file: F,
    synced: bool,
    counters: Arc<Counters>,
}

impl<F: File> File for CountingFile<F> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let bytes = self.file.read_at(buffer, offset)?;
        add(&self.counters.reads, 1);
        add(&self.counters.read_bytes, bytes as u64);
        Ok(bytes)
    }

    fn read_batch(
        &self,
        reads: &mut [BatchRead<'_>],
        completed: &mut dyn FnMut(usize, Result<&[u8]>),
    ) {
        add(&self.counters.read_batches, 1);
        self.file.read_batch(reads, &mut |position, result| {
            if let Ok(bytes) = result {
                add(&self.counters.reads, 1);
                add(&self.counters.read_bytes, bytes.len() as u64);
            }
            completed(position, result);
        });
    }

    /// Counted when it begins.
    fn begin_read(&self, queue: &mut ReadQueue, read: QueuedRead) {
        add(&self.counters.reads, 1);
        add(&self.counters.read_bytes, read.buffer.len() as u64);
        self.file.begin_read(queue, read);
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.file.write_at(bytes, offset)?;
        add(&self.counters.writes, 1);
        add(&self.counters.written_bytes, bytes.len() as u64);
        add(&self.counters.synced_writes, u64::from(self.synced));
        Ok(())
    }

    fn write_batch(&self, writes: &[BatchWrite<'_>]) -> Result<()> {
        self.file.write_batch(writes)?;
        let bytes = writes.iter().map(|write| write.bytes.len() as u64).sum();
        add(&self.counters.writes, writes.len() as u64);
        add(&self.counters.written_bytes, bytes);
        add(&self.counters.synced_writes, u64::from(self.synced) * writes.len() as u64);
        Ok(())
    }

    fn sync_data(&self) -> Result<()> {
        self.file.sync_data()?;
        add(&self.counters.syncs_data, 1);
        Ok(())
    }

    fn sync_all(&self) -> Result<()> {
        self.file.sync_all()?;
        add(&self.counters.syncs_all, 1);
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        self.file.len()
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        self.file.set_len(bytes)?;
        add(&self.counters.set_lens, 1);
        Ok(())
    }

    fn preallocate(&self, bytes: u64) -> Result<()> {
        let before = self.file.len()?;
        self.file.preallocate(bytes)?;
        add(&self.counters.preallocated_bytes, bytes.saturating_sub(before));
        Ok(())
    }

    fn allocate(&self, bytes: u64) -> Result<()> {
        let before = self.file.len()?;
        self.file.allocate(bytes)?;
        add(&self.counters.preallocated_bytes, bytes.saturating_sub(before));
        Ok(())
    }

    fn try_lock(&self) -> Result<()> {
        self.file.try_lock()
    }

    fn try_lock_shared(&self) -> Result<()> {
        self.file.try_lock_shared()
    }
}

#[derive(Debug, Default)]
struct Counters {
    writes: AtomicU64,
    written_bytes: AtomicU64,
    synced_writes: AtomicU64,
    syncs_data: AtomicU64,
    syncs_all: AtomicU64,
    directory_syncs: AtomicU64,
    reads: AtomicU64,
    read_batches: AtomicU64,
    read_bytes: AtomicU64,
    set_lens: AtomicU64,
    preallocated_bytes: AtomicU64,
}

impl Counters {
    fn read(&self) -> Counts {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            writes: value(&self.writes),
            written_bytes: value(&self.written_bytes),
            synced_writes: value(&self.synced_writes),
            syncs_data: value(&self.syncs_data),
            syncs_all: value(&self.syncs_all),
            directory_syncs: value(&self.directory_syncs),
            reads: value(&self.reads),
            read_batches: value(&self.read_batches),
            read_bytes: value(&self.read_bytes),
            set_lens: value(&self.set_lens),
            preallocated_bytes: value(&self.preallocated_bytes),
        }
    }
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::{CountingDisk, Counts};
    use crate::{BatchWrite, Disk, File, OpenOptions, RealDisk, WriteSync};

    #[test]
    fn each_operation_is_counted_once_and_failures_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counted");
        let disk = CountingDisk::new(RealDisk);
        let file = disk.open(&path, OpenOptions::READ_WRITE).unwrap();
        file.preallocate(1000).unwrap();
        file.preallocate(500).unwrap();
        file.allocate(1200).unwrap();
        file.set_len(1000).unwrap();
        file.write_at(&[1; 100], 950).unwrap();
        let writes = [(&[2; 10], 0), (&[2; 10], 40)];
        let writes = writes.map(|(bytes, offset)| BatchWrite { bytes, offset });
        file.write_batch(&writes).unwrap();
        file.sync_data().unwrap();
        file.sync_all().unwrap();
        file.sync_all().unwrap();
        let earlier = disk.clone().counts();
        let synced = OpenOptions { write_sync: WriteSync::Data, ..OpenOptions::READ_WRITE };
        let second = disk.open(&path, synced).unwrap();
        second.write_at(&[3; 50], 0).unwrap();
        assert_eq!(second.read_at(&mut [0; 100], 1000).unwrap(), 50);
        second.set_len(60).unwrap();
        disk.sync_directory(folder.path()).unwrap();
        disk.sync_directory(&path).unwrap_err();
        let reader = disk.open(&path, OpenOptions::READ).unwrap();
        reader.write_at(&[4; 1], 0).unwrap_err();

        let first = Counts {
            writes: 3,
            written_bytes: 120,
            syncs_data: 1,
            syncs_all: 2,
            preallocated_bytes: 1200,
            set_lens: 1,
            ..Counts::default()
        };
        let then = Counts {
            writes: 1,
            written_bytes: 50,
            synced_writes: 1,
            directory_syncs: 1,
            reads: 1,
            read_batches: 0,
            read_bytes: 50,
            set_lens: 1,
            ..Counts::default()
        };
        assert_eq!(earlier, first);
        assert_eq!(disk.counts().since(&earlier), then);
        assert_eq!((first.syncs(), disk.counts().syncs()), (3, 4));
    }
}
