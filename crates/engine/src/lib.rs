//! An embedded store with group commit: typed tables, serializable transactions, recovery after a crash.
//!
//! A [`Database`] is a directory. Its tables have a [`Schema`]; [`Database::run`] runs a closure as a
//! [`Transaction`] over them, on the caller's thread. A commit takes its place in one total order and is
//! published; the log writes whole groups of commits with one sync. [`Database::run_async`] awaits that. A
//! [`TypedSession`] goes one step at a time: its commit returns a [`Ticket`](log::Ticket), which is complete
//! when its group is stable: block on it with [`TypedSession::wait`], or await [`Database::completion`].
//!
//! ```
//! use syncline_engine::{Change, Database, Kind, Options, Result, Schema, values};
//!
//! # fn main() -> Result<()> {
//! # let folder = tempfile::tempdir().expect("a folder for the example");
//! # let directory = folder.path().join("bank");
//! let database = Database::open_or_create(&directory, Options::default())?;
//! let accounts = database.open_or_create_table(
//!     Schema::table("accounts")
//!         .column("id", Kind::Int)
//!         .column("owner", Kind::Text)
//!         .column("balance", Kind::Int)
//!         .key(["id"])
//!         .index("by_owner", ["owner"])
//!         .build()?,
//! )?;
//! database.run(|transaction| {
//!     transaction.insert(&accounts, values![1, "ada", 100])?;
//!     transaction.insert(&accounts, values![2, "bob", 100])
//! })?;
//! // Additions to one row do not conflict; the bound is checked when the row is locked.
//! database.run(|transaction| {
//!     transaction.update(&accounts, values![1], &[Change::add("balance", -30).at_least(0)])?;
//!     transaction.update(&accounts, values![2], &[Change::add("balance", 30)])
//! })?;
//! let balance: i64 = database.read(|transaction| -> Result<_> {
//!     transaction.get(&accounts, values![1])?.expect("it was inserted").get("balance")
//! })?;
//! assert_eq!(balance, 70); // stable: `run` has waited
//! database.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! # The layers
//!
//! A module imports only from the modules above it in this list.
//!
//! | module | contents |
//! |---|---|
//! | [`log`] | the write-ahead log: every commit's record, in one order, stable before it is acknowledged |
//! | `buffer` | pages in memory, and the exact snapshot for a checkpoint |
//! | `access` | trees of bytes in pages; the encodings of typed keys and rows |
//! | `txn` | the commit protocol, isolation, older versions of rows |
//! | `checkpoint` | the data file: pages as they were at one commit, replaced as a whole |
//! | `tree_directory`, `recovery` | the root page of each tree; redo of the log's commits |
//! | `catalog` | the definitions of tables and indexes, which are rows too |
//! | `table` | tables of typed rows over transactions on bytes |
//! | `database` | a directory: open, checkpoint, change definitions, verify, close |
//! | `error`, `conflict`, `options`, `ids`, `origin` | errors, conflicts, options, numbers, and which database a handle belongs to |
//! | `persistent_map`, `distribution`, `thread_slot` | a map whose clones share nodes; distributions; a number for each thread |
//! | `directory`, `events` | directories that it makes, and their names; events for operators |
//! | `sync`, `panics` | locks with a checked order, and the primitives of the model checkers; what a panic closes |
//! | `step`, `planted_bug` | points at which a test may stop a thread; deliberate bugs that tests must find |
//! | `scheduler`, `seeds`, `own_process`, `stop_on_drop`, `fuzzing` | support of tests and fuzzing |
//!
//! # What it promises
//!
//! - Acknowledged means stable at the requested durability: `none` (nothing), `data` (data synced), `full`
//!   (data and all metadata synced). After a crash every acknowledged commit is there, and of the others a
//!   prefix of the order, each commit whole.
//! - Serializable transactions run as if one after another, in the order of their commit numbers; snapshot
//!   isolation is also available ([`Begin`]).
//! - Stable data that cannot be read is refused as damaged and never dropped silently; a log file that is
//!   missing, empty, blank or of the wrong length is refused. There are two limits. After a crash the last
//!   frame of the log (one write: a group of commits) may be unreadable because the crash interrupted it. So
//!   if it is damaged later, and no later frame, prepared log file or checkpoint says that it was stable, it
//!   is cut off with its commits, except that one flipped bit in a frame of up to 512 bytes is recognised if
//!   the frame does not end with that byte, or with zeros behind it. And from the first commit in a new log
//!   file until the next file is prepared, moments later, no other file vouches for it: if it has the last
//!   name and vanishes after a crash within those moments, the loss goes unnoticed. After [`Database::close`]
//!   neither limit applies, since the checkpoint names the log's end.
//! - The files carry a format number and feature bits; newer, damaged and other programs' files are refused
//!   with a clear error. Two processes cannot open one database.
//!
//! # What an error leaves behind
//!
//! No call panics because of how it is called, waits forever, or changes something before it fails. If a
//! closure of the caller panics, its transaction ends; the session, the table and the row that the closure
//! was given can be used again. The caller has two duties: the closure of `show_prefetched` must not drop the
//! database, and code that uses the [`log`] without a database orders commits as its functions say.
//! | error | the transaction | what to do |
//! |---|---|---|
//! | [`Error::Conflict`] of a call | broken: every further call returns the conflict | abort, run it again; [`TypedSession::run`] does |
//! | an error of a commit, except [`Error::NotBegun`] and [`Error::InShownRow`] | over; nothing was changed | as the error says |
//! | [`Error::Indeterminate`] of a wait | over | open the database again and check |
//! | [`Error::Poisoned`] | may go on reading, cannot commit | open the database again |
//! | any other error of a call | as it was before the call | go on, roll back or abort |
//!
//! Misuse is refused, and the transaction stays as it was: a handle of another database or of an earlier
//! opening ([`Error::OtherDatabase`]), of a table that was dropped or changed ([`Error::TableChanged`]), a
//! key prefetched for another table ([`Error::OtherTable`]), a savepoint of another transaction
//! ([`Error::OtherMark`]), a ticket of another database ([`Error::OtherTicket`]), calls without a transaction
//! ([`Error::NotBegun`]), a second begin ([`Error::AlreadyBegun`]), writes in a read-only transaction
//! ([`Error::ReadOnly`]) or database ([`Error::ReadOnlyDatabase`]), columns that do not exist
//! ([`Error::NoColumn`]), a lookup of one row by an index that is not unique ([`Error::NotUnique`]), a
//! transaction that no log record can hold ([`Error::TooLarge`], from the write that crosses the cap).
//!
//! # What may block
//!
//! | call | waits for |
//! |---|---|
//! | reads and writes of a transaction | short latches of pages; a page that is not in memory, until it has been read from the disk; a refusal that depends on other commits, until these are stable |
//! | `begin` of [`Begin::ReadOnly`] | this session's last commit, until it is stable: perhaps a write of the log |
//! | any other `begin` | only commits that are being published |
//! | `commit` | a locked row, for a short time; pages of its rows that are not in memory; the commit gate, while another call of this table holds it; room in the log, which it may write or zero-fill itself; a checkpoint, where memory or the log is at its cap |
//! | `begin_exclusive`, the last run of `run` | the commit gate, which it then holds until its end |
//! | `create_table`, `drop_table`, `change_table`, `load_table` | each other, and the commit gate, which they hold while they work |
//! | `checkpoint`, `verify`, `close` | the commit gate, and the disk |
//! | `backup` | the same, and for as long as the copy takes |
//! | writing a [`LargeObjectWriter`] | as a transaction; the log's write of the part before |
//! | `large_objects`, [`LargeObjectWriter::finish`], dropping one that is not finished | as `create_table`, or a transaction; the log's write and sync |
//! | `wait`, `flush`, every thousandth [`Sequence::next`] | the log's write and sync |
//! | [`Worker::end_pass`](log::Worker::end_pass), dropping a [`Worker`](log::Worker) | a write of the log, at [`Writer::Worker`](log::Writer::Worker) |
//! | polling [`Completion`](log::Completion) | nothing; at durability none, earlier commits that are being published |
//! | [`Prefetcher::prefetch`] | rows that are not in memory, all of them being read at the same time |
//! | [`Prefetcher::wait`], dropping a [`Prefetcher`] | some of the rows that are being read; all of them |
//! | `stats`, `durable_lsn`, `abort`, the other calls of [`Prefetcher`] | nothing |
//! | dropping a [`Database`] | its threads, which finish their current step |
//!
//! A wait for the gate never lasts longer than the engine's own work, or [`Options::exclusive_wait_ms`] for a
//! transaction of a caller: see [`TypedSession::begin_exclusive`].
//!
//! # Memory
//!
//! In the default mode all pages are in memory, up to [`Options::resident_bytes_max`]; a database that may be
//! larger than its memory has another [`BufferMode`], best by [`Options::with_cache`]. On Linux leaves of the
//! default mode lie in blocks of 2 MiB once there are 4 MiB of pages, and frames in blocks of their own once
//! there are 32 MiB. The engine asks the system for huge pages for these blocks, which makes reads of a large
//! database faster. The system grants them if `/sys/kernel/mm/transparent_hugepage/enabled` says `madvise` or
//! `always`. Otherwise, and below these sizes, pages lie in ordinary memory. A block goes back to the system
//! when nothing in it is used any more; [`Stats::resident_bytes`] counts it as a whole.
//!
//! Which cap counts which memory, and what has a bound of its own:
//!
//! | memory | bound | at the bound |
//! |---|---|---|
//! | pages with their frames, free cells of blocks, the table of pages, images for a running checkpoint | [`Options::resident_bytes_max`] | pages are evicted, where the mode does that; unneeded memory is freed; then [`Error::Capped`] |
//! | images for a running checkpoint | [`Options::pre_image_bytes_max`], too | writers wait for the disk |
//! | old versions of rows, extents included; keys of deleted rows that a reader may still need | [`Options::version_bytes_max`] | unneeded memory is freed; then the oldest snapshot ends |
//! | the read set of a serializable transaction | [`Options::read_bytes_max`] | [`Error::TooLong`] |
//! | a [`LargeObjectWriter`] or [`LargeObjectReader`] | one part, 240 KiB | |
//! | the writes of a transaction | its log record, `record_bytes_max` of [`log::Options`] | [`Error::TooLarge`] |
//! | records between commit and disk | the log's prepared segments, normally twice `segment_bytes` of [`log::Options`] | commits wait |
//! | memory pooled for later transactions | 1 MiB for each part of a transaction, 16 MiB for each of 8 groups of threads | freed |
//! | memory pooled for later log records | 64 KiB a record, 8 MiB for each of 8 groups of threads | freed |
//!
//! # A full disk
//!
//! Commits are refused with [`Error::Full`] when the log needs another file and the disk has no space for it.
//! The last half of the last file is reserved for commits that only delete, so rows can still be deleted. A
//! checkpoint that finds no space for the changed pages is abandoned with the same error; a later one needs
//! less if rows were deleted in the meantime. Once one succeeds, the log's files are used again and writers
//! go on, without any space from outside. The data file keeps some space free for that: a quarter of
//! [`Options::extent_bytes`], but no more than 1/64 of the file or 4 MiB, whichever is more, and no more than
//! half of a small file.
//!
//! # What it does not do
//!
//! Without a [`BufferMode`] that evicts pages, a database larger than [`Options::resident_bytes_max`] is
//! refused. There is no server, no query language, no encryption and no compression. The engine has no
//! executor. A database has two threads of its own: one writes the log where no caller does, the other
//! prepares log files and memory for pages and runs checkpoints.

