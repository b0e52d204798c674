//! RocksDB of the operating system: a log-structured merge tree behind a write-ahead log, in C++. See
//! [`Rocksdb`].
//!
//! | word | what RocksDB is told | what a commit then does |
//! |---|---|---|
//! | `none` | `disableWAL` | changes the memtable, in memory |
//! | `os` | no `sync` | writes its record to the log's file |
//! | `data` | `sync` | and calls `fdatasync` |
//! | `full` | `sync` and `use_fsync` | and calls `fsync` |
//!
//! Commits of different threads share a log write and its sync: the first of those that wait leads the
//! others. A commit is one `WriteBatch`. RocksDB's own transactions would lock each row a second time,
//! since the adapter holds its lock until the batch is there, and would keep apart no more.
//!
//! All tables lie in one column family, told apart by the first bytes of their keys. A family each
//! would share the log anyway and cost a memtable each; and RocksDB 7.8.3 crashed, when that was tried,
//! at a flush that met a sync of the log (`MarkLogsSynced`), which only several families can do.
//!
//! The log (`wal`): a file that grows makes each sync one of the file's metadata too. RocksDB writes
//! over old logs (`recycle_log_file_num`) only with `kSkipAnyCorruptedRecords`; with any other way of
//! recovery it sets the number to 0 and says nothing. So `wal=recycled` sets both, reads the number
//! back, and writes two logs once in full before the run, as a store has that has run for minutes. It
//! is not the default: with these options RocksDB 7.8.3 did not come to the end of a recovery of such a
//! log; opened with `kPointInTimeRecovery`, as a test holds, it recovers what was acknowledged.
//!
//! Files: what the URL takes (`settings.rs`), keys and values (`store.rs`), what RocksDB says of itself
//! (`reported_settings.rs`).

mod reported_settings;
mod settings;
mod store;

pub use store::{Rocksdb, RocksdbTarget};

pub(crate) use settings::LISTING;
pub(crate) use store::open;
