//! The data file's own decoders under arbitrary bytes: a root, a map page, and the list of trees.

use super::map_page;
use super::root::read_block;
use super::root::{
    BLOCK_BYTES, BlockRead, Directory, FORMAT, Features, ROOT_BYTES, Root, slot_bytes,
};
use crate::access::btree::Tree;
use crate::access::btree::extents::ExtentPointer;
use crate::buffer::page_map::Entry;
use crate::fuzzing::{Input, with_a_bit_flipped};
use crate::ids::{Csn, DatabaseId, PageId, SlotId, TreeId};
use crate::tree_directory::TreeDirectory;
use std::sync::Arc;

const MAP_PAGE_BYTES: usize = 512;

/// A root: as given, and with magic, format and checksum corrected.
pub fn root(data: &[u8]) {
    let mut block = vec![0; BLOCK_BYTES];
    let bytes = &data[..data.len().min(ROOT_BYTES)];
    block[..bytes.len()].copy_from_slice(bytes);
    check_root(&block);
    block[..8].copy_from_slice(b"SYNCDAT1");
    block[12..16].copy_from_slice(&FORMAT.to_le_bytes());
    let crc = crc32c::crc32c(&block[12..ROOT_BYTES]);
    block[8..12].copy_from_slice(&crc.to_le_bytes());
    check_root(&block);
}

fn check_root(block: &[u8]) {
    let BlockRead::Sound(root) = read_block(block) else {
        return;
    };
    let again = read_block(&root.to_bytes());
    assert_eq!(again, BlockRead::Sound(root.clone()), "read, written, read");
    let flipped = with_a_bit_flipped(&block[..ROOT_BYTES], ROOT_BYTES);
    assert!(matches!(read_block(&flipped), BlockRead::Bad { .. }));
    // Sizes are small enough that their sums do not overflow.
    assert!(root.directory.slots(slot_bytes(root.page_bytes)) < 1 << 40);
    assert!(map_page::map_pages_for(root.next_page, slot_bytes(root.page_bytes)) < 1 << 40);
}

/// Roots as checkpoints write them.
pub(crate) fn root_seeds() -> Vec<Vec<u8>> {
    let root = |number: u64, page_bytes: u32| Root {
        format: FORMAT,
        features: Features::default(),
        database: DatabaseId([9; 16]),
        number,
        csn: Csn(34),
        next_page: PageId(56),
        page_bytes,
        meta: Vec::new(),
        pages: 50,
        image_bytes: 20_000,
        wall_ns: 78,
        directory: Directory { slot: SlotId(90), map_pages: 1, meta_bytes: 11, crc: 0xabcd },
        file_slots: 99,
        home: (number % 2) as u8,
    };
    [(1, 512), (2, 8192), (u64::MAX, 32_768)]
        .map(|(number, page_bytes)| root(number, page_bytes).to_bytes().to_vec())
        .to_vec()
}

/// A map page: as given, and with a valid checksum, under the entry that names it and under another.
pub fn map(data: &[u8]) {
    let mut page = vec![0; MAP_PAGE_BYTES];
    let bytes = &data[..data.len().min(MAP_PAGE_BYTES)];
    page[..bytes.len()].copy_from_slice(bytes);
    let mut input = Input(data);
    let index = u64::from(input.byte());
    let any = named(0);
    if let Ok(entries) = map_page::read(&page, FORMAT, index, any) {
        assert!(entries.count() as u64 <= map_page::entries_in(MAP_PAGE_BYTES as u64));
    }
    let index = u64::from_le_bytes(*page.first_chunk().expect("a page is longer"));
    page[16..20].fill(0);
    let crc = crc32c::crc32c(&page);
    page[16..20].copy_from_slice(&crc.to_le_bytes());
    let entry = named(crc);
    let entries: Vec<Entry> = match map_page::read(&page, FORMAT, index, entry) {
        Ok(entries) => entries.collect(),
        Err(what) => panic!("a valid map page is refused: {what}"),
    };
    let mut again = vec![0; MAP_PAGE_BYTES];
    let number = u64::from_le_bytes(*page[8..].first_chunk().expect("a page is longer"));
    let written = map_page::write(&mut again, index, number, entries.iter().copied());
    let reread: Vec<Entry> = match map_page::read(&again, FORMAT, index, named(written)) {
        Ok(reread) => reread.collect(),
        Err(what) => panic!("a written map page is refused: {what}"),
    };
    assert_eq!(reread, entries, "read, written, read");
    assert!(
        map_page::read(&page, FORMAT, index.wrapping_add(1), entry).is_err(),
        "its index is another one"
    );
    let flipped = with_a_bit_flipped(&page, MAP_PAGE_BYTES);
    assert!(map_page::read(&flipped, FORMAT, index, entry).is_err(), "a flipped bit is detected");
    assert!(
        map_page::read(&page, FORMAT, index, named(crc ^ 1)).is_err(),
        "the entry names another version"
    );
}

/// The entry of a map page with this checksum.
fn named(crc: u32) -> Entry {
    Entry { offset: 2_560, bytes: MAP_PAGE_BYTES as u32, crc, tree: TreeId(0) }
}

/// Map pages as checkpoints write them.
pub(crate) fn map_seeds() -> Vec<Vec<u8>> {
    [1, 20, map_page::entries_in(MAP_PAGE_BYTES as u64)]
        .map(|count| {
            let mut page = vec![0; MAP_PAGE_BYTES];
            let entries = (1..=count).map(|number| Entry {
                offset: number * 700,
                bytes: 300,
                crc: number as u32 * 77,
                tree: TreeId(number as u32),
            });
            map_page::write(&mut page, 3, 8, entries);
            page
        })
        .to_vec()
}

/// The list of trees that a checkpoint carries.
pub fn tree_directory(data: &[u8]) {
    let Ok(listed) = TreeDirectory::from_bytes(data) else {
        return;
    };
    let bytes = listed.tree_directory.snapshot().to_bytes(&listed.orphans);
    // A new database has no list at all.
    assert!(bytes == data || data.is_empty(), "a list has one form");
}

/// Lists as checkpoints write them.
pub(crate) fn tree_directory_seeds() -> Vec<Vec<u8>> {
    let trees = TreeDirectory::default();
    let empty = trees.snapshot().to_bytes(&[]);
    for (id, root) in [(1, 3), (2, 9), (7, 1 << 35)] {
        trees.add(Arc::new(Tree::existing(TreeId(id), PageId(root))));
    }
    let orphan = ExtentPointer::of(5_000, PageId(77)).to_value();
    vec![empty, trees.snapshot().to_bytes(&[]), trees.snapshot().to_bytes(&[orphan, orphan])]
}
