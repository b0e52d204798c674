//! How bytes reach stable storage, really or in simulation.
//!
//! Four words, used with one meaning in the whole house: a *write* hands bytes to the operating
//! system (or, with direct I/O, to the device); a *flush* tells the device to empty its volatile
//! cache; a *sync* is a call that promises both for what was written before it; *stable* is what a
//! sync has covered. Closing a file makes nothing stable.
//!
//! [`Disk`] and [`File`] are the one seam through which the probe, the engine's log and the crash
//! tests reach storage: one place where a sync is counted and can be made to fail.

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
pub use file::{Access, Create, Disk, File, OpenOptions, WriteSync};
pub use null::{NullDisk, NullFile};
pub use real::{DurableWriter, RealDisk, RealFile, block_size};
pub use simulated::{SimulatedDisk, SimulatedFile};
pub use sync_method::{Promise, SyncMethod};
