//! Keys: which integer a client's row gets, and back from the integer to the row.
//!
//! Invariants:
//! 1. Row `r` of client `c` of `n` has number `r * n + c`: no two rows of a run share one.
//! 2. A random key is that number through a permutation of 63 bits chosen by the seed, so keys are as
//!    distinct as numbers, not negative, and can be turned back.

use std::fmt;

/// Who chooses keys, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Ascending over all clients: everyone appends at one end.
    Ascending,
    /// Spread over 63 bits, reproducible from the seed.
    Random,
    /// Counted up by the store.
    Server,
}

impl Keys {
    /// Every choice.
    pub const ALL: [Keys; 3] = [Keys::Ascending, Keys::Random, Keys::Server];

    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            Keys::Ascending => "ascending",
            Keys::Random => "random",
            Keys::Server => "server",
        }
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

const BITS: u64 = (1 << 63) - 1;
const MULTIPLIER: u64 = 0x2545_f491_4f6c_dd1d;
const UNMULTIPLIER: u64 = inverse(MULTIPLIER);
const SHIFT: u32 = 32;

/// The key of a row's number.
#[inline]
pub(super) fn random_key(number: u64, seed: u64) -> i64 {
    let mut word = number & BITS;
    for round in 0..2 {
        word ^= seed.rotate_left(round * 29) & BITS;
        word ^= word >> SHIFT;
        word = word.wrapping_mul(MULTIPLIER) & BITS;
    }
    (word ^ (word >> SHIFT)) as i64
}

/// The row's number of a key; none if the key is negative, which no row's is.
pub(super) fn number_of(key: i64, seed: u64) -> Option<u64> {
    let mut word = u64::try_from(key).ok()?;
    word ^= word >> SHIFT;
    for round in [1, 0] {
        word = word.wrapping_mul(UNMULTIPLIER) & BITS;
        word ^= word >> SHIFT;
        word ^= seed.rotate_left(round * 29) & BITS;
    }
    Some(word)
}

/// The inverse of an odd number modulo a power of two, by Newton's method: each step doubles the
/// number of right bits.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut step = 0;
    while step < 6 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::{BITS, number_of, random_key};

    #[test]
    fn random_keys_turn_back_hence_are_distinct() {
        let mut numbers = fastrand::Rng::with_seed(1);
        let drawn = (0..20_000).map(|_| numbers.u64(..) & BITS);
        for number in (0..20_000).chain([BITS, BITS - 1]).chain(drawn) {
            for seed in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
                let key = random_key(number, seed);
                assert!(key >= 0);
                assert_eq!(number_of(key, seed), Some(number));
            }
        }
        assert_eq!(number_of(-1, 5), None);
    }

    #[test]
    fn random_keys_spread_evenly_and_follow_the_seed() {
        let mut buckets = [0_u32; 16];
        for number in 0..16_000 {
            buckets[(random_key(number, 42) >> 59) as usize] += 1;
        }
        assert!(buckets.iter().all(|count| (800..1200).contains(count)), "{buckets:?}");
        assert_ne!(random_key(1, 1), random_key(1, 2));
    }
}
