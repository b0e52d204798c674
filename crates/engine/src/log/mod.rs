//! The write-ahead log: every commit's record, in one total order, stable before it is acknowledged.
//!
//! A log is a directory: a lock file and segment files of fixed names and fixed size. A segment (`segment`)
//! is a header and then frames (`frame`); one write carries one frame: a group of records.
//!
//! A commit passes through these stages: a permit (the last step that may wait or fail), a commit sequence
//! number, the record published in the ring (`ring`), a frame (`frame_writer`), a write and a sync
//! (`pipeline`), the durable LSN, its ticket complete. The threads that wait drive this process: see
//! `driver`. `flush_policy` decides when a group is written while workers are still running their passes.
//!
//! ```text
//!  reserve -> take -> publish      ring       frame writer      pipeline      durable LSN -> tickets
//!  (may wait) (csn)  (swap)    [ | | | ] -> [frame] -> write, sync -> last contiguous stable csn
//! ```
//!
//! Invariants:
//! 1. Commits are written in the order of their numbers, without a gap. So the stable commits are a prefix,
//!    and one number, the durable LSN, identifies it.
//! 2. A ticket is complete when the durable LSN has reached it (at durability none: when it and all before it
//!    are published), never before.
//! 3. After a crash the log holds every complete commit, and of the others a prefix, each whole.
//! 4. A failed write or sync closes the log for good: tickets in flight end as indeterminate, and the log
//!    must be opened again. A full disk shows only where files are prepared; the commit that needs the space
//!    gets that error before it has a number, and may retry.
//! 5. A commit that recovery has replayed stays committed, whatever happens next.
//!
//! The log does not know what a record means, keeps no index of commits, and neither encrypts nor compresses.
//!
//! | file | contents |
//! |---|---|
//! | `handle`, `options`, `stats` | the log as its user sees it |
//! | `commit`, `wait`, `waiters`, `worker` | permits and tickets; waiting for a commit; an executor's worker |
//! | `ring`, `record_buffers` | published records before they are written; reuse of their buffers |
//! | `batch_gate`, `flush_policy`, `group_history` | when a group is written, and when the last ones were |
//! | `frame`, `segment` | the two formats on disk |
//! | `frame_writer`, `pipeline`, `io_request` | from records to frames, writes and syncs |
//! | `segments` | the files of an open log: current, prepared, live and free |
//! | `maintenance` | preparing, releasing and archiving files, on any thread |
//! | `archive` | copies of released segments in another directory |
//! | `driver`, `threads`, `durable_lsn` | the state that all threads share, how any of them drives the log and wakes commits; the log's own threads; the result |
//! | `open`, `survey`, `scan`, `replay`, `recovery` | opening a log: find its files, read them, make it writable |
//! | `models`, `simulation`, `fuzzing`, `tests` | model checking, crash simulation, fuzzing, tests |
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
//! let permit = log.reserve(record.len())?; // may wait; the last step that can fail
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

mod archive;
mod batch_gate;
mod commit;
mod driver;
mod durable_lsn;
mod flush_policy;
mod frame;
mod frame_writer;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod group_history;
mod handle;
mod io_request;
mod maintenance;
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

pub use archive::Until;
pub(crate) use archive::{Archived, read_archived};
pub use commit::{Permit, Reserved, Ticket};
pub(crate) use group_history::Group;
pub(crate) use handle::CLOSED;
pub use handle::{Log, Settings};
pub(crate) use open::{Guard, unmake};
pub use options::{Durability, Options, Writer};
pub use stats::Stats;
pub(crate) use threads::Threads;
pub use wait::Completion;
pub use worker::Worker;
