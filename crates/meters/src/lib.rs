//! Collectors that read processes, the machine and its disks from outside.
//!
//! Nothing here slows what it reads unless its documentation says so, and nothing is reported as zero
//! that was not measured: every refusal is a reason in words.

mod block_device;
mod collect;
mod files;
mod list;
mod machine;
mod online_cpus;
mod per_cpu_sync_counter;
mod perf_event;
mod proc;
mod space;
mod sync_calls;
mod sync_points;
mod tracepoint;

pub use block_device::{BlockCounts, BlockDevice};
pub use collect::{BpfCpuTime, Profiler, ProfilerCpuTime, ProfilerOptions, Runtime, Subject};
pub use list::{Listing, list};
pub use machine::Machine;
pub use proc::{Pressure, ProcessUsage, SystemTimes};
pub use space::FileSystemSpace;
pub use sync_calls::{
    SYNCS_SOURCE, SYSTEM_CALLS_REFUSAL, SYSTEM_CALLS_SOURCE, SyncCounter, SyncCounts, Watched,
};
