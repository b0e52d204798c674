//! The log: every commit's record, in one total order, stable before it is acknowledged.
//!
//! A log is a directory: a lock file and segment files of fixed names and fixed size. A segment
//! (`segment`) is a header and then frames (`frame`); a frame is what one write carries: a group
//! of records.
//!
//! A commit's way: a permit (the last thing that may wait or fail), a commit sequence number, the
//! record published in the ring (`ring`), a frame (`frame_writer`), a write and a sync (`pipeline`),
//! the durable LSN, its ticket complete. Whoever waits drives this way: see `shared`; when a group goes out
//! while workers are still at their passes, see `ripe`.
//!
//! ```text
//!  reserve -> take -> publish      ring       frame writer      pipeline      durable LSN -> tickets
//!  (may wait) (csn)  (swap)    [ | | | ] -> [frame] -> write, sync -> last contiguous stable csn
//! ```
//!
//! Invariants:
//! 1. Commits are written in the order of their numbers, without a gap. Hence what is stable is a
//!    prefix, and one number, the durable LSN, says which.
//! 2. A ticket is complete when the durable LSN has reached it (at durability none: when it and all before
//!    it are published), never before.
//! 3. After a crash the log holds every complete commit, and of the others a prefix, each whole.
//! 4. A failed write or sync closes the log for good: tickets in flight end as indeterminate, and the
//!    log must be opened again. A full disk shows only where files are prepared; that is told to the
//!    commit that needs the room, before it has a number, and may be tried again.
//! 5. What recovery has handed out stays committed, whatever happens next.
//!
//! What it does not do: it does not know what a record means; it keeps no index of commits; it does
//! not encrypt or compress.
//!
//! ```
//! use syncline_vfs::RealDisk;
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

mod batch_gate;
mod commit;
mod durable_lsn;
mod flush_policy;
mod frame;
mod frame_writer;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod group_history;
mod handle;
mod io_request;
mod open;
mod options;
mod pipeline;
mod record_buffers;
mod recovery;
mod replay;
mod ring;
mod scan;
mod segment;
mod segments;
mod shared;
mod stats;
mod survey;
mod threads;
mod wait;
mod waiters;
mod worker;

#[cfg(all(test, any(loom, shuttle)))]
mod models;
#[cfg(test)]
pub(crate) mod simulation;
#[cfg(test)]
mod tests;

pub use commit::{Permit, Reserved, Ticket};
pub(crate) use group_history::Group;
pub(crate) use handle::CLOSED;
pub use handle::{Log, Settings};
pub(crate) use open::unmake;
pub(crate) use options::RECORD_BYTES_MAX;
pub use options::{Durability, Options, Writer};
pub use stats::Stats;
pub(crate) use threads::Threads;
pub use wait::Completion;
pub use worker::Worker;
