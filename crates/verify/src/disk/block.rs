//! Self-describing blocks: a lost, stale, torn or misplaced block can be recognized.
//!
//! Numbers are little-endian. The filling is pseudo-random, seeded with run and sequence, so that no two
//! sectors are alike.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | `SYNCBLK1` |
//! | 8 | 4 | CRC32C of the block, with these four bytes zero |
//! | 12 | 4 | length of the block |
//! | 16 | 16 | run |
//! | 32 | 8 | sequence, from 0 |
//! | 40 | 8 | offset in the file |
//! | 48 | 8 | wall clock time when the block was made, ns since 1970 |
//! | 56 | 8 | 0 for a tested block, 1 for a control |
//! | 64 | | filling |

use syncline_vfs::AlignedBuffer;

/// The smallest block: the least that a device writes atomically.
pub(super) const BLOCK_BYTES_MIN: u32 = 512;

/// The largest block.
pub(super) const BLOCK_BYTES_MAX: u32 = 1 << 20;

const MAGIC: &[u8; 8] = b"SYNCBLK1";
const CHECKSUM: std::ops::Range<usize> = 8..12;
const HEAD_BYTES: usize = 64;

/// Which file a block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Synced, then promised.
    Tested,
    /// Never synced; a cut should lose it.
    Control,
}

/// The identity that a block's head stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) run: u128,
    pub(super) sequence: u64,
    pub(super) offset: u64,
    pub(super) time_ns: u64,
    pub(super) role: Role,
}

/// The state of a block's place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    /// Nothing but zeros, or beyond the end of the file.
    Nothing,
    /// A whole block, with its checksum.
    Whole(Label, u32),
    /// Bytes that are not a whole block.
    Torn,
    /// The device failed the read.
    Unreadable,
}

/// Fills a buffer with a block and returns its checksum.
pub(super) fn seal(label: Label, block: &mut AlignedBuffer) -> u32 {
    let bytes = block.len();
    assert!(bytes >= BLOCK_BYTES_MIN as usize, "a block is at least as long as its head");
    let mut random = fastrand::Rng::with_seed(label.run as u64 ^ label.sequence.rotate_left(32));
    random.fill(&mut block[HEAD_BYTES..]);
    block[..8].copy_from_slice(MAGIC);
    block[CHECKSUM].fill(0);
    block[12..16].copy_from_slice(&(bytes as u32).to_le_bytes());
    block[16..32].copy_from_slice(&label.run.to_le_bytes());
    block[32..40].copy_from_slice(&label.sequence.to_le_bytes());
    block[40..48].copy_from_slice(&label.offset.to_le_bytes());
    block[48..56].copy_from_slice(&label.time_ns.to_le_bytes());
    let role = u64::from(label.role == Role::Control);
    block[56..64].copy_from_slice(&role.to_le_bytes());
    let checksum = crc32c::crc32c(block);
    block[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// Classifies the bytes at a block's place. Accepts any bytes.
pub(super) fn open(block: &[u8]) -> BlockState {
    if block.iter().all(|byte| *byte == 0) {
        return BlockState::Nothing;
    }
    if block.len() < HEAD_BYTES || !block.starts_with(MAGIC) {
        return BlockState::Torn;
    }
    let checksum = number(&block[CHECKSUM]) as u32;
    let before = crc32c::crc32c(&block[..CHECKSUM.start]);
    let zeros = crc32c::crc32c_append(before, &[0; 4]);
    let is_whole = crc32c::crc32c_append(zeros, &block[CHECKSUM.end..]) == checksum;
    if !is_whole || number(&block[12..16]) != block.len() as u64 {
        return BlockState::Torn;
    }
    let role = match number(&block[56..64]) {
        0 => Role::Tested,
        1 => Role::Control,
        _ => return BlockState::Torn,
    };
    let run = u128::from(number(&block[16..24])) | u128::from(number(&block[24..32])) << 64;
    let label = Label {
        run,
        sequence: number(&block[32..40]),
        offset: number(&block[40..48]),
        time_ns: number(&block[48..56]),
        role,
    };
    BlockState::Whole(label, checksum)
}

/// Decodes up to eight little-endian bytes.
fn number(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(whole)
}

#[cfg(test)]
mod tests {
    use super::{BlockState, Label, Role, open, seal};
    use syncline_vfs::AlignedBuffer;

    fn label(sequence: u64) -> Label {
        Label {
            run: 0x0123_4567_89ab_cdef_0011_2233_4455_6677,
            sequence,
            offset: sequence * 4096,
            time_ns: 17,
            role: Role::Tested,
        }
    }

    #[test]
    fn a_block_reads_back_and_any_changed_byte_tears_it() {
        for bytes in [512, 4096] {
            let mut block = AlignedBuffer::zeroed(bytes);
            let checksum = seal(label(9), &mut block);
            assert_eq!(open(&block), BlockState::Whole(label(9), checksum));
            for at in (0..bytes).step_by(7) {
                block[at] ^= 0x40;
                assert_eq!(open(&block), BlockState::Torn, "byte {at}");
                block[at] ^= 0x40;
            }
            assert_eq!(open(&block[..bytes - 1]), BlockState::Torn);
        }
    }

    #[test]
    fn mixed_sectors_of_two_blocks_are_torn() {
        let (mut old, mut new) = (AlignedBuffer::zeroed(1024), AlignedBuffer::zeroed(1024));
        seal(label(1), &mut old);
        seal(label(2), &mut new);
        new[512..].copy_from_slice(&old[512..]);
        assert_eq!(open(&new), BlockState::Torn);
        assert_ne!(new[..512], old[..512]);
    }

    #[test]
    fn any_bytes_are_accepted() {
        assert_eq!(open(&[]), BlockState::Nothing);
        assert_eq!(open(&[0; 512]), BlockState::Nothing);
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..2000 {
            let mut bytes = vec![0; random.usize(1..700)];
            random.fill(&mut bytes);
            if random.bool() && bytes.len() > 8 {
                bytes[..8].copy_from_slice(b"SYNCBLK1");
            }
            assert!(matches!(open(&bytes), BlockState::Torn | BlockState::Nothing));
        }
    }
}
