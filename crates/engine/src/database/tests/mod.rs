//! Tests of a whole database.
//!
//! | file | what it holds |
//! |---|---|
//! | `end_to_end.rs` | rows survive closing, checkpoints and definitions |
//! | `archive.rs` | an archive and restores from it |
//! | `backup.rs` | a copy of a database that is in use |
//! | `creation.rs` | a creation that is interrupted at every I/O |
//! | `definitions.rs`, `concurrent_definitions.rs` | tables and indexes made during transactions; while writers commit |
//! | `definition_faults.rs` | a definition on a disk that fails or is full at any I/O |
//! | `compaction.rs` | a data file that becomes smaller |
//! | `handles.rs` | handles of two databases |
//! | `full_disk.rs`, `limits.rs` | work on a full disk; the limit on the log's length |
//! | `larger_than_memory.rs` | a database that is larger than its cache |
//! | `log_cap.rs` | the cap on the log's files |
//! | `long_values.rs` | values of full-sized extents |
//! | `maintenance_thread.rs` | memory that is prepared for a growing store |
//! | `memory.rs`, `ghosts.rs` | memory and ghosts of deleted rows are released |
//! | `panics.rs` | calls after a panic in the engine |
//! | `read_only.rs` | a database that is open for reading only |
//! | `released_formats.rs` | stores that earlier formats left |

mod archive;
mod backup;
mod compaction;
mod concurrent_definitions;
mod creation;
mod definition_faults;
mod definitions;
mod end_to_end;
mod full_disk;
mod ghosts;
mod handles;
mod larger_than_memory;
mod limits;
mod log_cap;
mod long_values;
#[cfg(target_os = "linux")]
mod maintenance_thread;
mod memory;
mod panics;
mod read_only;
mod released_formats;
