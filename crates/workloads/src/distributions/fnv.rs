//! YCSB's hash of a number: FNV over eight octets, low first, each xored in and multiplied, then the absolute
//! value as a signed number.
//!
//! It turns numbers into keys ("user" and the hash) and scatters the scrambled distribution.

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 1_099_511_628_211;
const THIRD_POWER: u64 = PRIME.wrapping_pow(3);
const FIFTH_POWER: u64 = PRIME.wrapping_pow(5);

/// The hash; below 2^63, except for the one number whose absolute value is not.
///
/// Zero octets only multiply, so those above the fifth, and above the third, are combined into one product:
/// the hash is a chain in which every multiplication waits for the previous one.
#[inline]
pub(crate) fn fnv64(number: u64) -> u64 {
    let hash = if number < 1 << 24 {
        octets::<3>(number, OFFSET).wrapping_mul(FIFTH_POWER)
    } else if number < 1 << 40 {
        return fnv64_of_five(number);
    } else {
        octets::<8>(number, OFFSET)
    };
    (hash as i64).unsigned_abs()
}

/// The hash of a number below 2^40: for numbers that are randomly below or above 2^24, where a branch would
/// be mispredicted.
#[inline]
pub(crate) fn fnv64_of_five(number: u64) -> u64 {
    let hash = octets::<5>(number, OFFSET).wrapping_mul(THIRD_POWER);
    (hash as i64).unsigned_abs()
}

/// The hash after `COUNT` of the low octets.
#[inline]
fn octets<const COUNT: usize>(number: u64, mut hash: u64) -> u64 {
    for place in 0..COUNT {
        hash = (hash ^ ((number >> (8 * place)) & 0xff)).wrapping_mul(PRIME);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::{OFFSET, fnv64, fnv64_of_five, octets};

    #[test]
    fn the_shortcuts_equal_the_full_hash() {
        let mut words = fastrand::Rng::with_seed(1);
        for _ in 0..10_000 {
            let number = words.u64(..) >> words.u32(0..64);
            let long = (octets::<8>(number, OFFSET) as i64).unsigned_abs();
            assert_eq!(fnv64(number), long, "{number}");
            if number < 1 << 40 {
                assert_eq!(fnv64_of_five(number), long, "{number}");
            }
        }
    }

    #[test]
    fn numbers_hash_as_in_ycsb() {
        // "user6284781860667377211" and "user8517097267634966620" are the first keys of every load.
        assert_eq!(fnv64(0), 6_284_781_860_667_377_211);
        assert_eq!(fnv64(1), 8_517_097_267_634_966_620);
    }
}
