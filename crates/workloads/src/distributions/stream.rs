//! Random streams: equal seed, client and purpose give equal numbers, whatever else runs.
//!
//! A client owns its streams, so its draws do not depend on the number of workers. Streams that differ in any
//! of the three parts are independent.

/// An odd constant that makes neighbouring seeds and clients give unrelated streams.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Stream(fastrand::Rng);

impl Stream {
    /// The stream of a client. `purpose` separates the streams of one client.
    pub(crate) fn of_client(seed: u64, client: usize, purpose: &str) -> Stream {
        let purpose = purpose
            .bytes()
            .fold(0, |sum: u64, byte| mixed(sum ^ u64::from(byte)).wrapping_add(ODD));
        let client = mixed((client as u64).wrapping_add(1).wrapping_mul(ODD));
        Stream(fastrand::Rng::with_seed(mixed(seed ^ client) ^ purpose))
    }

    /// The stream for unit `number` of a load: loaded rows do not depend on a seed.
    pub(crate) fn of_load(purpose: &str, number: u64) -> Stream {
        Stream::of_client(mixed(number), 0, purpose)
    }

    /// An integer between two bounds, inclusive.
    #[inline]
    pub(crate) fn between(&mut self, least: i64, most: i64) -> i64 {
        self.0.i64(least..=most)
    }

    /// A position below `count`.
    #[inline]
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        self.0.u64(..count)
    }

    /// At least zero and below one, with 53 random bits: the full precision of the result.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.word() >> 11) as f64 * STEP
    }

    /// True in this percentage of draws.
    #[inline]
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Exponentially distributed with this mean, by inversion.
    #[inline]
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Any 64 bits.
    #[inline]
    pub(crate) fn word(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Shuffles a list.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        self.0.shuffle(list);
    }

    /// Fills bytes with letters, digits, `+` and `-`, all 64 equally likely.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        const SIGNS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
        for chunk in bytes.chunks_mut(10) {
            let mut word = self.word();
            for byte in chunk {
                *byte = SIGNS[(word & 63) as usize];
                word >>= 6;
            }
        }
    }
}

/// A bijection of 64-bit words in which every bit depends on every bit.
#[inline]
pub(crate) fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word ^ (word >> 32)
}

#[cfg(test)]
mod tests {
    use super::Stream;

    fn first(seed: u64, client: usize, purpose: &str) -> Vec<u64> {
        let mut stream = Stream::of_client(seed, client, purpose);
        (0..8).map(|_| stream.word()).collect()
    }

    #[test]
    fn a_stream_depends_on_seed_client_and_purpose() {
        assert_eq!(first(7, 3, "keys"), first(7, 3, "keys"));
        let others = [first(8, 3, "keys"), first(7, 4, "keys"), first(7, 3, "mix")];
        for (place, other) in others.iter().enumerate() {
            assert_ne!(*other, first(7, 3, "keys"), "{place}");
        }
    }

    #[test]
    fn an_exponential_has_its_mean_and_text_is_filled() {
        let mut stream = Stream::of_load("text", 1);
        let mut bytes = [0; 37];
        stream.fill(&mut bytes);
        assert!(bytes.iter().all(u8::is_ascii_graphic));
        let mean = (0..100_000).map(|_| stream.exponential(5.0)).sum::<f64>() / 1e5;
        assert!((4.9..5.1).contains(&mean), "{mean}");
    }
}
