//! Collectors that read processes, the machine and its disks from outside.
//!
//! Nothing here slows what it reads unless its documentation says so, and nothing is reported as zero
//! that was not measured: every refusal is a reason in words.

mod block;
mod collect;
mod files;
mod foreign_syncs;
mod list;
mod machine;
mod perf_event;
mod proc;
mod processors;
mod space;
mod sync_calls;
mod sync_points;
mod tracepoint;

pub use block::{BlockCounts, Place};
pub use collect::{Meter, MeterOptions, Runtime, Spent, Subject, Timed};
pub use list::{Listing, list};
pub use machine::Machine;
pub use proc::{Pressure, ProcessUse, SystemTimes};
pub use space::FileSystemSpace;
pub use sync_calls::{
    SYNCS_SOURCE, SYSTEM_CALLS_REFUSAL, SYSTEM_CALLS_SOURCE, SyncCounter, SyncCounts, Watched,
};
