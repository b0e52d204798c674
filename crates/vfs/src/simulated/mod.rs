//! A disk in memory that can lose power, fill up and fail, the same way each time from one seed.
//!
//! Its state:
//! - *stable*: what a crash cannot lose. Only syncs, synced writes and directory syncs add to it.
//! - *pending*: changes in order, of data and of names. [`SimulatedDisk::crash`] decides for each whether it
//!   survives: it returns another disk and leaves the first one unchanged, so that one run can produce any
//!   number of crash images.
//! - *visible*: what reads see, like a page cache: stable plus all pending changes.
//!
//! Rules of the model:
//! 1. Dropping a handle makes nothing stable.
//! 2. `sync_data` and `sync_all` both make a file's writes and its length stable. A synced write makes its
//!    own bytes and the length they need stable, but not earlier writes to the file.
//! 3. Names obey [`Metadata`]. A file is lost if the name of its directory is.
//! 4. A crash may tear a write at 512-byte sectors, lose or garble each of them, show the new length without
//!    the bytes, or the bytes without the new length. Bytes next to a write stay intact.
//! 5. The operation during which the power fails ([`SimulatedDisk::crash_after`]) fails, and leaves its
//!    change pending: it may or may not have reached the disk.
//! 6. Writes covered by a failed sync that are not written again are never covered by a later sync, whatever
//!    that sync returns ([`SyncFailure`]).
//! 7. Direct files check what rule 6 of the file module requires, with 512-byte blocks.
//!
//! Limits: directories are neither renamed nor removed, `..` is refused, `/a` and `a` are the same path, a
//! file holds at most 1 GiB, and time is not modelled.
//!
//! | file | contents |
//! |---|---|
//! | `disk`, `file`, `handle` | the disk and its files as tests use them; the state of an open handle |
//! | `state`, `file_operations`, `names` | the state of the disk; operations on bytes and on names |
//! | `content`, `crash` | stable, pending and visible bytes of a file; what a crash keeps |
//! | `fault`, `power` | injected faults; power losses |

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
