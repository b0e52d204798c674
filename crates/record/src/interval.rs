//! The figures of one interval of a run: a line of the file, written when the interval is over.

use super::figures::Outcomes;
use super::schema_macro::described;

described! {
    /// One interval of the measured phase.
    pub struct Interval {
        /// The repetition it belongs to, from 1.
        pub repetition: u64,
        /// Its start, nanoseconds after the start of the repetition's measured phase.
        pub start_ns: u64,
        /// Its end, likewise.
        pub end_ns: u64,
        /// Commits acknowledged in it, whenever they started.
        pub committed: u64,
        /// Transactions that the workload's own rule rolled back in it.
        pub aborted: u64,
        /// Transactions given up in it because of conflicts with others.
        pub conflicted: u64,
        /// Transactions that failed in it.
        pub failed: u64,
        /// Transactions of unknown outcome in it.
        pub unfinished: u64,
        /// Half of its service times were no longer; null if none committed.
        pub service_p50_ns: Option<u64>,
        /// 99 % of its service times were no longer; null if none committed.
        pub service_p99_ns: Option<u64>,
        /// The longest of its service times; null if none committed.
        pub service_max_ns: Option<u64>,
        /// Half of its response times were no longer; in a closed loop they are its service times; null if
        /// none committed, and in older records.
        #[serde(default)]
        pub response_p50_ns: Option<u64>,
        /// 99 % of its response times were no longer; null as above.
        #[serde(default)]
        pub response_p99_ns: Option<u64>,
        /// The longest of its response times; null as above.
        #[serde(default)]
        pub response_max_ns: Option<u64>,
        /// Its response times in nanoseconds within 1.6 %, as HdrHistogram's V2 encoding, compressed, in
        /// base64; null if none committed, and in older records.
        pub response_histogram: Option<String>,
        /// Processor time taken by the hypervisor, as a part of all; null if unknown.
        pub steal: Option<f64>,
        /// Processors used by other processes, on average; null if unknown.
        pub foreign_cpus: Option<f64>,
        /// Processor time used by all processes, as a part of all; null if unknown.
        pub busy: Option<f64>,
        /// Part of the time in which some task waited for a processor; null if unknown.
        pub pressure_cpu: Option<f64>,
        /// Part of the time in which some task waited for input or output; null if unknown.
        pub pressure_io: Option<f64>,
        /// Requests in flight at the device, averaged; null if not counted.
        pub queue_length: Option<f64>,
        /// Part of the time in which the device had any request in flight; null if not counted.
        pub device_busy: Option<f64>,
        /// Page faults of the process under test; null if not counted.
        pub page_faults: Option<u64>,
    }
}

impl Interval {
    /// Its length in seconds; at least a nanosecond, so that a rate over it is finite.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns).max(1) as f64 / 1e9
    }

    /// The outcomes of the transactions that ended in it, without their causes.
    pub fn outcomes(&self) -> Outcomes {
        let ends = [self.committed, self.aborted, self.conflicted, self.failed, self.unfinished];
        Outcomes {
            attempted: ends.iter().sum(),
            committed: self.committed,
            aborted: self.aborted,
            conflicted: self.conflicted,
            failed: self.failed,
            unfinished: self.unfinished,
            ..Outcomes::none()
        }
    }

    /// Committed transactions per second.
    pub fn throughput_per_s(&self) -> f64 {
        self.committed as f64 / self.seconds()
    }
}
