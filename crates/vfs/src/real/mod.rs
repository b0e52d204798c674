//! The machine's own disk, through Linux system calls.
//!
//! The engine and the stores use [`RealDisk`] and [`RealFile`]; the probe measures [`DurableWriter`]: one
//! writer, one sync outstanding, every method that Linux offers.
//!
//! | file | what it holds |
//! |---|---|
//! | `disk.rs`, `file.rs` | names and files |
//! | `file_range.rs` | `sync_file_range`, which makes nothing durable |
//! | `durable_writer.rs`, `uring.rs` | the writer that the probe measures; io_uring for a write and its sync |
//! | `transfer_ring.rs` | io_uring for many reads and writes |
//! | `batch.rs` | many reads into borrowed buffers, or many writes; the call waits for all of them |
//! | `read_queue.rs` | reads under way while the thread does other things |

mod batch;
mod disk;
mod durable_writer;
mod file;
mod file_range;
mod read_queue;
mod transfer_ring;
mod uring;

pub use disk::RealDisk;
pub use durable_writer::{DurableWriter, block_size};
pub use file::RealFile;
pub use read_queue::{QueuedRead, ReadQueue};
