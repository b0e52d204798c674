//! A disk in memory that can lose power, fill up and fail, the same way each time from one seed.
//!
//! What it keeps, and who moves it:
//! - *stable*: what a crash cannot take away. Only syncs, synced writes and directory syncs add to it.
//! - *pending*: changes in order, data and names alike. [`SimulatedDisk::crash`] decides for each
//!   whether it survived: it yields another disk, and the first one goes on unharmed, so that one run
//!   gives as many crash images as wanted.
//! - *visible*: what reads see, the page cache: stable plus everything written.
//!
//! Rules of the model:
//! 1. Dropping a handle makes nothing stable.
//! 2. `sync_data` and `sync_all` both make a file's writes and its length stable. A synced write makes
//!    stable its own bytes and the length they need, not what was written to the file before.
//! 3. Names obey [`Metadata`]. A file whose directory's name was lost is lost.
//! 4. A crash may tear a write at 512-byte sectors, lose or garble each of them, show the new length
//!    without the bytes, or the bytes without the new length. Bytes next to a write stay whole.
//! 5. The operation during which the power goes off ([`SimulatedDisk::crash_after`]) fails, and leaves
//!    its change pending: it may have reached the disk or not.
//! 6. Writes after a failed sync that are not written again are never covered by a later sync, whatever
//!    that sync answers ([`SyncFailure`]).
//! 7. Direct files check what rule 6 of the file module asks for, with 512-byte blocks.
//!
//! What it does not do: directories are neither renamed nor removed, `..` is refused, `/a` and `a` are
//! the same path, a file holds at most 1 GiB, and time plays no part.

mod content;
mod crash;
mod disk;
mod fault;
mod file;
mod file_operations;
mod handle;
mod names;
mod power;
mod state;

pub use crash::Crash;
pub use disk::SimulatedDisk;
pub use fault::{Fault, FaultRule, SyncFailure};
pub use file::SimulatedFile;
pub use names::Metadata;
