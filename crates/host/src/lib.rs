//! Facts and counters from the kernel about the machine, its disks and its processes.
//!
//! Reading them does not slow the observed process unless its documentation says so. A value that could not
//! be measured is never reported as zero: it is absent, or an error says why.
//!
//! | file | what it holds |
//! |---|---|
//! | `block_device.rs` | the block device below a directory, and its counters |
//! | `file_system_space.rs` | size and free space of a file system |
//! | `files.rs` | reading the kernel's small text files |
//! | `machine.rs` | processors, memory, kernel, virtual machine |
//! | `online_cpus.rs` | the processors that are switched on |
//! | `perf_event.rs` | one perf event: a counter, or a source of samples |
//! | `perf_ring_buffer.rs` | the memory into which the kernel writes a perf event's samples |
//! | `per_cpu_sync_counter.rs` | counts the sync calls of another process by events of each processor |
//! | `proc/` | `/proc`: processes and their threads, processor times, pressure |
//! | `sync_calls.rs` | counts the sync calls of a process, and all system calls of this one |
//! | `sync_points.rs` | the tracepoints that sync calls pass |
//! | `tracepoint.rs` | the number of a tracepoint, and the offsets of its fields |

mod block_device;
mod file_system_space;
mod files;
mod machine;
mod online_cpus;
mod per_cpu_sync_counter;
mod perf_event;
mod perf_ring_buffer;
mod proc;
mod sync_calls;
mod sync_points;
pub mod tracepoint;

pub use block_device::{BlockCounts, BlockDevice};
pub use file_system_space::FileSystemSpace;
pub use files::{read_line, read_text};
pub use machine::Machine;
pub use online_cpus::online_cpus;
pub use perf_event::{PerfEvent, task_is_gone};
pub use perf_ring_buffer::PerfRingBuffer;
pub use proc::{
    DirtyMemory, Pressure, ProcessUsage, SystemTimes, own_context_switches, process_tree, threads,
};
pub use sync_calls::{
    Process, SYNCS_SOURCE, SYSTEM_CALLS_REFUSAL, SYSTEM_CALLS_SOURCE, SyncCounter, SyncCounts,
    sync_call_numbers, sync_filter,
};
pub use sync_points::SYNC_TRACEPOINTS;
