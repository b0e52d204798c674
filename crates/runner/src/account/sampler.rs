//! Readings of machine, disk and processes, and the differences between two of them.

use std::path::Path;
use syncline_contract::StoreProcess;
use syncline_host::{
    BlockCounts, BlockDevice, Pressure, Process, ProcessUsage, SyncCounter, SyncCounts, SystemTimes,
};
use syncline_instrument::{Nanos, clock};

/// The machine's activity in an interval, with the fields of the record's interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MachineInterval {
    pub steal: Option<f64>,
    pub pressure_cpu: Option<f64>,
    pub pressure_io: Option<f64>,
    pub other_cpus: Option<f64>,
    pub busy: Option<f64>,
    pub queue_length: Option<f64>,
    pub device_busy: Option<f64>,
    pub page_faults: Option<u64>,
}

/// Reads the counters of machine, disk and processes during a run.
pub(crate) struct Sampler {
    process: StoreProcess,
    place: Result<BlockDevice, String>,
    calls: Result<SyncCounter, String>,
    unseen_syncs: Option<&'static str>,
}

/// All counters at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub at: Nanos,
    system: Option<SystemTimes>,
    pressure: Pressure,
    own: Option<ProcessUsage>,
    store: Option<ProcessUsage>,
    pub block: Option<BlockCounts>,
    pub calls: Option<SyncCounts>,
    /// Synchronous writes by the store's own count.
    pub synced_writes: Option<u64>,
}

impl Sampler {
    /// Create it before the workers: the counters include only threads that this thread starts later.
    /// `unseen_syncs` is the reason why the store's sync calls do not show its syncs, if they do not.
    pub(crate) fn new(
        process: StoreProcess,
        place: Result<BlockDevice, String>,
        unseen_syncs: Option<&'static str>,
    ) -> Sampler {
        let calls = match process {
            StoreProcess::InProcess => SyncCounter::open(Process::Own),
            StoreProcess::Other(pid) => SyncCounter::open(Process::Other(pid)),
            StoreProcess::Unknown(why) => Err(why.to_owned()),
        };
        Sampler { process, place, calls, unseen_syncs }
    }

    /// The disk under the log, or why it is unknown.
    pub(crate) fn log_device(&self) -> &Result<BlockDevice, String> {
        &self.place
    }

    /// Why system calls are not counted; `None` if they are.
    pub(crate) fn calls_refusal(&self) -> Option<&str> {
        self.calls.as_ref().err().map(String::as_str)
    }

    /// Why the counted sync calls are not the store's syncs, or are not counted; `None` if they are.
    pub(crate) fn syncs_refusal(&self) -> Option<&str> {
        self.calls_refusal().or(self.unseen_syncs)
    }

    /// The process whose system calls are counted.
    pub(crate) fn process(&self) -> StoreProcess {
        self.process
    }

    /// Reads all counters.
    pub(crate) fn read(&self) -> Reading {
        let root = Path::new("/");
        let own = ProcessUsage::own();
        let store = match self.process {
            StoreProcess::InProcess => own,
            StoreProcess::Other(pid) => ProcessUsage::tree(pid, root),
            StoreProcess::Unknown(_) => None,
        };
        let counter = self.calls.as_ref().ok();
        Reading {
            at: clock::now(),
            system: SystemTimes::read(root),
            pressure: Pressure::read(root),
            own,
            store,
            block: self.place.as_ref().ok().and_then(BlockDevice::counts),
            calls: counter.and_then(SyncCounter::read),
            synced_writes: None,
        }
    }

    /// Processor time that the store used from `before` to `now`, if it is a separate process.
    pub(crate) fn store_cpu_ns(&self, before: &Reading, now: &Reading) -> Option<Nanos> {
        match self.process {
            StoreProcess::Other(_) => {
                let used = |reading: &Reading| reading.store.map(|store| store.cpu_ns);
                Some(used(now)?.saturating_sub(used(before)?))
            }
            StoreProcess::InProcess | StoreProcess::Unknown(_) => None,
        }
    }

    /// The machine's activity from `before` to `now`.
    pub(crate) fn between(&self, before: &Reading, now: &Reading) -> MachineInterval {
        let span_ns = now.at.saturating_sub(before.at);
        let of_span = |time_ns: Nanos| (span_ns > 0).then(|| time_ns as f64 / span_ns as f64);
        let share = |now: Option<Nanos>, before: Option<Nanos>| {
            let waited = of_span(now?.saturating_sub(before?))?;
            Some(waited.min(1.0))
        };
        let disk = |pick: fn(&BlockCounts) -> u64| {
            let ms = pick(&now.block?).saturating_sub(pick(&before.block?));
            of_span(ms * 1_000_000)
        };
        let system = now.system.zip(before.system);
        MachineInterval {
            steal: system.and_then(|(now, before)| now.steal_share(&before)),
            busy: system.and_then(|(now, before)| now.busy_share(&before)),
            pressure_cpu: share(now.pressure.cpu_ns, before.pressure.cpu_ns),
            pressure_io: share(now.pressure.io_ns, before.pressure.io_ns),
            other_cpus: self.other_ns(before, now).and_then(of_span),
            queue_length: disk(|counts| counts.weighted_ms),
            device_busy: disk(|counts| counts.busy_ms).map(|busy| busy.min(1.0)),
            page_faults: now.page_faults_since(before),
        }
    }

    fn other_ns(&self, before: &Reading, now: &Reading) -> Option<Nanos> {
        let busy_ns = now.system?.busy_ns.saturating_sub(before.system?.busy_ns);
        let own_ns = now.own?.cpu_ns.saturating_sub(before.own?.cpu_ns);
        let store_ns = match self.process {
            StoreProcess::Other(_) => self.store_cpu_ns(before, now)?,
            StoreProcess::InProcess | StoreProcess::Unknown(_) => 0,
        };
        Some(busy_ns.saturating_sub(own_ns + store_ns))
    }
}

impl Reading {
    /// Page faults of the store's process since `before`.
    pub(crate) fn page_faults_since(&self, before: &Reading) -> Option<u64> {
        Some(self.store?.page_faults.saturating_sub(before.store?.page_faults))
    }

    /// Processor time of this process since `before`.
    pub(crate) fn own_cpu_ns_since(&self, before: &Reading) -> Option<Nanos> {
        Some(self.own?.cpu_ns.saturating_sub(before.own?.cpu_ns))
    }

    /// System calls since `before`.
    pub(crate) fn calls_since(&self, before: &Reading) -> Option<SyncCounts> {
        let (now, before) = (self.calls?, before.calls?);
        Some(SyncCounts {
            syncs: now.syncs.saturating_sub(before.syncs),
            system_calls: now
                .system_calls
                .zip(before.system_calls)
                .map(|(now, before)| now.saturating_sub(before)),
        })
    }
}
