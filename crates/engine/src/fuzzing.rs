//! Entry points for coverage-guided fuzzing: one function per decoder, taking any bytes.
//!
//! Each asserts what its decoder promises: no bytes make it panic; what it accepts reads back equal after it
//! is written; a flipped bit under a checksum is refused. Where a checksum would keep the fuzzer out, the
//! function also writes a valid one and continues with that.
//!
//! The module exists with the feature `fuzzing`, for the workspace in `fuzz/`, and in the crate's own tests,
//! which run every seed and small mutations of it. It is not part of the public interface.

pub use crate::access::fuzzing::{patch, row};
pub use crate::buffer::fuzzing::page;
pub use crate::catalog::fuzzing::catalog;
pub use crate::checkpoint::fuzzing::{map, root, tree_directory};
pub use crate::log::fuzzing::{frame, recovery, segment};
pub use crate::txn::fuzzing::record;

use crate::{access, buffer, catalog, checkpoint, log, txn};

/// A decoder by name, with seed inputs.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the program in `fuzz/` and of its seed folder.
    pub name: &'static str,
    /// Asserts what the decoder promises.
    pub run: fn(&[u8]),
    /// Outputs of the encoder, in the form that `run` takes.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All decoders.
pub const TARGETS: [Target; 11] = [
    target("frame", frame, log::fuzzing::frame_seeds),
    target("segment", segment, log::fuzzing::segment_seeds),
    target("recovery", recovery, log::fuzzing::recovery_seeds),
    target("record", record, txn::fuzzing::record_seeds),
    target("page", page, buffer::fuzzing::page_seeds),
    target("root", root, checkpoint::fuzzing::root_seeds),
    target("map", map, checkpoint::fuzzing::map_seeds),
    target("tree_directory", tree_directory, checkpoint::fuzzing::tree_directory_seeds),
    target("catalog", catalog, catalog::fuzzing::catalog_seeds),
    target("row", row, access::fuzzing::row_seeds),
    target("patch", patch, access::fuzzing::patch_seeds),
];

const fn target(name: &'static str, run: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, run, seeds }
}

/// A byte source that yields zeros past its end, so that every input is valid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or_default()
    }

    pub(crate) fn number(&mut self) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()]))
    }

    /// Up to `bytes` bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Bytes preceded by their length.
    pub(crate) fn counted(&mut self) -> &'a [u8] {
        let bytes = self.number();
        self.take(bytes)
    }
}

/// Adds bytes preceded by their length, as [`Input::counted`] reads them.
pub(crate) fn add_counted(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The bytes with one bit of the first `covered` flipped; the bytes themselves determine which one.
pub(crate) fn with_a_bit_flipped(bytes: &[u8], covered: usize) -> Vec<u8> {
    let mut flipped = bytes.to_vec();
    let bit = crc32c::crc32c(bytes) as usize % (8 * covered);
    flipped[bit / 8] ^= 1 << (bit % 8);
    flipped
}

#[cfg(test)]
mod tests {
    use super::TARGETS;

    #[test]
    fn decoders_keep_their_promises_on_seeds_and_small_mutations() {
        let mut random = fastrand::Rng::with_seed(1);
        for target in TARGETS {
            let seeds = (target.seeds)();
            assert!(!seeds.is_empty(), "{} has seeds", target.name);
            for seed in seeds {
                (target.run)(&seed);
                for _ in 0..200 {
                    let mut changed = seed.clone();
                    for _ in 0..random.usize(1..4) {
                        let at = random.usize(..changed.len());
                        changed[at] = random.u8(..);
                    }
                    changed.truncate(random.usize(changed.len() / 2..=changed.len()));
                    (target.run)(&changed);
                }
            }
            (target.run)(&[]);
        }
    }
}
