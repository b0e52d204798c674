//! Chooses a client's next key: the usual distributions behind one type.

use super::exponential::Exponential;
use super::hotspot::Hotspot;
use super::latest::Latest;
use super::scrambled_zipf::Scrambled;
use super::stream::Stream;
use super::zipf::Zipf;

/// A distribution over keys, which are numbered from zero in the order of their creation.
#[derive(Clone, Debug)]
pub(crate) enum KeyChooser {
    /// Each of this many keys is equally likely.
    Uniform(u64),
    /// Exact Zipf; the first key is the most frequent.
    Zipfian(Zipf),
    /// Zipf as scattered by YCSB.
    Scrambled(Scrambled),
    /// The newest key is the most frequent.
    Latest(Latest),
    /// A few keys get most of the draws.
    Hotspot(Hotspot),
    /// One key after another, cyclically.
    Sequential(Sequential),
    /// Falls off exponentially from the newest key.
    Exponential(Exponential),
}

/// A cycle over all keys, of which each client takes every n-th, for n clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequential {
    next: u64,
    step: u64,
    keys: u64,
}

impl Sequential {
    /// Over this many keys, for one of `clients` clients.
    pub(crate) fn new(keys: u64, client: usize, clients: usize) -> Sequential {
        Sequential { next: client as u64 % keys, step: clients as u64 % keys, keys }
    }

    #[inline]
    fn draw(&mut self) -> u64 {
        let key = self.next;
        self.next += self.step;
        if self.next >= self.keys {
            self.next -= self.keys;
        }
        key
    }
}

impl KeyChooser {
    /// A key's number below `readable`, the number of keys that can be read now, which is at least 1. A
    /// distribution over more keys draws again, as in YCSB.
    #[inline]
    pub(crate) fn draw(&mut self, stream: &mut Stream, readable: u64) -> u64 {
        loop {
            let key = match self {
                KeyChooser::Uniform(keys) => stream.below(*keys),
                KeyChooser::Zipfian(zipf) => zipf.draw(stream),
                KeyChooser::Scrambled(scrambled) => scrambled.draw(stream),
                KeyChooser::Latest(latest) => latest.draw(stream, readable),
                KeyChooser::Hotspot(hotspot) => hotspot.draw(stream),
                KeyChooser::Sequential(sequential) => sequential.draw(),
                KeyChooser::Exponential(exponential) => exponential.draw(stream, readable),
            };
            if key < readable {
                return key;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Exponential, Hotspot, KeyChooser, Latest, Scrambled, Sequential, Zipf};
    use crate::distributions::Stream;
    use crate::distributions::chi_square::fits;

    #[test]
    fn uniform_draws_fit_even_shares() {
        let (mut chooser, mut stream) = (KeyChooser::Uniform(500), Stream::of_client(8, 0, "even"));
        let mut counts = vec![0; 500];
        for _ in 0..1_000_000 {
            counts[chooser.draw(&mut stream, 500) as usize] += 1;
        }
        assert!(fits(&counts, &[1.0 / 500.0; 500]).holds());
    }

    #[test]
    fn unreadable_keys_are_drawn_again() {
        let mut stream = Stream::of_client(9, 0, "again");
        let mut chooser = KeyChooser::Scrambled(Scrambled::new(1_100, 0.99));
        let key = (0..100_000).map(|_| chooser.draw(&mut stream, 1_000));
        assert_eq!(key.max(), Some(999));
    }

    #[test]
    fn clients_together_visit_every_key() {
        let mut counts = vec![0; 10];
        let mut stream = Stream::of_client(9, 0, "again");
        for client in 0..3 {
            let mut chooser = KeyChooser::Sequential(Sequential::new(10, client, 3));
            for _ in 0..10 {
                counts[chooser.draw(&mut stream, 10) as usize] += 1;
            }
        }
        assert_eq!(counts, [3; 10]);
    }

    /// About 10 to 40 ns each in an optimized build. The bound holds on a busy machine without optimization
    /// too, but not for a draw that iterates over its keys.
    #[test]
    fn a_draw_does_not_iterate_over_keys() {
        let keys = 1_000_000;
        let all = [
            ("uniform", KeyChooser::Uniform(keys)),
            ("zipfian", KeyChooser::Zipfian(Zipf::new(keys, 0.99))),
            ("scrambled", KeyChooser::Scrambled(Scrambled::new(keys, 0.99))),
            ("latest", KeyChooser::Latest(Latest::new(keys, 0.99))),
            ("hotspot", KeyChooser::Hotspot(Hotspot::new(keys, 0.2, 0.8))),
            ("exponential", KeyChooser::Exponential(Exponential::new(keys, 95.0, 0.857))),
        ];
        for (name, mut chooser) in all {
            let mut stream = Stream::of_client(10, 0, name);
            let draws = 20_000_u64;
            let began = std::time::SystemTime::now();
            let sum =
                (0..draws).fold(0, |sum: u64, _| sum.wrapping_add(chooser.draw(&mut stream, keys)));
            let took_ns = began.elapsed().unwrap().as_nanos() as f64 / draws as f64;
            assert!(took_ns < 50_000.0, "{name}: {took_ns:.1} ns ({sum})");
        }
    }
}
