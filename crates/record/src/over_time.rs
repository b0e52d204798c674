//! Syncs at a low, constant rate over time: alone, beside a load, and for hours; and the stalls among them.
//!
//! 1. The rate is bounded, so that the measurement is no load of its own; `rate_per_s` states it.
//! 2. A sync that comes due while another is in flight is not made up for; `skipped` counts them.
//! 3. The counters of a stall are those between the readings around it, of the whole disk and machine.

use super::fitness::ResolvedLatency;
use super::schema_macro::described;

described! {
    /// The figures of one phase.
    pub struct SyncPhase {
        /// "alone", "beside" or "over time".
        pub name: String,
        /// The load of the probe beside it; null if there was none.
        pub load: Option<String>,
        /// How long it took, pauses between its parts excluded.
        pub elapsed_ns: u64,
        /// Syncs that came due while another was in flight, and were not made.
        pub skipped: u64,
        /// Stalls; null while the time above which a sync is one is not known, which is the first phase.
        pub stalls: Option<u64>,
        /// How long one write with its sync took.
        pub latency_ns: ResolvedLatency,
    }

    /// A part of the phase "over time".
    #[derive(Copy)]
    pub struct SyncInterval {
        /// Its start, nanoseconds from the start of the probe of this directory.
        pub start_ns: u64,
        /// Its end, likewise.
        pub end_ns: u64,
        /// Stalls.
        pub stalls: u64,
        /// How long one write with its sync took.
        pub latency_ns: ResolvedLatency,
    }

    /// A sync that took longer than `stall_ns`, and what the disk and the kernel did meanwhile.
    pub struct Stall {
        /// The phase.
        pub phase: String,
        /// Its start, nanoseconds from the start of the probe of this directory.
        pub start_ns: u64,
        /// How long it took.
        pub length_ns: u64,
        /// The time between the two readings of the counters around it.
        pub counted_ns: u64,
        /// Of that, the time with any request in flight on the disk; null if not counted.
        pub device_busy_ns: Option<u64>,
        /// Bytes that the disk read; null if not counted.
        pub device_read_bytes: Option<u64>,
        /// Bytes that the disk wrote; null if not counted.
        pub device_written_bytes: Option<u64>,
        /// Flushes that the disk completed; null if not counted.
        pub device_flushes: Option<u64>,
        /// The most requests that were in flight at a reading; null if not counted.
        pub device_in_flight: Option<u64>,
        /// The time in which some task waited for I/O; null if the kernel does not report it.
        pub io_pressure_ns: Option<u64>,
        /// The most bytes that waited to be written at a reading; null if not reported.
        pub dirty_bytes: Option<u64>,
        /// The most bytes that were being written back at a reading; null if not reported.
        pub writeback_bytes: Option<u64>,
    }

    /// Syncs at a low, constant rate over time.
    pub struct SyncsOverTime {
        /// The method.
        pub method: String,
        /// Bytes of one write, which overwrites written blocks one after another.
        pub write_bytes: u64,
        /// Syncs per second at most.
        pub rate_per_s: f64,
        /// A sync that takes longer is a stall: ten times the median alone, and at least 10 ms.
        pub stall_ns: u64,
        /// The phases, in the order of time.
        pub phases: Vec<SyncPhase>,
        /// The parts of the phase "over time".
        pub intervals: Vec<SyncInterval>,
        /// The longest stalls, in the order of time; at most 1,000.
        pub stalls: Vec<Stall>,
        /// All stalls.
        pub stalls_total: u64,
        /// Why the disk's counters are null; null if they are not.
        pub reason: Option<String>,
    }
}
