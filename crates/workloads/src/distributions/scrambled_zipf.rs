//! Scrambled Zipf as in YCSB: hot keys are scattered, and their heat does not depend on the number of keys.
//!
//! The draw is over 10^10 virtual items with the stored sum 26.46902820178302, then hashed by FNV, then taken
//! modulo the number of keys. So the hottest key gets `1 / 26.469 = 3.78 %` of the draws and the second 1.90
//! %, whatever the number of keys; this is not Zipf over the keys.

use super::fnv::fnv64_of_five;
use super::gray_zipf::Gray;
use super::stream::Stream;

/// The virtual items.
const ITEMS: u64 = 10_000_000_000;
const _: () = assert!(ITEMS <= 1 << 40);
/// The exponent for which the sum is stored.
const THETA: f64 = 0.99;
/// The sum of the virtual items' shares.
const SUM: f64 = 26.469_028_201_783_02;

/// Scrambled Zipf over a number of keys.
///
/// A draw is a dependency chain of about 130 cycles, and so is the work on its key. So each half is computed
/// one draw ahead, and the processor overlaps them.
#[derive(Clone, Debug)]
pub(crate) struct Scrambled {
    gray: Gray,
    keys: u64,
    ahead: Option<NextDraw>,
}

/// The values computed ahead.
#[derive(Clone, Copy, Debug)]
struct NextDraw {
    /// The next key's number.
    number: u64,
    /// The virtual item of the key after that.
    item: u64,
}

impl Scrambled {
    /// Over at least one key; 0.99 is YCSB's exponent.
    pub(crate) fn new(keys: u64, theta: f64) -> Scrambled {
        assert!(keys > 0, "there must be a key");
        let is_stored = (theta - THETA).abs() < 1e-12;
        let gray =
            if is_stored { Gray::with_sum(ITEMS, THETA, SUM) } else { Gray::new(ITEMS, theta) };
        Scrambled { gray, keys, ahead: None }
    }

    /// A key's number.
    #[inline]
    pub(crate) fn draw(&mut self, stream: &mut Stream) -> u64 {
        let ahead = self.ahead.unwrap_or_else(|| NextDraw {
            number: self.number(self.gray.draw(stream)),
            item: self.gray.draw(stream),
        });
        self.ahead =
            Some(NextDraw { number: self.number(ahead.item), item: self.gray.draw(stream) });
        ahead.number
    }

    #[inline]
    fn number(&self, item: u64) -> u64 {
        fnv64_of_five(item) % self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::Scrambled;
    use crate::distributions::Stream;
    use crate::distributions::chi_square::fits;
    use crate::distributions::fnv::fnv64;

    const DRAWS: u64 = 1_000_000;

    fn counts(keys: u64) -> Vec<u64> {
        let (mut scrambled, mut stream) =
            (Scrambled::new(keys, 0.99), Stream::of_client(3, 0, "scrambled"));
        let mut counts = vec![0; keys as usize];
        for _ in 0..DRAWS {
            counts[scrambled.draw(&mut stream) as usize] += 1;
        }
        counts
    }

    /// The shares of the first two million items individually; the rest of the 10^10, each less than a
    /// hundred-millionth, are spread evenly by the hash.
    fn shares(keys: u64, theta: f64) -> Vec<f64> {
        let gray = Scrambled::new(keys, theta).gray;
        let mut shares = vec![0.0; keys as usize];
        let mut named = 0.0;
        for item in 0..2_000_000 {
            let share = gray.share(item);
            named += share;
            shares[(fnv64(item) % keys) as usize] += share;
        }
        shares.iter().map(|share| share + (1.0 - named) / keys as f64).collect()
    }

    #[test]
    fn a_million_draws_fit_the_exact_shares() {
        for keys in [100, 1_000, 5_000] {
            let verdict = fits(&counts(keys), &shares(keys, 0.99));
            assert!(verdict.holds(), "{keys} keys: {verdict:?}");
        }
        let wrong = fits(&counts(1_000), &shares(1_000, 0.98));
        assert!(!wrong.holds(), "{wrong:?}");
    }

    #[test]
    fn the_hottest_key_gets_its_share_whatever_the_number_of_keys() {
        // Enough keys that collisions with the hottest are negligible.
        for keys in [1_000_000, 1_000_003, 10_000_019] {
            let mut counts = counts(keys);
            let hottest = (fnv64(0) % keys) as usize;
            let share = counts[hottest] as f64 / DRAWS as f64;
            assert!((share - 0.0378).abs() < 0.0006, "{keys}: {share}");
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let second = counts[1] as f64 / DRAWS as f64;
            assert!((second - 0.0190).abs() < 0.0005, "{keys}: {second}");
        }
    }
}
