//! The whole disk under a directory, and its counters from `/sys/block`.
//!
//! A partition's counters hide flushes (the kernel counts them for the whole disk only), so this reads the
//! whole disk, including requests of other processes. A file system over several disks, in memory or over a
//! network has no such disk.
//!
//! Fields of `stat`, by position: 0 reads completed, 2 sectors read, 4 writes completed, 6 sectors
//! written, 8 in flight, 9 milliseconds with any in flight, 10 milliseconds times requests in flight,
//! 15 flushes completed (since Linux 5.5). A sector is always 512 bytes here, whatever the device reports.
//!
//! The kernel sends flushes only to a disk whose cache it considers volatile (`queue/write_cache` reads
//! "write back"). On other disks a sync causes no flush, so their flush count does not count syncs.

use crate::files::{read_line, read_text};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const SECTOR_BYTES: u64 = 512;

/// The whole disk under a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    /// The disk's name: "sda", "nvme0n1", "dm-0".
    pub device: String,
    /// The model name that the disk reports.
    pub model: Option<String>,
    /// True if the kernel reports a spinning disk.
    pub rotational: Option<bool>,
    /// True if the kernel considers the disk's cache volatile and sends it flushes; none if it does not say.
    pub takes_flushes: Option<bool>,
    folder: PathBuf,
}

/// Requests that a disk has completed since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Flushes; none on kernels that do not count them.
    pub flushes: Option<u64>,
    /// Requests in flight now.
    pub in_flight: u64,
    /// Milliseconds with any request in flight.
    pub busy_ms: u64,
    /// Milliseconds in flight, summed over requests.
    pub weighted_ms: u64,
}

impl BlockDevice {
    /// Finds the disk under `directory`; `root` is `/` except in tests. The error is a sentence.
    pub fn of(directory: &Path, root: &Path) -> Result<BlockDevice, String> {
        let metadata = fs::metadata(directory)
            .map_err(|error| format!("{} cannot be read: {error}", directory.display()))?;
        let number = metadata.dev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        BlockDevice::of_number(major, minor, root).ok_or_else(|| {
            format!(
                "{} is not on a single block device (device {major}:{minor}): in memory, on a \
                 network, on an overlay or on several disks",
                directory.display()
            )
        })
    }

    fn of_number(major: u32, minor: u32, root: &Path) -> Option<BlockDevice> {
        let entry = root.join(format!("sys/dev/block/{major}:{minor}"));
        let mut folder = fs::canonicalize(entry).ok()?;
        if folder.join("partition").exists() {
            folder.pop();
        }
        let device = folder.file_name()?.to_str()?.to_owned();
        Some(BlockDevice {
            model: read_line(&folder.join("device/model")),
            rotational: read_line(&folder.join("queue/rotational")).map(|word| word == "1"),
            takes_flushes: read_line(&folder.join("queue/write_cache"))
                .map(|word| word == "write back"),
            device,
            folder,
        })
    }

    /// The disk's counters now; none if they cannot be read.
    pub fn counts(&self) -> Option<BlockCounts> {
        let text = read_text(&self.folder.join("stat"))?;
        BlockCounts::parse(&text)
    }
}

impl BlockCounts {
    /// The counters of the disk with that name ("sda"), or none if they cannot be read. `root` is `/` except
    /// in tests.
    pub fn of(disk: &str, root: &Path) -> Option<BlockCounts> {
        BlockCounts::parse(&read_text(&root.join("sys/block").join(disk).join("stat"))?)
    }

    fn parse(text: &str) -> Option<BlockCounts> {
        let fields: Vec<u64> =
            text.split_whitespace().map(|field| field.parse().ok()).collect::<Option<_>>()?;
        Some(BlockCounts {
            reads: *fields.first()?,
            read_bytes: fields.get(2)? * SECTOR_BYTES,
            writes: *fields.get(4)?,
            written_bytes: fields.get(6)? * SECTOR_BYTES,
            in_flight: *fields.get(8)?,
            busy_ms: *fields.get(9)?,
            weighted_ms: *fields.get(10)?,
            flushes: fields.get(15).copied(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockCounts, BlockDevice};
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    const STAT: &str = "  10 1 80 5  20 2 160 7  3 400 900  0 0 0 0  15 6\n";

    #[test]
    fn a_partition_leads_to_its_whole_disk() {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("sys/devices/pci0/block/sdx");
        fs::create_dir_all(disk.join("sdx1")).unwrap();
        fs::create_dir_all(disk.join("device")).unwrap();
        fs::write(disk.join("sdx1/partition"), "1\n").unwrap();
        fs::write(disk.join("device/model"), "Example Disk  \n").unwrap();
        fs::create_dir_all(disk.join("queue")).unwrap();
        fs::write(disk.join("queue/write_cache"), "write through\n").unwrap();
        fs::write(disk.join("stat"), STAT).unwrap();
        fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
        symlink(disk.join("sdx1"), root.path().join("sys/dev/block/8:1")).unwrap();
        let device = BlockDevice::of_number(8, 1, root.path()).unwrap();
        assert_eq!(device.device, "sdx");
        assert_eq!(device.model.as_deref(), Some("Example Disk"));
        assert_eq!(device.rotational, None);
        assert_eq!(device.takes_flushes, Some(false));
        let counts = device.counts().unwrap();
        assert_eq!((counts.reads, counts.writes, counts.flushes), (10, 20, Some(15)));
        assert_eq!((counts.written_bytes, counts.in_flight), (160 * 512, 3));
        assert_eq!((counts.busy_ms, counts.weighted_ms), (400, 900));
    }

    #[test]
    fn flushes_are_unknown_on_old_kernels_and_invalid_text_is_rejected() {
        let old = "10 1 80 5 20 2 160 7 3 400 900";
        assert_eq!(BlockCounts::parse(old).unwrap().flushes, None);
        assert_eq!(BlockCounts::parse("10 1"), None);
        assert_eq!(BlockCounts::parse("a b c"), None);
    }

    #[test]
    fn a_directory_without_a_disk_is_an_error() {
        let why = BlockDevice::of(Path::new("/proc"), Path::new("/")).unwrap_err();
        assert!(why.contains("/proc is not on a single block device"), "{why}");
        let absent = BlockDevice::of(Path::new("/nowhere/at/all"), Path::new("/")).unwrap_err();
        assert!(absent.contains("cannot be read"), "{absent}");
    }
}
