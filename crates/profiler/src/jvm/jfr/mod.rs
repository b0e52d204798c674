//! Reads the Java flight recorder's files: samples, allocations and waits.
//!
//! A file is a sequence of independent *chunks* ([`checked_chunks`]). A chunk is a header of 68 bytes,
//! big-endian, followed by events:
//!
//! | at | bytes | what |
//! |--:|--:|---|
//! | 0 | 4 | `FLR` and a zero |
//! | 4 | 2 + 2 | version; the major number is 1 or 2 |
//! | 8 | 8 | bytes of the chunk |
//! | 16 | 8 + 8 | positions of its last constants and its metadata |
//! | 32 | 8 + 8 + 8 | start and length in nanoseconds, start in ticks |
//! | 56 | 8 | ticks per second |
//! | 64 | 4 | lowest bit: whole numbers have 7 bits per byte, lowest first, and 8 in the ninth byte |
//!
//! An event is its size, its type's number, and the fields that the metadata lists for that type. Type 0 is
//! the metadata, type 1 are constants: values by type and number, which other values refer to.
//!
//! 1. The bytes are untrusted: every length is compared with the remaining bytes, nesting is limited, and an
//!    element of an array takes at least a byte. Reading any bytes ends with chunks or an error, and takes
//!    memory in proportion to them.
//! 2. Fields are found by name, so that new fields of later versions are ignored.

mod bytes;
mod chunk;
mod metadata;
#[cfg(test)]
mod tests;
mod value;

pub(super) use chunk::{Chunk, Event, JfrFrame, checked_chunks};
