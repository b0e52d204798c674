//! Ids of inserted rows: each 32-bit number once, in a pseudo-random order.
//!
//! As in sysbench: quadratic residues modulo a prime that is 3 modulo 4, with one half negated, visit all
//! numbers below the prime once (Preshing, "How to Generate a Sequence of Unique Random Integers", 2012); the
//! few numbers from the prime on map to themselves.

/// The greatest prime below 2^32 that is 3 modulo 4.
const PRIME: u32 = 4_294_967_291;

/// A permutation of the 32-bit numbers.
fn permuted(number: u32) -> u32 {
    if number >= PRIME {
        return number;
    }
    let square = u64::from(number) * u64::from(number) % u64::from(PRIME);
    let residue = square as u32;
    if number <= PRIME / 2 { residue } else { PRIME - residue }
}

/// The id for a row's number; any 2^32 consecutive ones are distinct.
pub(super) fn id(number: u64) -> i64 {
    let once = permuted(number as u32).wrapping_add(0x5bf0_3635);
    i64::from(permuted(once ^ 0x4679_0905)) - (1 << 31)
}

#[cfg(test)]
mod tests {
    use super::{id, permuted};
    use std::collections::HashSet;

    #[test]
    fn ids_are_distinct_and_fit_an_integer_of_sql() {
        let ids: HashSet<i64> = (0..200_000).map(id).collect();
        assert_eq!(ids.len(), 200_000);
        let fits = |id: &i64| i32::try_from(*id).is_ok();
        assert!(ids.iter().all(fits));
        let below: usize = ids.iter().filter(|id| **id < 0).count();
        assert!((98_000..102_000).contains(&below), "{below}");
    }

    #[test]
    fn the_permutation_is_injective_at_its_boundaries() {
        let half = super::PRIME / 2;
        let near = (0..2_000).chain(half - 2_000..half + 2_000);
        let near = near.chain(super::PRIME - 2_000..=u32::MAX);
        let numbers: Vec<u32> = near.collect();
        let ids: HashSet<u32> = numbers.iter().map(|number| permuted(*number)).collect();
        assert_eq!(ids.len(), numbers.len());
    }
}
