//! The sizes of a probe's files, from the free space.
//!
//! 1. All files together take at most half of the free space.
//! 2. A file system that never overwrites in place (copy-on-write, log-structured) frees overwritten
//!    space later, so there they use at most an eighth.
//! 3. Where there is room the sizes are always the same, so that probes can be compared.

use crate::plan::{LAP_BYTES, OVERWRITE_BYTES};
use std::path::Path;

/// The smallest file of written blocks, in bytes.
const OVERWRITE_BYTES_MIN: u64 = 2 << 20;
/// The smallest lap, in bytes.
const LAP_BYTES_MIN: u64 = 1 << 20;

/// The divisors of the free space.
const OVERWRITE_PART: u64 = 8;
const LAP_PART: u64 = 16;
const TRANSFER_PART: u64 = 4;
/// The divisor of the free space on a file system that never overwrites in place.
const COPY_ON_WRITE_PART: u64 = 4;

/// File systems that never overwrite in place.
const COPY_ON_WRITE: [&str; 5] = ["btrfs", "zfs", "bcachefs", "f2fs", "nilfs2"];

/// True if the file system never overwrites in place.
pub(crate) fn is_copy_on_write(file_system: Option<&str>) -> bool {
    file_system.is_some_and(|name| COPY_ON_WRITE.contains(&name))
}

/// The sizes of the files, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// The file of written blocks.
    pub(crate) overwrite: u64,
    /// A lap of unwritten blocks, or of appending.
    pub(crate) lap: u64,
    /// The largest size of the sequential write's file.
    pub(crate) transfer: u64,
}

impl Sizes {
    /// The sizes for that free space, if it is known, and for the requested size of the sequential write's
    /// file; the reason if the space is too small to measure anything.
    pub(crate) fn of(
        directory: &Path,
        free_bytes: Option<u64>,
        copy_on_write: bool,
        transfer_bytes: u64,
    ) -> Result<Sizes, String> {
        let part = if copy_on_write { COPY_ON_WRITE_PART } else { 1 };
        let room = free_bytes.unwrap_or(u64::MAX) / part;
        let sizes = Sizes {
            overwrite: whole_megabytes(OVERWRITE_BYTES.min(room / OVERWRITE_PART)),
            lap: whole_megabytes(LAP_BYTES.min(room / LAP_PART)),
            transfer: whole_megabytes(transfer_bytes.min(room / TRANSFER_PART)),
        };
        if sizes.overwrite >= OVERWRITE_BYTES_MIN && sizes.lap >= LAP_BYTES_MIN {
            return Ok(sizes);
        }
        let needed = (OVERWRITE_BYTES_MIN * OVERWRITE_PART).max(LAP_BYTES_MIN * LAP_PART) * part;
        Err(format!(
            "only {} MiB are free in {}: a probe needs {} MiB",
            free_bytes.unwrap_or(0) >> 20,
            directory.display(),
            needed >> 20
        ))
    }

    /// The sizes with unlimited space.
    pub(crate) fn most(transfer_bytes: u64) -> Sizes {
        Sizes { overwrite: OVERWRITE_BYTES, lap: LAP_BYTES, transfer: transfer_bytes }
    }

    /// The space that they use together at one time.
    #[cfg(test)]
    fn space(&self) -> u64 {
        self.overwrite + 2 * self.lap + self.transfer
    }
}

fn whole_megabytes(bytes: u64) -> u64 {
    bytes >> 20 << 20
}

#[cfg(test)]
mod tests {
    use super::{Sizes, is_copy_on_write};
    use crate::plan::{LAP_BYTES, OVERWRITE_BYTES};
    use std::path::Path;

    fn sizes(free: u64, copy_on_write: bool) -> Result<Sizes, String> {
        Sizes::of(Path::new("/data"), Some(free), copy_on_write, 1 << 30)
    }

    // B.F15
    #[test]
    fn files_take_half_of_the_free_space_at_most_and_a_small_volume_still_gets_a_line() {
        for mib in [16, 50, 64, 200, 545, 1 << 10, 1 << 14] {
            let free = mib << 20;
            let plain = sizes(free, false).unwrap();
            assert!(plain.overwrite >= 2 << 20 && plain.lap >= 1 << 20);
            assert!(plain.space() <= free / 2, "{mib}: {plain:?}");
            if let Ok(elsewhere) = sizes(free, true) {
                assert!(elsewhere.space() <= free / 8, "{mib}: {elsewhere:?}");
            }
        }
        let small = sizes(15 << 20, false).unwrap_err();
        assert!(small.contains("only 15 MiB are free in /data: a probe needs 16 MiB"), "{small}");
        assert!(sizes(63 << 20, true).unwrap_err().contains("needs 64 MiB"));
        let large = sizes(1 << 40, false).unwrap();
        assert_eq!((large.overwrite, large.lap), (OVERWRITE_BYTES, LAP_BYTES));
    }

    // B.F15
    #[test]
    fn copy_on_write_file_systems_are_recognized() {
        assert!(is_copy_on_write(Some("btrfs")) && is_copy_on_write(Some("zfs")));
        assert!(!is_copy_on_write(Some("ext4")) && !is_copy_on_write(None));
    }
}
