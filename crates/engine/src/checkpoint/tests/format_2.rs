//! Data files of format 2, whose map names no trees: they open, and the next checkpoint writes format 3.

use super::fixture::{check, checkpoint, made, path, small, work_of};
use crate::buffer::page_map::{ENTRY_BYTES, Entry};
use crate::checkpoint::DataFile;
use crate::checkpoint::map_page;
use crate::checkpoint::root::COPY_BLOCK;
use crate::ids::{PageId, TreeId};
use syncline_vfs::{Disk, File};

/// The entry as format 2 writes it.
fn entry_bytes(entry: Entry) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    bytes[..8].copy_from_slice(&entry.offset.to_le_bytes());
    bytes[8..12].copy_from_slice(&entry.bytes.to_le_bytes());
    bytes[12..].copy_from_slice(&entry.crc.to_le_bytes());
    bytes
}

/// Writes map, directory and root of a file at rest in format 2, in their places, and syncs them.
pub(in crate::checkpoint) fn downgrade<D: Disk>(
    mut file: DataFile<D>,
) -> Result<(), crate::error::Error> {
    let (slot_bytes, next) = (file.slot_bytes(), file.root.next_page);
    let in_map_page = map_page::entries_in(slot_bytes);
    let mut directory = Vec::new();
    for (index, named) in file.map_pages.clone().into_iter().enumerate() {
        let mut named = named;
        if !named.is_absent() {
            let mut bytes = syncline_vfs::AlignedBuffer::zeroed(slot_bytes as usize);
            let header = (index as u64, file.root.number);
            map_page::write(&mut bytes, header.0, header.1, std::iter::empty());
            let first = index as u64 * in_map_page + 1;
            let pages = first..(first + in_map_page).min(next.0);
            for (page, target) in pages.zip(bytes[32..].chunks_exact_mut(ENTRY_BYTES)) {
                target.copy_from_slice(&entry_bytes(file.map.get(PageId(page))));
            }
            bytes[16..20].fill(0);
            let crc = crc32c::crc32c(&bytes);
            bytes[16..20].copy_from_slice(&crc.to_le_bytes());
            file.write(&bytes, named.offset)?;
            named.crc = crc;
        }
        directory.extend_from_slice(&entry_bytes(named));
    }
    directory.extend_from_slice(&file.root.meta.clone());
    file.root.directory.crc = crc32c::crc32c(&directory);
    file.root.format = 2;
    let slots = file.root.directory.slots(slot_bytes);
    let mut image = syncline_vfs::AlignedBuffer::zeroed((slots * slot_bytes) as usize);
    image[..directory.len()].copy_from_slice(&directory);
    if slots > 0 {
        file.write(&image, file.offset(file.root.directory.slot))?;
    }
    let root = file.root.clone();
    for block in [root.home, COPY_BLOCK] {
        file.write_root(&root, block)?;
    }
    file.sync()?;
    Ok(file.io.sync_all()?)
}

#[test]
fn a_file_of_format_2_opens_and_is_of_format_3_after_the_next_checkpoint() {
    let (disk, mut file) = made();
    // More pages than a map page has entries.
    let work = work_of(&file, 1..=70, 1);
    checkpoint(&mut file, work);
    downgrade(file).unwrap();
    let old: Vec<_> = (1..=70).map(|page| (page, 1)).collect();
    let mut file = DataFile::open(&disk, path(), &small()).unwrap();
    assert_eq!(file.root().format, 2, "opening writes nothing but the root");
    check(&file, &old);
    assert_eq!(file.map.get(PageId(40)).tree, TreeId(1), "read from the page");
    let work = work_of(&file, [2], 2);
    checkpoint(&mut file, work);
    drop(file);
    let file = DataFile::open(&disk, path(), &small()).unwrap();
    assert_eq!(file.root().format, 3);
    let new: Vec<_> = (1..=70).map(|page| (page, if page == 2 { 2 } else { 1 })).collect();
    check(&file, &new);
    assert_eq!(file.map.get(PageId(40)).tree, TreeId(1), "read from the map");
}
