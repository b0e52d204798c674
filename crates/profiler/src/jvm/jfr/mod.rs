//! The Java flight recorder's files, as far as samples, allocations and waits are told in them.
//!
//! A file is a row of *chunks*, each complete in itself ([`chunks`]). A chunk is a header of 68 bytes,
//! big-endian, then events:
//!
//! | at | bytes | what |
//! |--:|--:|---|
//! | 0 | 4 | `FLR` and a zero |
//! | 4 | 2 + 2 | version, 1 or 2 in front |
//! | 8 | 8 | bytes of the chunk |
//! | 16 | 8 + 8 | where its last constants and its metadata stand |
//! | 32 | 8 + 8 + 8 | start and length in nanoseconds, start in ticks |
//! | 56 | 8 | ticks a second |
//! | 64 | 4 | lowest bit: whole numbers are of 7 bits a byte, lowest first, the ninth byte whole |
//!
//! An event is its size, its type's number, then fields as the metadata lists them for that type. Type 0
//! is the metadata, type 1 are constants: values by type and number, that other values refer to.
//!
//! 1. Nothing is believed of the bytes: every length is held against what is left, nesting has an end,
//!    what stands in another takes a byte or is refused. Whatever they are, reading ends with chunks or
//!    an error, and takes memory in proportion to them.
//! 2. Fields are found by their names, so that a later version's new fields are passed over.

mod bytes;
mod chunk;
mod metadata;
#[cfg(test)]
mod tests;
mod value;

pub(super) use chunk::{Chunk, Event, JfrFrame, chunks};
