//! An embedded, crash-safe store with group commit: so far its log.
//!
//! What exists is the log ([`log`]) in its final format: a totally ordered, checksummed record of
//! commits with group commit, tickets, recovery and an exact account of what is stable. Tables,
//! transactions and checkpoints do not exist yet; a program that wants to keep rows today keeps them
//! itself and logs what changed.
//!
//! ```
//! use syncline_disk::RealDisk;
//! use syncline_engine::log::{Log, Options};
//! use syncline_engine::{Csn, DatabaseId};
//!
//! # fn main() -> syncline_engine::Result<()> {
//! # let folder = tempfile::tempdir().expect("a folder for the example");
//! # let directory = folder.path().join("log");
//! # let options = Options { segment_bytes: 1 << 20, frame_bytes_max: 64 << 10, ..Options::default() };
//! let log = Log::create(&RealDisk, &directory, DatabaseId::random(), options.clone())?;
//! let mut record = b"what the transaction changed".to_vec();
//! let permit = log.reserve(record.len())?; // may wait; the last thing that can fail
//! let ticket = permit.take().publish(&mut record); // the commit's place in the order
//! log.wait(ticket)?; // stable now
//! log.close()?;
//!
//! let mut found = Vec::new();
//! let replay = &mut |csn: Csn, record: &[u8]| found.push((csn, record.to_vec()));
//! Log::open(&RealDisk, &directory, None, Csn::ZERO, &options, replay)?.close()?;
//! assert_eq!(found, [(Csn(1), b"what the transaction changed".to_vec())]);
//! # Ok(())
//! # }
//! ```

mod access;
mod error;
mod ids;
pub mod log;
mod plant;

pub use error::{Error, Result};
pub use ids::{Csn, DatabaseId, FrameNumber, PageId, SegmentNumber, SlotId, TreeId};
