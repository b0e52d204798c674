//! What is counted or timed of a store, per module.

use serde::{Deserialize, Serialize};

/// Something that a transaction uses up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Processor time in user mode, in nanoseconds.
    CpuUser,
    /// Processor time in the kernel, in nanoseconds.
    CpuKernel,
    /// Processor time by the word of the store's own threads, in nanoseconds: each says which module
    /// it is in. A second view of the two above, never added to them.
    CpuByTag,
    /// Time that passed for a thread, running or not, in nanoseconds, where it was sampled as such.
    /// Where it was not, it is the processor time and [`Metric::OffCpu`] together.
    Wall,
    /// Time from leaving a processor to running again, in nanoseconds.
    OffCpu,
    /// System calls.
    SystemCalls,
    /// System calls that are syncs: `fsync`, `fdatasync`, `msync`, `syncfs`.
    SyncCalls,
    /// Times a thread gave its processor up: it had to wait.
    VoluntarySwitches,
    /// Times a thread was taken off its processor.
    InvoluntarySwitches,
    /// Write requests to block devices that somebody waits for.
    SyncWrites,
    /// Write requests to block devices that nobody waits for.
    AsyncWrites,
    /// Bytes written by those of both kinds.
    WrittenBytes,
    /// Flush requests to block devices.
    Flushes,
    /// Bytes of objects allocated, in a store whose memory is collected.
    AllocatedBytes,
    /// Objects allocated, likewise.
    AllocatedObjects,
    /// Times a thread waited for a lock of the store's own runtime (a JVM's monitors and parking).
    Contentions,
    /// Time it waited so, in nanoseconds.
    ContentionWait,
    /// Times a thread slept by its own will.
    Sleeps,
    /// Processor time of the collection of garbage, in nanoseconds.
    GarbageCollection,
}

/// What a metric's weights are.
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

    /// What its weights are.
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
    fn every_metric_has_a_name_of_its_own_and_is_written_by_it() {
        let names: BTreeSet<_> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        assert_eq!(names.len(), Metric::ALL.len());
        for metric in Metric::ALL {
            let written = serde_json::to_value(metric).unwrap();
            assert_eq!(written, metric.name());
        }
    }
}
