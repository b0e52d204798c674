//! The hash of a row's name: its tree and its key. It spreads rows over shards and buckets; equality is
//! always decided by the bytes. It does not defend against keys chosen to collide: those only make lookups of
//! old versions slow.

use crate::ids::TreeId;

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xd6e8_feb8_6659_fd93;

#[inline]
pub(super) fn hash(tree: TreeId, key: &[u8]) -> u64 {
    let mut sum = FIRST ^ (u64::from(tree.0) << 32 | key.len() as u64);
    let mut words = key.chunks_exact(8);
    for word in &mut words {
        sum = folded(sum ^ word_of(word), SECOND);
    }
    folded(sum ^ word_of(words.remainder()), FIRST)
}

/// Up to eight bytes as a number.
#[inline]
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Both halves of the product, mixed.
#[inline]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::hash;
    use crate::ids::TreeId;
    use std::collections::HashSet;

    #[test]
    fn neighbouring_names_spread_over_shards_and_buckets() {
        let mut shards = [0_u32; 64];
        let mut all = HashSet::new();
        for tree in 1..=4 {
            for key in 0..4096_u32 {
                let sum = hash(TreeId(tree), &key.to_be_bytes());
                shards[(sum >> 58) as usize] += 1;
                all.insert(sum);
            }
        }
        assert_eq!(all.len(), 4 * 4096);
        assert!(shards.iter().all(|&rows| (150..=370).contains(&rows)), "{shards:?}");
        assert_ne!(hash(TreeId(1), b"a"), hash(TreeId(1), b"a\0"));
    }
}
