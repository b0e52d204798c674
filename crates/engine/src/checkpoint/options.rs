//! The data file's options: each with its default, its limits and the reason for both.

use crate::checkpoint::image_writer::WRITE_BYTES_MAX;
use crate::error::{Result, check_option};

/// How a data file is used. None of this is stored in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileOptions {
    /// The largest growth step of the file: 4 KiB to 1 GiB, rounded up to whole pages. Default 64 MiB: growth
    /// is rare, and small compared with a busy store's writes. A file of less than 4 GiB grows in smaller
    /// steps (see `file_growth`), and a new one has 256 KiB if that is less. Small ones are for tests.
    pub(crate) extent_bytes: u64,
    /// The space kept free in addition to a checkpoint's own need, if the disk has it: up to 1 GiB, and no
    /// more than a small part of the file (see `file_growth`). Default 16 MiB: a checkpoint with that many
    /// bytes of changed pages still works when the disk is full.
    pub(crate) reserve_bytes: u64,
    /// Bypass the page cache, if pages have at least 4 KiB and the file system offers it. Default true: a
    /// checkpoint would otherwise evict what other programs have cached.
    pub(crate) direct: bool,
    /// The most bytes of images in one write, rounded up to whole pages. Default 256 KiB: few enough not to
    /// delay a commit's sync for long. Small ones are for tests.
    pub(crate) write_bytes_max: usize,
    /// Read only: nothing is written, not even to secure the root.
    pub(crate) read_only: bool,
}

impl Default for FileOptions {
    fn default() -> FileOptions {
        FileOptions {
            extent_bytes: 64 << 20,
            reserve_bytes: 16 << 20,
            direct: true,
            write_bytes_max: WRITE_BYTES_MAX,
            read_only: false,
        }
    }
}

impl FileOptions {
    /// Refuses values outside their limits.
    pub(crate) fn check(&self) -> Result<()> {
        check_extent(self.extent_bytes)?;
        check_option(
            self.reserve_bytes <= 1 << 30,
            "reserve_bytes",
            self.reserve_bytes,
            "it must be at most 1 GiB",
        )
    }
}

/// Refuses extents outside the limits: the file grows by at most one at a time.
pub(crate) fn check_extent(bytes: u64) -> Result<()> {
    check_option(
        (4 << 10..=1 << 30).contains(&bytes),
        "extent_bytes",
        bytes,
        "it must lie between 4 KiB and 1 GiB",
    )
}

/// Refuses a page size that no data file can have.
pub(super) fn check_page_bytes(page_bytes: u32) -> Result<()> {
    check_option(
        is_page_size(page_bytes),
        "page_bytes",
        page_bytes.into(),
        "it must be a power of two between 512 and 32768",
    )
}

/// True for valid page sizes.
pub(super) fn is_page_size(page_bytes: u32) -> bool {
    page_bytes.is_power_of_two() && (512..=32 << 10).contains(&page_bytes)
}

#[cfg(test)]
mod tests {
    use super::{FileOptions, check_page_bytes};
    use crate::error::Error;

    #[test]
    fn values_outside_their_limits_are_refused() {
        FileOptions::default().check().unwrap();
        let refused = |change: fn(&mut FileOptions)| {
            let mut options = FileOptions::default();
            change(&mut options);
            match options.check() {
                Err(Error::Option { option, .. }) => option,
                other => panic!("not refused: {other:?}"),
            }
        };
        assert_eq!(refused(|o| o.extent_bytes = 4095), "extent_bytes");
        assert_eq!(refused(|o| o.extent_bytes = 2 << 30), "extent_bytes");
        assert_eq!(refused(|o| o.reserve_bytes = 2 << 30), "reserve_bytes");
    }

    #[test]
    fn pages_have_512_bytes_to_32_kib() {
        for allowed in [512, 1024, 4096, 8192, 32_768] {
            check_page_bytes(allowed).unwrap();
        }
        for refused in [0, 256, 513, 6000, 65_536] {
            assert!(check_page_bytes(refused).is_err(), "{refused}");
        }
    }
}
