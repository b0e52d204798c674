//! How much written data the page cache holds, from `/proc/vmstat`.

use crate::files::read_text;
use std::path::Path;

/// Data in the page cache that is not yet on a disk, of the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyMemory {
    /// Bytes that wait to be written.
    pub dirty_bytes: u64,
    /// Bytes that are being written.
    pub writeback_bytes: u64,
}

impl DirtyMemory {
    /// Reads the counts below `root`, which is `/` except in tests; none if the kernel does not report them.
    pub fn read(root: &Path) -> Option<DirtyMemory> {
        let text = read_text(&root.join("proc/vmstat"))?;
        let page_bytes = rustix::param::page_size() as u64;
        let bytes = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
            line.trim().parse::<u64>().ok()?.checked_mul(page_bytes)
        };
        Some(DirtyMemory {
            dirty_bytes: bytes("nr_dirty")?,
            writeback_bytes: bytes("nr_writeback")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::DirtyMemory;

    #[test]
    fn pages_are_counted_in_bytes_and_similar_names_are_not_confused() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(DirtyMemory::read(root.path()), None);
        std::fs::create_dir(root.path().join("proc")).unwrap();
        let text = "nr_dirty_threshold 9\nnr_dirty 3\nnr_writeback_temp 8\nnr_writeback 2\n";
        std::fs::write(root.path().join("proc/vmstat"), text).unwrap();
        let page = rustix::param::page_size() as u64;
        let expected = DirtyMemory { dirty_bytes: 3 * page, writeback_bytes: 2 * page };
        assert_eq!(DirtyMemory::read(root.path()), Some(expected));
    }
}
