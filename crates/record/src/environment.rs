//! The measured environment: sync line, machine, device.

use super::figures::Latency;
use super::probe::ProbeRecord;
use super::schema_macro::described;

/// The load of other processes, in processors, that disturbs a run on any machine.
pub const DISTURBING_CPUS: f64 = 0.2;

/// The share of stolen time that disturbs percentiles.
pub const DISTURBING_STEAL: f64 = 0.01;

described! {
    /// How many syncs the log directory completes: 4 KiB writes that walk over written blocks, by the fastest
    /// durable method.
    pub struct SyncLine {
        /// The directory the line belongs to; null if the store has none on this machine.
        pub directory: Option<String>,
        /// The disk below in a few words; null if unknown.
        pub device: Option<String>,
        /// The fastest durable method; null if none was measured.
        pub method: Option<String>,
        /// The state of the blocks; null if none was measured.
        pub file_state: Option<String>,
        /// Bytes of one write; null if none was measured.
        pub write_bytes: Option<u64>,
        /// Syncs per second with one outstanding; null if not measured.
        pub line_1: Option<f64>,
        /// The best rate with 2 to 16 outstanding; null if not measured.
        pub line_max: Option<f64>,
        /// How many were outstanding at `line_max`; null if not measured.
        pub line_max_outstanding: Option<u64>,
        /// Time of one sync with one outstanding; null if not measured.
        pub latency_ns: Option<Latency>,
        /// Rates of the 1 s windows of `line_1` measured before the run.
        pub before: Vec<f64>,
        /// Rates of the 1 s windows of `line_1` measured after the run.
        pub after: Vec<f64>,
        /// The shortest round trip to a store in another process; null if there is none.
        pub round_trip_ns: Option<u64>,
        /// The result of the rate rule; null if it found nothing or does not apply.
        pub verdict: Option<String>,
        /// Why fields are null; null if none is.
        pub reason: Option<String>,
    }

    /// The machine that ran the load.
    pub struct Machine {
        /// The host's name; null if unknown or removed.
        pub host: Option<String>,
        /// The processor's model; null if unknown.
        pub cpu: Option<String>,
        /// Processors that the run could use; null if unknown.
        pub cores: Option<u64>,
        /// True if two processors may share a core; null if unknown.
        pub smt: Option<bool>,
        /// The frequency governor; null if there is none.
        pub governor: Option<String>,
        /// Bytes of memory; null if unknown.
        pub memory_bytes: Option<u64>,
        /// The kernel's release; null if unknown.
        pub kernel: Option<String>,
        /// The hypervisor that runs the machine; null if there is none or it does not show itself.
        pub hypervisor: Option<String>,
        /// Part of all processor time that the hypervisor took during the measurement; null if unknown.
        pub steal: Option<f64>,
        /// Processors used by other processes during the measurement, on average; null if unknown.
        pub foreign_cpus: Option<f64>,
        /// Part of the measured time in which some task waited for a processor; null if unknown.
        pub pressure_cpu: Option<f64>,
        /// Part of the measured time in which some task waited for input or output; null if unknown.
        pub pressure_io: Option<f64>,
    }

    /// The disk below the store's log.
    pub struct Device {
        /// Its name in the kernel; null if there is no single disk.
        pub name: Option<String>,
        /// Its model; null if it reports none.
        pub model: Option<String>,
        /// Requests in flight, averaged over the intervals; null if not counted.
        pub queue_length: Option<f64>,
        /// Why fields are null; null if none is.
        pub reason: Option<String>,
    }
}

/// A layer below a directory that drops syncs, or loses its contents when the power goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedSyncs {
    /// What the kernel reports: "ext4 at /data is mounted with nobarrier, so no flush is sent".
    pub evidence: String,
    /// The command that would change it, as text to show; `None` if no command does.
    pub remedy: Option<String>,
}

impl SyncLine {
    /// A line that was not measured, with the reason.
    pub fn unknown(directory: Option<String>, reason: impl Into<String>) -> SyncLine {
        SyncLine {
            directory,
            device: None,
            method: None,
            file_state: None,
            write_bytes: None,
            line_1: None,
            line_max: None,
            line_max_outstanding: None,
            latency_ns: None,
            before: Vec::new(),
            after: Vec::new(),
            round_trip_ns: None,
            verdict: None,
            reason: Some(reason.into()),
        }
    }

    /// The line of a run between two probes of its log directory.
    pub fn between(before: &ProbeRecord, after: Option<&ProbeRecord>) -> SyncLine {
        let mut line = before.body.sync_line.clone();
        if let Some(after) = after {
            line.after.clone_from(&after.body.sync_line.before);
        } else if line.reason.is_none() {
            line.reason = Some("not probed again after the run".to_owned());
        }
        line
    }
}

impl Machine {
    /// A machine of which nothing is known.
    pub fn unknown() -> Machine {
        Machine {
            host: None,
            cpu: None,
            cores: None,
            smt: None,
            governor: None,
            memory_bytes: None,
            kernel: None,
            hypervisor: None,
            steal: None,
            foreign_cpus: None,
            pressure_cpu: None,
            pressure_io: None,
        }
    }

    /// True if both may be machines of the same speed: every fact known of both agrees.
    pub fn equals(&self, other: &Machine) -> bool {
        fn agree<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
            one.zip(other).is_none_or(|(one, other)| one == other)
        }
        agree(self.host.as_ref(), other.host.as_ref())
            && agree(self.cpu.as_ref(), other.cpu.as_ref())
            && agree(self.cores.as_ref(), other.cores.as_ref())
            && agree(self.memory_bytes.as_ref(), other.memory_bytes.as_ref())
    }

    /// The machine in a few words: "2 x Xeon E5, 8 GiB, Linux 6.1, KVM".
    pub fn in_words(&self) -> String {
        let mut words = Vec::new();
        match (self.cores, &self.cpu) {
            (Some(cores), Some(cpu)) => words.push(format!("{cores} x {cpu}")),
            (Some(cores), None) => words.push(format!("{cores} processors of unknown model")),
            (None, Some(cpu)) => words.push(cpu.clone()),
            (None, None) => {}
        }
        words.extend(self.memory_bytes.map(|bytes| crate::units::size(bytes as f64)));
        words.extend(self.kernel.as_ref().map(|kernel| format!("Linux {kernel}")));
        words.extend(self.hypervisor.clone());
        if words.is_empty() { "unknown".to_owned() } else { words.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::Machine;

    #[test]
    fn machines_differ_only_in_facts_known_of_both() {
        let one = Machine { cores: Some(2), cpu: Some("Xeon".to_owned()), ..Machine::unknown() };
        let partly_known = Machine { cores: Some(2), ..Machine::unknown() };
        let other = Machine { cores: Some(4), ..one.clone() };
        assert!(one.equals(&partly_known));
        assert!(!one.equals(&other));
        assert_eq!(one.in_words(), "2 x Xeon");
        assert_eq!(Machine::unknown().in_words(), "unknown");
    }
}
