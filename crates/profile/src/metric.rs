//! The metrics of a store that are counted or timed for each module.

use serde::{Deserialize, Serialize};

/// A resource that a transaction uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Processor time in user mode, in nanoseconds.
    CpuUser,
    /// Processor time in the kernel, in nanoseconds.
    CpuKernel,
    /// Processor time by the tags of the store's own threads, in nanoseconds: each thread publishes its
    /// current module. A second view of the two above, never added to them.
    CpuByTag,
    /// Elapsed time of a thread, running or not, in nanoseconds, if it was sampled as such. Otherwise the sum
    /// of processor time and [`Metric::OffCpu`].
    Wall,
    /// Time from leaving a processor to running again, in nanoseconds.
    OffCpu,
    /// System calls.
    SystemCalls,
    /// System calls that are syncs: `fsync`, `fdatasync`, `msync`, `syncfs`.
    SyncCalls,
    /// Times a thread gave up its processor because it had to wait.
    VoluntarySwitches,
    /// Times a thread was taken off its processor.
    InvoluntarySwitches,
    /// Synchronous write requests to block devices: a thread waits for them.
    SyncWrites,
    /// Asynchronous write requests to block devices: no thread waits for them.
    AsyncWrites,
    /// Bytes written by both kinds.
    WrittenBytes,
    /// Flush requests to block devices.
    Flushes,
    /// Bytes of objects allocated, in a store with a garbage collector.
    AllocatedBytes,
    /// Objects allocated, likewise.
    AllocatedObjects,
    /// Times a thread waited for a lock of the store's own runtime (a JVM's monitors and parking).
    Contentions,
    /// Time of these waits, in nanoseconds.
    ContentionWait,
    /// Times a thread called a sleep function.
    Sleeps,
    /// Processor time of garbage collection, in nanoseconds.
    GarbageCollection,
}

/// The quantity that a metric's weights measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Nanoseconds.
    Time,
    /// How often.
    Count,
    /// Bytes.
    Bytes,
}

impl Metric {
    /// Every metric, in the order of the table.
    pub const ALL: [Metric; 19] = [
        Metric::CpuUser,
        Metric::CpuKernel,
        Metric::CpuByTag,
        Metric::Wall,
        Metric::OffCpu,
        Metric::SystemCalls,
        Metric::SyncCalls,
        Metric::VoluntarySwitches,
        Metric::InvoluntarySwitches,
        Metric::SyncWrites,
        Metric::AsyncWrites,
        Metric::WrittenBytes,
        Metric::Flushes,
        Metric::AllocatedBytes,
        Metric::AllocatedObjects,
        Metric::Contentions,
        Metric::ContentionWait,
        Metric::Sleeps,
        Metric::GarbageCollection,
    ];

    /// The stable name in records and profiles.
    pub fn name(self) -> &'static str {
        match self {
            Metric::CpuUser => "cpu_user",
            Metric::CpuKernel => "cpu_kernel",
            Metric::CpuByTag => "cpu_by_tag",
            Metric::Wall => "wall",
            Metric::OffCpu => "off_cpu",
            Metric::SystemCalls => "system_calls",
            Metric::SyncCalls => "sync_calls",
            Metric::VoluntarySwitches => "voluntary_switches",
            Metric::InvoluntarySwitches => "involuntary_switches",
            Metric::SyncWrites => "sync_writes",
            Metric::AsyncWrites => "async_writes",
            Metric::WrittenBytes => "written_bytes",
            Metric::Flushes => "flushes",
            Metric::AllocatedBytes => "allocated_bytes",
            Metric::AllocatedObjects => "allocated_objects",
            Metric::Contentions => "contentions",
            Metric::ContentionWait => "contention_wait",
            Metric::Sleeps => "sleeps",
            Metric::GarbageCollection => "garbage_collection",
        }
    }

    /// The quantity of its weights.
    pub fn quantity(self) -> Quantity {
        match self {
            Metric::CpuUser
            | Metric::CpuKernel
            | Metric::CpuByTag
            | Metric::Wall
            | Metric::OffCpu
            | Metric::ContentionWait
            | Metric::GarbageCollection => Quantity::Time,
            Metric::SystemCalls
            | Metric::SyncCalls
            | Metric::VoluntarySwitches
            | Metric::InvoluntarySwitches
            | Metric::SyncWrites
            | Metric::AsyncWrites
            | Metric::Flushes
            | Metric::AllocatedObjects
            | Metric::Contentions
            | Metric::Sleeps => Quantity::Count,
            Metric::WrittenBytes | Metric::AllocatedBytes => Quantity::Bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Metric;
    use std::collections::BTreeSet;

    #[test]
    fn every_metric_has_a_unique_name_and_is_written_by_it() {
        let names: BTreeSet<_> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        assert_eq!(names.len(), Metric::ALL.len());
        for metric in Metric::ALL {
            let written = serde_json::to_value(metric).unwrap();
            assert_eq!(written, metric.name());
        }
    }
}
