//! Data files of small pages, their contents, and ways to change their bytes from outside.

use crate::buffer::page;
use crate::checkpoint::root::tests::refit;
use crate::checkpoint::root::{ROOT_BYTES, block_offset};
use crate::checkpoint::{Checkpoint, DataFile, DirtyPages, FileOptions, Progress, Work};
use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId, PageId, TreeId};
use std::path::Path;
use syncline_vfs::simulated::Metadata;
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk};

pub(super) const DATABASE: DatabaseId = DatabaseId([3; 16]);
pub(super) const FOREVER: Csn = Csn(u64::MAX);

pub(super) fn small() -> FileOptions {
    FileOptions { extent_bytes: 8 << 10, reserve_bytes: 0, ..FileOptions::default() }
}

pub(super) fn path() -> &'static Path {
    Path::new("data")
}

pub(super) fn simulated() -> SimulatedDisk {
    SimulatedDisk::new(1, Metadata::Strict)
}

/// A data file of small pages on a new disk.
pub(super) fn made() -> (SimulatedDisk, DataFile<SimulatedDisk>) {
    let disk = simulated();
    let file = DataFile::create(&disk, path(), DATABASE, 512, &small()).unwrap();
    disk.sync_directory(Path::new("")).unwrap();
    (disk, file)
}

/// Fills in a page's bytes, which depend on the page and on the time.
pub(super) fn image(page: PageId, time: u64, out: &mut [u8]) {
    out.fill((page.0 * 7 + time) as u8);
    out[..page::HEADER_BYTES].fill(0);
    page::label(out, page, TreeId(1), page::Kind::Leaf, 0);
}

/// The work of a checkpoint in which these pages changed; the time is the csn.
pub(super) fn work_of<D: Disk>(
    file: &DataFile<D>,
    dirty: impl IntoIterator<Item = u64>,
    time: u64,
) -> Work {
    let dirty: Vec<PageId> = dirty.into_iter().map(PageId).collect();
    let above = dirty.iter().map(|page| page.0 + 1).max().unwrap_or(1);
    Work {
        csn: Csn(time),
        next_page: PageId(above).max(file.root().next_page),
        dirty,
        meta: format!("meta at {time}").into_bytes(),
        ..Work::default()
    }
}

pub(super) fn step<D: Disk>(
    checkpoint: &mut Checkpoint,
    file: &mut DataFile<D>,
) -> Result<Progress> {
    checkpoint.step(file, &mut At(checkpoint.csn().0), FOREVER)
}

/// The pages of a snapshot at that time, written in their order.
pub(super) struct At(pub(super) u64);

impl DirtyPages for At {
    fn capture(&mut self, page: PageId, out: &mut Vec<u8>) -> Result<()> {
        image(page, self.0, out);
        Ok(())
    }

    fn first(&mut self) -> Option<PageId> {
        None
    }
}

pub(super) fn finish<D: Disk>(checkpoint: &mut Checkpoint, file: &mut DataFile<D>) {
    while step(checkpoint, file).unwrap() != Progress::Done {}
}

pub(super) fn checkpoint<D: Disk>(file: &mut DataFile<D>, work: Work) {
    let mut checkpoint = file.begin(work);
    finish(&mut checkpoint, file);
}

/// Checks the pages in the file, each as it was at its time, in the order of their ids.
pub(super) fn check<D: Disk>(file: &DataFile<D>, expected: &[(u64, u64)]) {
    let mut found = Vec::new();
    let mut expected_image = vec![0; file.root().page_bytes as usize];
    let sink = &mut |page: PageId, image: &[u8]| {
        found.push((page.0, image.to_vec()));
        Ok(())
    };
    file.load(sink).unwrap();
    found.sort();
    assert_eq!(found.len(), expected.len());
    assert_eq!(file.root().pages, expected.len() as u64);
    for ((page, bytes), (expected, time)) in found.iter().zip(expected) {
        assert_eq!(page, expected);
        image(PageId(*page), *time, &mut expected_image);
        assert_eq!(bytes[page::HEADER_BYTES..], expected_image[page::HEADER_BYTES..]);
        assert_eq!(file.read(PageId(*page)).unwrap(), *bytes);
    }
    assert_eq!(file.check().unwrap(), Vec::<String>::new());
}

pub(super) fn change(
    disk: &SimulatedDisk,
    offset: u64,
    change: impl FnOnce(&mut [u8; ROOT_BYTES]),
) {
    let file = disk.open(path(), OpenOptions::READ_WRITE).unwrap();
    let mut bytes = [0; ROOT_BYTES];
    file.read_at(&mut bytes, offset).unwrap();
    change(&mut bytes);
    file.write_at(&bytes, offset).unwrap();
    file.sync_all().unwrap();
}

/// Changes the root in both places that hold it.
pub(super) fn change_root(disk: &SimulatedDisk, home: u8, edit: impl Fn(&mut [u8; ROOT_BYTES])) {
    for block in [home, 2] {
        change(disk, block_offset(block), |bytes| {
            edit(bytes);
            refit(bytes);
        });
    }
}

pub(super) fn refusal(disk: &SimulatedDisk) -> Error {
    DataFile::open(disk, path(), &small()).unwrap_err()
}

pub(super) fn put(disk: &SimulatedDisk, bytes: &[u8]) {
    let file = disk.open(path(), OpenOptions::READ_WRITE).unwrap();
    file.write_at(bytes, 0).unwrap();
}
