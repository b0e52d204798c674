//! A random permutation of the numbers from 0 to n-1 with random access: determines which customer placed a
//! loaded order.
//!
//! Applies a bijection on the next power of two repeatedly, until the result is below n; so every number
//! occurs once, and nothing is stored.

use crate::distributions::mixed;

/// Rounds of multiplying and folding; with fewer, the order is visibly regular.
const ROUNDS: u64 = 4;

/// The number at a position of the permutation selected by `of`.
pub(super) fn permuted(place: u64, count: u64, of: u64) -> u64 {
    let bits = u64::BITS - (count - 1).leading_zeros();
    let bits = bits.max(2);
    let mask = (1 << bits) - 1;
    let mut number = place;
    loop {
        for round in 0..ROUNDS {
            let key = mixed(of * ROUNDS + round + 1);
            number = number.wrapping_mul(key | 1).wrapping_add(key >> 32) & mask;
            number ^= number >> (bits / 2);
        }
        if number < count {
            return number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::permuted;

    #[test]
    fn every_permutation_has_each_number_once_in_a_different_order() {
        for count in [1, 2, 10, 30, 3_000, 4_096] {
            let order =
                |of| -> Vec<u64> { (0..count).map(|place| permuted(place, count, of)).collect() };
            let mut sorted = order(7);
            sorted.sort_unstable();
            assert_eq!(sorted, (0..count).collect::<Vec<_>>());
            if count > 10 {
                assert_ne!(order(7), order(8));
                let follow = order(7).windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
                assert!(follow as u64 <= count / 10 + 3, "{follow} of {count} follow each other");
            }
        }
    }
}
