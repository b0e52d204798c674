//! A permutation of the numbers below a size, selected by a seed.
//!
//! Six rounds of bijections, each with random numbers from the seed (xoroshiro128**, initialized by
//! splitmix64): numbers up to the largest power of two that fits are multiplied by an odd number, xored with
//! another and rotated by one bit, first at the low end of the range, then at its high end; then all are
//! shifted cyclically through the range.

const ROUNDS: usize = 6;

/// The permuted value; values outside are first taken modulo the size, as unsigned numbers. The size is at
/// least 1.
pub(super) fn permuted(value: i64, size: i64, seed: i64) -> i64 {
    let size = size as u64;
    if size < 2 {
        return 0;
    }
    let half = Half::of(size);
    let mut random = Xoroshiro::new(seed as u64);
    let mut place = value as u64 % size;
    for _ in 0..ROUNDS {
        place = half.scrambled(place, &mut random);
        place = size - 1 - half.scrambled(size - 1 - place, &mut random);
        let step = random.below(size);
        // Both are below the size, which is at most 2^63, so the sum does not overflow.
        place = (place + step) % size;
    }
    place as i64
}

/// The numbers below the largest power of two that does not exceed the size.
#[derive(Clone, Copy, Debug)]
struct Half {
    bits: u32,
    mask: u64,
}

impl Half {
    fn of(size: u64) -> Half {
        let bits = size.ilog2();
        Half { bits, mask: (1 << bits) - 1 }
    }

    /// Scrambles a number of the half; others stay. Uses two random numbers either way.
    fn scrambled(self, number: u64, random: &mut Xoroshiro) -> u64 {
        let factor = (random.word() & self.mask) | 1;
        let flips = random.word() & self.mask;
        if number > self.mask {
            return number;
        }
        let mixed = (number.wrapping_mul(factor) ^ flips) & self.mask;
        ((mixed << 1) & self.mask) | (mixed >> (self.bits - 1))
    }
}

/// The generator xoroshiro128**.
#[derive(Clone, Debug)]
struct Xoroshiro(u64, u64);

impl Xoroshiro {
    fn new(mut seed: u64) -> Xoroshiro {
        let (first, second) = (split_mix(&mut seed), split_mix(&mut seed));
        if first == 0 && second == 0 {
            // All zero would stay zero; no 64-bit seed is known to lead here.
            return Xoroshiro(0x5851_f42d_4c95_7f2d, 0x1405_7b7e_f767_814f);
        }
        Xoroshiro(first, second)
    }

    fn word(&mut self) -> u64 {
        let Xoroshiro(first, second) = *self;
        let crossed = first ^ second;
        self.0 = first.rotate_left(24) ^ crossed ^ (crossed << 16);
        self.1 = crossed.rotate_left(37);
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// A number below a limit of at least 2: takes as many high bits as needed, until the value fits.
    fn below(&mut self, limit: u64) -> u64 {
        let shift = (limit - 1).leading_zeros();
        loop {
            let value = self.word() >> shift;
            if value < limit {
                return value;
            }
        }
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::permuted;

    #[test]
    fn positions_match_those_of_pgbench() {
        assert_eq!(permuted(0, 4, 5432), 3);
        assert_eq!(permuted(10, 10, 5), 6);
        assert_eq!(permuted(-5, 10, 1), 6);
        let most = i64::MAX;
        assert_eq!(permuted(most - 1, most, 11), 9_063_078_284_338_307_097);
        assert_eq!(permuted(7, 1, 3), 0);
    }

    #[test]
    fn every_size_gives_a_permutation() {
        for size in [2, 3, 4, 5, 31, 32, 33, 1000] {
            for seed in 0..20 {
                let mut places: Vec<_> = (0..size).map(|at| permuted(at, size, seed)).collect();
                places.sort_unstable();
                assert!(places.into_iter().eq(0..size), "size {size}, seed {seed}");
            }
        }
    }
}
