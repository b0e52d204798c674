//! A root: the entry point to the state of one checkpoint, in 512 bytes of a block of its own.
//!
//! Blocks of 4 KiB begin at bytes 0, 8192 and 16384 of the file; slots begin at byte 32768. Roots
//! alternate between the first two; the third holds the copy that opening makes. Little endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | magic `SYNCDAT1` |
//! | 8 | 4 | CRC32C of bytes 12 to 512 |
//! | 12 | 4 | format, 3; or 2, see [`super::page_map`] |
//! | 16 | 8 | features that any program may ignore |
//! | 24 | 8 | features that a program must know to write |
//! | 32 | 8 | features that a program must know to read |
//! | 40 | 16 | database id |
//! | 56 | 8 | number of the checkpoint, from 1 |
//! | 64 | 8 | csn: the last commit in the pages |
//! | 72 | 8 | next page id |
//! | 80 | 4 | page bytes |
//! | 84 | 4 | CRC32C of the directory and the metadata |
//! | 88 | 8 | first slot of the directory, 0 if it is empty |
//! | 96 | 8 | map pages: entries of 16 bytes in the directory |
//! | 104 | 8 | bytes of the metadata, which follows those entries |
//! | 112 | 8 | slots in the file, including those before byte 32768; allocated and synced |
//! | 120 | 8 | pages in the map |
//! | 128 | 8 | wall clock, ns since 1970 |
//! | 136 | 1 | block that this root belongs to, 0 or 1 |
//! | 137 | 7 | zero |
//! | 144 | 8 | bytes of the images of all pages |
//! | 152 | 360 | zero |
//!
//! Invariants:
//! 1. A block is written as a whole and nothing else lies within 4 KiB of it, so a torn write of one block
//!    damages no other.
//! 2. Magic, checksum and format keep their positions in every later format.

use crate::buffer::extent::EXTENT_IMAGE_BYTES_MAX;
use crate::buffer::page::{u32_at, u64_at};
use crate::buffer::page_map::ENTRY_BYTES;
use crate::checkpoint::options::is_page_size;
use crate::ids::{Csn, DatabaseId, PageId, SlotId};

/// Bytes of a root.
pub(super) const ROOT_BYTES: usize = 512;

/// Bytes of a block: one write of a root.
pub(super) const BLOCK_BYTES: usize = 4096;

/// The number of root blocks.
pub(super) const BLOCKS: usize = 3;

/// The block that opening copies the root to.
pub(super) const COPY_BLOCK: u8 = 2;

const SLOT_BYTES_MAX: u32 = 4096;

/// Where slots begin, in bytes: slot 0 never holds a page.
pub(super) const SLOTS_FROM_BYTES: u64 = 32 << 10;

/// The format that checkpoints write.
pub(super) const FORMAT: u32 = 3;

/// The first format whose long values lie in extents.
pub(crate) const FORMAT_OF_EXTENTS: u32 = 3;

/// The earliest format that can be opened.
pub(super) const FORMAT_MIN: u32 = 2;

const MAGIC: [u8; 8] = *b"SYNCDAT1";
const BLOCK_STRIDE_BYTES: u64 = 8 << 10;

/// Feature bits, in three classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    /// Any program may ignore these.
    pub(crate) compatible: u64,
    /// A program that does not know these may only read.
    pub(crate) read_only: u64,
    /// A program that does not know these must leave the file alone.
    pub(crate) incompatible: u64,
}

impl Features {
    /// The features that this program knows: none is in use yet.
    pub(super) const KNOWN: Features = Features { compatible: 0, read_only: 0, incompatible: 0 };
}

/// A decoded root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    /// The format of the map that it names, and of the long values in its pages.
    pub(crate) format: u32,
    pub(crate) features: Features,
    pub(crate) database: DatabaseId,
    /// The checkpoint's number; 1 is the empty state.
    pub(crate) number: u64,
    /// The last commit in the pages.
    pub(crate) csn: Csn,
    /// All page ids are below this one.
    pub(crate) next_page: PageId,
    pub(crate) page_bytes: u32,
    /// The metadata of the checkpoint's caller.
    pub(crate) meta: Vec<u8>,
    /// Pages in the map.
    pub(crate) pages: u64,
    /// The sum of the lengths of their images.
    pub(crate) image_bytes: u64,
    pub(crate) wall_ns: u64,
    pub(super) directory: Directory,
    pub(super) file_slots: u64,
    /// The block that it belongs to, 0 or 1.
    pub(super) home: u8,
}

