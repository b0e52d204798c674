//! The machine's own disk, through Linux system calls.
//!
//! The engine and the stores use [`RealDisk`] and [`RealFile`]; the probe measures [`DurableWriter`]: one
//! writer, one sync outstanding, every method that Linux offers.

mod batch_reader;
mod disk;
mod durable_writer;
mod file;
mod file_range;
mod uring;

pub use disk::RealDisk;
pub use durable_writer::{DurableWriter, block_size};
pub use file::RealFile;
