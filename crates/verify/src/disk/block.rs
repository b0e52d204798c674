//! A block that says what it is, so that a lost, old, torn or misplaced one is seen.
//!
//! Numbers are little-endian. The filling is drawn from run and sequence, so that every sector of every
//! block is unlike all others.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | `SYNCBLK1` |
//! | 8 | 4 | CRC32C of the block, with these four bytes zero |
//! | 12 | 4 | length of the block |
//! | 16 | 16 | run |
//! | 32 | 8 | sequence, from 0 |
//! | 40 | 8 | offset in the file |
//! | 48 | 8 | wall clock time when it was made, ns since 1970 |
//! | 56 | 8 | 0 a tested block, 1 a control |
//! | 64 | | filling |

use syncline_vfs::AlignedBuffer;

/// The smallest block: the least that devices write whole.
pub(super) const BLOCK_BYTES_MIN: u32 = 512;

/// The largest.
pub(super) const BLOCK_BYTES_MAX: u32 = 1 << 20;

const MAGIC: &[u8; 8] = b"SYNCBLK1";
const CHECKSUM: std::ops::Range<usize> = 8..12;
const HEAD_BYTES: usize = 64;

/// Which file a block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Made stable, then promised.
    Tested,
    /// Never synced: what a cut should take.
    Control,
}

/// What a block says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) run: u128,
    pub(super) sequence: u64,
    pub(super) offset: u64,
    pub(super) time_ns: u64,
    pub(super) role: Role,
}

/// What was found where a block should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing but zeros, or beyond the end of the file.
    Nothing,
    /// A whole block, with its checksum.
    Whole(Label, u32),
    /// Bytes that are no whole block.
    Torn,
    /// The device refused to read it.
    Unreadable,
}

/// Fills a buffer with a block; its checksum.
pub(super) fn seal(label: Label, block: &mut AlignedBuffer) -> u32 {
    let bytes = block.len();
    assert!(bytes >= BLOCK_BYTES_MIN as usize, "a block has room for its head");
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

/// What bytes say that they are. Any bytes are taken.
pub(super) fn open(block: &[u8]) -> Found {
    if block.iter().all(|byte| *byte == 0) {
        return Found::Nothing;
    }
    if block.len() < HEAD_BYTES || !block.starts_with(MAGIC) {
        return Found::Torn;
    }
    let checksum = number(&block[CHECKSUM]) as u32;
    let before = crc32c::crc32c(&block[..CHECKSUM.start]);
    let zeros = crc32c::crc32c_append(before, &[0; 4]);
    let is_whole = crc32c::crc32c_append(zeros, &block[CHECKSUM.end..]) == checksum;
    if !is_whole || number(&block[12..16]) != block.len() as u64 {
        return Found::Torn;
    }
    let role = match number(&block[56..64]) {
        0 => Role::Tested,
        1 => Role::Control,
        _ => return Found::Torn,
    };
    let run = u128::from(number(&block[16..24])) | u128::from(number(&block[24..32])) << 64;
    let label = Label {
        run,
        sequence: number(&block[32..40]),
        offset: number(&block[40..48]),
        time_ns: number(&block[48..56]),
        role,
    };
    Found::Whole(label, checksum)
}

/// Up to eight little-endian bytes.
fn number(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(whole)
}

#[cfg(test)]
mod tests {
    use super::{Found, Label, Role, open, seal};
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
    fn a_block_says_what_it_is_and_any_change_tears_it() {
        for bytes in [512, 4096] {
            let mut block = AlignedBuffer::zeroed(bytes);
            let checksum = seal(label(9), &mut block);
            assert_eq!(open(&block), Found::Whole(label(9), checksum));
            for at in (0..bytes).step_by(7) {
                block[at] ^= 0x40;
                assert_eq!(open(&block), Found::Torn, "byte {at}");
                block[at] ^= 0x40;
            }
            assert_eq!(open(&block[..bytes - 1]), Found::Torn);
        }
    }

    #[test]
    fn sectors_of_two_blocks_are_no_block() {
        let (mut old, mut new) = (AlignedBuffer::zeroed(1024), AlignedBuffer::zeroed(1024));
        seal(label(1), &mut old);
        seal(label(2), &mut new);
        new[512..].copy_from_slice(&old[512..]);
        assert_eq!(open(&new), Found::Torn);
        assert_ne!(new[..512], old[..512]);
    }

    #[test]
    fn any_bytes_are_taken() {
        assert_eq!(open(&[]), Found::Nothing);
        assert_eq!(open(&[0; 512]), Found::Nothing);
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..2000 {
            let mut bytes = vec![0; random.usize(1..700)];
            random.fill(&mut bytes);
            if random.bool() && bytes.len() > 8 {
                bytes[..8].copy_from_slice(b"SYNCBLK1");
            }
            assert!(matches!(open(&bytes), Found::Torn | Found::Nothing));
        }
    }
}
