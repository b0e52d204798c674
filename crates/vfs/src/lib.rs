//! Stable storage, real or simulated.
//!
//! Four terms have one meaning in the whole workspace: a *write* hands bytes to the operating system (or,
//! with direct I/O, to the device); a *flush* makes the device empty its volatile cache; a *sync* is a call
//! that promises both for the writes before it; *stable* means covered by a sync. Closing a file makes
//! nothing stable.
//!
//! [`Disk`] and [`File`] are the one interface through which the probe, the engine's log and the crash tests
//! reach storage: one place where a sync is counted and can be made to fail.
//!
//! | file | contents |
//! |---|---|
//! | `file`, `error` | the interface of every disk, and its errors |
//! | `real/` | the machine's own disk, and the writer that the probe measures |
//! | `simulated/` | a disk in memory that loses power and fails on command |
//! | `counting`, `null` | a disk that counts operations; a disk that keeps no bytes |
//! | `sync_method` | the ways to make a write stable |
//! | `aligned` | buffers for direct I/O |

mod aligned;
mod counting;
mod error;
mod file;
mod null;
mod real;
pub mod simulated;
mod sync_method;

pub use aligned::{ALIGNMENT, AlignedBuffer};
pub use counting::{CountingDisk, CountingFile, Counts};
pub use error::{Error, Result};
pub use file::{Access, BatchRead, BatchWrite, Create, Disk, File, OpenOptions, WriteSync};
pub use null::{NullDisk, NullFile};
pub use real::{DurableWriter, QueuedRead, ReadQueue, RealDisk, RealFile, block_size};
pub use simulated::{SimulatedDisk, SimulatedFile};
pub use sync_method::{Promise, SyncMethod};
