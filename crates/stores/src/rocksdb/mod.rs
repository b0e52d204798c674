//! RocksDB of the operating system: a log-structured merge tree behind a write-ahead log, in C++. See
//! [`Rocksdb`].
//!
//! | word | options of RocksDB | effect of a commit |
//! |---|---|---|
//! | `none` | `disableWAL` | changes the memtable, in memory |
//! | `os` | no `sync` | writes its record to the log's file |
//! | `data` | `sync` | and calls `fdatasync` |
//! | `full` | `sync` and `use_fsync` | and calls `fsync` |
//!
//! Commits of different threads share a log write and its sync: the first waiting thread writes for the
//! others. A commit is one `WriteBatch`. RocksDB's own transactions would lock each row a second time,
//! since the adapter holds its lock until the batch is written, and would not improve isolation.
//!
//! All tables are in one column family, separated by the first bytes of their keys. A family for each
//! table would share the log anyway and cost a memtable each; and RocksDB 7.8.3 crashed in a trial at a
//! flush that coincided with a sync of the log (`MarkLogsSynced`), which requires several families.
//!
//! The log (`wal`): with a growing file, each sync also syncs the file's metadata. RocksDB reuses old
//! logs (`recycle_log_file_num`) only with `kSkipAnyCorruptedRecords`; with any other recovery mode it
//! silently sets the number to 0. So `wal=recycled` sets both, reads the number back, and fills two
//! logs completely before the run, like a store that has been running for minutes. It is not the
//! default: with these options RocksDB 7.8.3 did not finish the recovery of such a log; opened with
//! `kPointInTimeRecovery`, as a test verifies, it recovers all acknowledged commits.
//!
//! Files: the options of the URL (`settings.rs`), keys and values (`store.rs`), the settings that
//! RocksDB reports (`reported_settings.rs`).

mod reported_settings;
mod settings;
mod store;

pub use store::{Rocksdb, RocksdbTarget};

pub(crate) use settings::LISTING;
pub(crate) use store::open;