mod access;
mod buffer;
mod catalog;
mod checkpoint;
mod conflict;
mod database;
mod directory;
mod distribution;
mod error;
mod events;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod ids;
pub mod log;
mod options;
mod origin;
#[cfg(test)]
mod own_process;
mod panics;
mod persistent_map;
mod planted_bug;
mod recovery;
#[cfg(test)]
mod scheduler;
#[cfg(test)]
mod seeds;
mod step;
#[cfg(test)]
mod stop_on_drop;
mod sync;
mod table;
mod thread_slot;
mod tree_directory;
mod txn;

pub use access::key::KeyRange;
pub use access::row::{TextRun, Texts};
pub use access::schema::{
    AsValue, Builder, Collation, Column, ColumnType, Date, Decimal, FromValue, Index, KeyColumn,
    KeyPart, Kind, OwnedValue, Schema, Uuid, Value, asc, desc,
};
pub use conflict::Conflict;
pub use database::{
    Backup, BackupOptions, CheckpointStats, Database, Inspection, LargeObjectReader,
    LargeObjectWriter, LargeObjects, Metric, Metrics, RestoreSource, Restored, Sequence, Stats,
};
pub use distribution::{CLASSES, Distribution};
pub use error::{Error, PatchFailure, Result};
pub use ids::{Csn, DatabaseId, FrameNumber, PageId, SegmentNumber, SlotId, TreeId};
pub use options::{BufferMode, Options};
#[cfg(feature = "derive")]
pub use syncline_engine_derive::TableRow;
pub use syncline_vfs::{Disk, NullDisk, RealDisk};
pub use table::{
    Change, ColumnRef, Mark, OwnedRow, Path, PrefetchKey, Prefetcher, Row, RowLoad, Rows, Table,
    TableRow, Transaction, TypedSession, Upserted,
};
pub use txn::{
    Begin, CommitPath, CommitPaths, Counts, Direction, Latencies, PathStep, SAMPLED_ONE_IN,
};
