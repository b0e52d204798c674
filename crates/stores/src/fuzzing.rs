//! Entry points to the decoders of server messages for coverage-guided fuzzing: one function for each
//! protocol, for arbitrary bytes.
//!
//! Each asserts what its decoders promise: no input makes them panic; a length field never makes them
//! read beyond the received bytes; decoded values are no larger than the input.
//!
//! The module exists with the feature `fuzzing`, for the workspace in `fuzz/`, and in the crate's own
//! tests, which run every seed and small mutations of it. It is not part of the interface.

pub use crate::etcd::fuzzing::etcd_answers;
pub use crate::mysql::fuzzing::mysql_packets;
pub use crate::postgres::fuzzing::postgres_messages;
pub use crate::redis::fuzzing::redis_replies;

use crate::{etcd, mysql, postgres, redis};

/// The decoders of a protocol, with seeds.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the program in `fuzz/` and of its seed directory.
    pub name: &'static str,
    /// Asserts what the decoders promise.
    pub run: fn(&[u8]),
    /// Messages of a server, in the form that `run` takes.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All fuzz targets.
pub const TARGETS: [Target; 4] = [
    target("postgres_messages", postgres_messages, postgres::fuzzing::message_seeds),
    target("mysql_packets", mysql_packets, mysql::fuzzing::packet_seeds),
    target("redis_replies", redis_replies, redis::fuzzing::reply_seeds),
    target("etcd_answers", etcd_answers, etcd::fuzzing::answer_seeds),
];

const fn target(name: &'static str, run: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, run, seeds }
}

#[cfg(test)]
mod tests {
    use super::TARGETS;

    // A.E6
    #[test]
    fn seeds_and_their_mutations_are_decoded_or_refused() {
        let mut random = fastrand::Rng::with_seed(27);
        for target in TARGETS {
            let seeds = (target.seeds)();
            assert!(!seeds.is_empty(), "{} has seeds", target.name);
            for seed in seeds {
                (target.run)(&seed);
                for _ in 0..200 {
                    let mut changed = seed.clone();
                    for _ in 0..random.usize(1..4) {
                        let at = random.usize(..changed.len());
                        // Extreme bytes make hostile lengths.
                        changed[at] = match random.usize(..6) {
                            extreme @ 0..5 => [0, 1, 127, 128, 255][extreme],
                            _ => random.u8(..),
                        };
                    }
                    changed.truncate(random.usize(..=changed.len()));
                    (target.run)(&changed);
                }
            }
        }
    }
}
