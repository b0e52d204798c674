//! The whole disk under a directory: what it completed, from `/sys/block`.
//!
//! A partition's counters hide flushes (the kernel counts them for the whole disk only), so the whole
//! disk is read, which includes everybody else's requests. A file system over several disks, in memory
//! or over a network has no such disk.
//!
//! Fields of `stat`, by position: 0 reads completed, 2 sectors read, 4 writes completed, 6 sectors
//! written, 8 in flight, 9 milliseconds with any in flight, 10 milliseconds times requests in flight,
//! 15 flushes completed (since Linux 5.5). A sector is 512 bytes here, whatever the device says.
//!
//! The kernel sends flushes only to a disk whose cache it takes for volatile (`queue/write_cache` says
//! "write back"). To others a sync sends none, so that their count of flushes says nothing of syncs.

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
    /// Its model by its own word.
    pub model: Option<String>,
    /// True if it is a spinning disk, by the kernel's word.
    pub rotational: Option<bool>,
    /// True if the kernel sends it flushes, since it takes its cache for volatile; none if it does not say.
    pub takes_flushes: Option<bool>,
    folder: PathBuf,
}

/// What a disk has completed since the machine started.
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
    /// Finds the disk under `directory`; `root` is `/` but in tests. The error is a sentence.
    pub fn of(directory: &Path, root: &Path) -> Result<BlockDevice, String> {
        let metadata = fs::metadata(directory)
            .map_err(|error| format!("{} cannot be read: {error}", directory.display()))?;
        let number = metadata.dev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        BlockDevice::of_number(major, minor, root).ok_or_else(|| {
            format!(
                "{} lies on no single block device (device {major}:{minor}): in memory, on a \
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

    /// What the disk has completed so far; none if its counters cannot be read.
    pub fn counts(&self) -> Option<BlockCounts> {
        let text = read_text(&self.folder.join("stat"))?;
        BlockCounts::parse(&text)
    }
}

impl BlockCounts {
    /// The counts of the disk of that name ("sda"); `root` is `/` but in tests. None if they cannot be
    /// read.
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
        let place = BlockDevice::of_number(8, 1, root.path()).unwrap();
        assert_eq!(place.device, "sdx");
        assert_eq!(place.model.as_deref(), Some("Example Disk"));
        assert_eq!(place.rotational, None);
        assert_eq!(place.takes_flushes, Some(false));
        let counts = place.counts().unwrap();
        assert_eq!((counts.reads, counts.writes, counts.flushes), (10, 20, Some(15)));
        assert_eq!((counts.written_bytes, counts.in_flight), (160 * 512, 3));
        assert_eq!((counts.busy_ms, counts.weighted_ms), (400, 900));
    }

    #[test]
    fn an_old_kernel_counts_no_flushes_and_nonsense_is_unknown() {
        let old = "10 1 80 5 20 2 160 7 3 400 900";
        assert_eq!(BlockCounts::parse(old).unwrap().flushes, None);
        assert_eq!(BlockCounts::parse("10 1"), None);
        assert_eq!(BlockCounts::parse("a b c"), None);
    }

    #[test]
    fn a_directory_without_a_disk_says_why() {
        let why = BlockDevice::of(Path::new("/proc"), Path::new("/")).unwrap_err();
        assert!(why.contains("/proc lies on no single block device"), "{why}");
        let absent = BlockDevice::of(Path::new("/nowhere/at/all"), Path::new("/")).unwrap_err();
        assert!(absent.contains("cannot be read"), "{absent}");
    }
}
