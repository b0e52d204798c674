//! The two hashes of an integer with a seed: FNV-1a over its eight bytes, and 64-bit `MurmurHash2`.

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

const MURMUR_FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
const MURMUR_SHIFT: u32 = 47;

/// FNV-1a, lowest byte first, with the seed mixed into the basis.
pub(super) fn fnv1a(value: i64, seed: i64) -> i64 {
    let basis = FNV_BASIS ^ seed as u64;
    let bytes = value.to_le_bytes().into_iter();
    bytes.fold(basis, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)) as i64
}

/// `MurmurHash2` of one word; its length of eight bytes is mixed into the seed.
pub(super) fn murmur2(value: i64, seed: i64) -> i64 {
    let folded = |word: u64| word ^ (word >> MURMUR_SHIFT);
    let word = folded((value as u64).wrapping_mul(MURMUR_FACTOR)).wrapping_mul(MURMUR_FACTOR);
    let seeded = seed as u64 ^ MURMUR_FACTOR.wrapping_mul(8);
    let mixed = (seeded ^ word).wrapping_mul(MURMUR_FACTOR);
    folded(folded(mixed).wrapping_mul(MURMUR_FACTOR)) as i64
}

#[cfg(test)]
mod tests {
    use super::{fnv1a, murmur2};

    #[test]
    fn hashes_match_those_of_pgbench() {
        assert_eq!(murmur2(10, 5432), -5_817_877_081_768_721_676);
        assert_eq!(murmur2(-1, 0), 4_219_408_603_045_787_357);
        assert_eq!(murmur2(2, 0), -4_083_905_729_319_787_502);
        assert_eq!(fnv1a(10, 5432), -7_793_829_335_365_542_153);
        assert_eq!(fnv1a(-1, 0), -8_289_690_350_564_177_859);
    }
}
