//! Entries to the decoders of what servers send, for coverage-guided fuzzing: one function for each
//! protocol, of any bytes.
//!
//! Each asserts what its decoders promise: no bytes make them panic; a length is never believed beyond the
//! bytes that have come; what is decoded is no larger than they are.
//!
//! The module exists with the feature `fuzzing`, for the workspace in `fuzz/`, and in the crate's own tests,
//! which run every seed and small changes of it. It is not part of the interface.

pub use crate::etcd::fuzzing::etcd_answers;
pub use crate::mysql::fuzzing::mysql_packets;
pub use crate::postgres::fuzzing::postgres_messages;
pub use crate::redis::fuzzing::redis_replies;

use crate::{etcd, mysql, postgres, redis};

/// A protocol's decoders under a name, with bytes to begin from.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the program in `fuzz/` and of its folder of seeds.
    pub name: &'static str,
    /// Asserts what the decoders promise.
    pub run: fn(&[u8]),
    /// What a server sends, in the form that `run` takes.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
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
    fn what_a_server_sends_is_decoded_or_refused_and_so_are_small_changes_of_it() {
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
                        // Lengths are hostile where their bytes are at an end.
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