/// The location of the directory, and its checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) slot: SlotId,
    pub(super) map_pages: u64,
    pub(super) meta_bytes: u64,
    pub(super) crc: u32,
}

impl Directory {
    /// Its bytes, including the metadata.
    pub(super) fn bytes(&self) -> u64 {
        self.map_pages * ENTRY_BYTES as u64 + self.meta_bytes
    }

    /// The slots that it fills.
    pub(super) fn slots(&self, slot_bytes: u64) -> u64 {
        self.bytes().div_ceil(slot_bytes)
    }
}

/// Bytes of a slot in a file with such pages: the unit that is written or left alone as a whole. It is never
/// larger than any device's atomic write.
pub(super) fn slot_bytes(page_bytes: u32) -> u64 {
    page_bytes.min(SLOT_BYTES_MAX).into()
}

/// Where a block begins, in bytes.
pub(super) fn block_offset(block: u8) -> u64 {
    u64::from(block) * BLOCK_STRIDE_BYTES
}

impl Root {
    /// The root as bytes, without the metadata, which lies with the directory.
    pub(super) fn to_bytes(&self) -> [u8; ROOT_BYTES] {
        let mut bytes = [0; ROOT_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[12..16].copy_from_slice(&self.format.to_le_bytes());
        bytes[40..56].copy_from_slice(&self.database.0);
        bytes[80..84].copy_from_slice(&self.page_bytes.to_le_bytes());
        bytes[84..88].copy_from_slice(&self.directory.crc.to_le_bytes());
        bytes[136] = self.home;
        for (at, value) in [
            (16, self.features.compatible),
            (24, self.features.read_only),
            (32, self.features.incompatible),
            (56, self.number),
            (64, self.csn.0),
            (72, self.next_page.0),
            (88, self.directory.slot.0),
            (96, self.directory.map_pages),
            (104, self.directory.meta_bytes),
            (112, self.file_slots),
            (120, self.pages),
            (128, self.wall_ns),
            (144, self.image_bytes),
        ] {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let crc = crc32c::crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
}

/// The result of reading a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlockRead {
    /// Only zeros: never written.
    Blank,
    /// Torn while it was written, or damaged.
    Bad {
        /// The block begins with the magic of a root.
        has_magic: bool,
    },
    /// A root of a later format.
    Newer(u32),
    /// A root of an earlier format.
    Older(u32),
    /// A root whose metadata has not been read yet.
    Sound(Root),
}

/// Reads a block's first [`ROOT_BYTES`] bytes.
pub(super) fn read_block(bytes: &[u8]) -> BlockRead {
    let bytes = &bytes[..ROOT_BYTES];
    if bytes.iter().all(|&byte| byte == 0) {
        return BlockRead::Blank;
    }
    let has_magic = bytes[..8] == MAGIC;
    if !has_magic || crc32c::crc32c(&bytes[12..]) != u32_at(bytes, 8) {
        return BlockRead::Bad { has_magic };
    }
    let format = u32_at(bytes, 12);
    if format > FORMAT {
        return BlockRead::Newer(format);
    }
    if format < FORMAT_MIN {
        return BlockRead::Older(format);
    }
    let root = decode(bytes);
    if is_sensible(&root) { BlockRead::Sound(root) } else { BlockRead::Bad { has_magic } }
}

fn decode(bytes: &[u8]) -> Root {
    let mut database = [0; 16];
    database.copy_from_slice(&bytes[40..56]);
    Root {
        format: u32_at(bytes, 12),
        features: Features {
            compatible: u64_at(bytes, 16),
            read_only: u64_at(bytes, 24),
            incompatible: u64_at(bytes, 32),
        },
        database: DatabaseId(database),
        number: u64_at(bytes, 56),
        csn: Csn(u64_at(bytes, 64)),
        next_page: PageId(u64_at(bytes, 72)),
        page_bytes: u32_at(bytes, 80),
        meta: Vec::new(),
        pages: u64_at(bytes, 120),
        image_bytes: u64_at(bytes, 144),
        wall_ns: u64_at(bytes, 128),
        directory: Directory {
            slot: SlotId(u64_at(bytes, 88)),
            map_pages: u64_at(bytes, 96),
            meta_bytes: u64_at(bytes, 104),
            crc: u32_at(bytes, 84),
        },
        file_slots: u64_at(bytes, 112),
        home: bytes[136],
    }
}

/// Checks values and sizes that reading relies on. A root that fails was written by a program with a bug, or
/// damaged in a way that its checksum does not show.
fn is_sensible(root: &Root) -> bool {
    let limit = 1 << 40;
    is_page_size(root.page_bytes)
        && root.home < COPY_BLOCK
        && root.number > 0
        && (1..=limit).contains(&root.next_page.0)
        && root.file_slots <= limit
        && root.directory.slot.0 < limit
        && root.directory.map_pages < limit
        && root.directory.meta_bytes < limit
        && root.pages < limit
        && root.image_bytes <= root.pages * EXTENT_IMAGE_BYTES_MAX
}

#[cfg(test)]
pub(super) mod tests {
    use super::{BLOCK_BYTES, BLOCKS, SLOTS_FROM_BYTES};
    use super::{
        BlockRead, Directory, FORMAT, Features, ROOT_BYTES, Root, block_offset, read_block,
    };
    use crate::ids::{Csn, DatabaseId, PageId, SlotId};

    pub(in crate::checkpoint) fn root() -> Root {
        Root {
            format: FORMAT,
            features: Features { compatible: 1, read_only: 2, incompatible: 3 },
            database: DatabaseId([9; 16]),
            number: 12,
            csn: Csn(34),
            next_page: PageId(56),
            page_bytes: 8192,
            meta: Vec::new(),
            pages: 50,
            image_bytes: 300_000,
            wall_ns: 78,
            directory: Directory { slot: SlotId(90), map_pages: 1, meta_bytes: 11, crc: 0xabcd },
            file_slots: 99,
            home: 1,
        }
    }

    /// Recomputes the checksum of changed bytes.
    pub(in crate::checkpoint) fn refit(bytes: &mut [u8]) {
        let crc = crc32c::crc32c(&bytes[12..ROOT_BYTES]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    }

    #[test]
    fn a_root_reads_back_and_every_flipped_bit_is_detected() {
        let mut bytes = root().to_bytes();
        assert_eq!(read_block(&bytes), BlockRead::Sound(root()));
        for bit in 0..ROOT_BYTES * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let has_magic = bit / 8 >= 8;
            assert_eq!(read_block(&bytes), BlockRead::Bad { has_magic }, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn zeros_are_blank_and_a_later_format_is_named() {
        assert_eq!(read_block(&[0; ROOT_BYTES]), BlockRead::Blank);
        let mut bytes = root().to_bytes();
        bytes[12] = 7;
        refit(&mut bytes);
        assert_eq!(read_block(&bytes), BlockRead::Newer(7));
    }

    #[test]
    fn a_root_with_impossible_sizes_is_refused() {
        for change in [
            |root: &mut Root| root.page_bytes = 1000,
            |root: &mut Root| root.home = 2,
            |root: &mut Root| root.number = 0,
            |root: &mut Root| root.next_page = PageId(0),
            |root: &mut Root| root.directory.map_pages = u64::MAX / 8,
        ] {
            let mut root = root();
            change(&mut root);
            let read = read_block(&root.to_bytes());
            assert_eq!(read, BlockRead::Bad { has_magic: true }, "{root:?}");
        }
    }

    #[test]
    fn blocks_do_not_touch_and_precede_the_slots() {
        for block in 1..BLOCKS as u8 {
            let gap = block_offset(block) - block_offset(block - 1);
            assert!(gap >= BLOCK_BYTES as u64 + 4096);
        }
        assert!(block_offset(BLOCKS as u8) <= SLOTS_FROM_BYTES);
    }
}
