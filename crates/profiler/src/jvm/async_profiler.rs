//! The collector by async-profiler, which runs inside the JVM.

use super::accounts::{ALL, JvmCpuTime, OWN};
use super::attach_socket::AttachSocket;
use super::jfr::{Chunk, checked_chunks};
use super::jfr_frames::Writer;
use super::profile_filler::ProfileFiller;
use super::profiler_library::{self, Shared};
use super::sample_weight;
use super::syscall_detector::{self, SyscallDetector};
use crate::account::{all_missing, measured, missing};
use crate::collector::{Collector, OpenResult};
use crate::profiler::ProfilerOptions;
use crate::subject::{Runtime, Subject};
use std::fs;
use std::path::PathBuf;
use syncline_instrument::{Nanos, clock};
use syncline_profile::{Account, Metric, Precision, ProfileBuilder};

const NAME: &str = "async-profiler";
const RECORDING: &str = "recording.jfr";
const LOG: &str = "log.txt";
/// The mean number of bytes between two allocation samples.
const ALLOCATION: u64 = 512 << 10;
/// The waiting time for locks between two samples.
const WAITING_NS: Nanos = 1_000_000;
/// The wall clock is sampled this many times less often: each sample covers every running thread.
const WALL: Nanos = 5;
/// The minimum sampling interval of processor time: below the kernel's clock tick it gives no more samples.
const SHORTEST_NS: Nanos = 1_000_000;
/// The signals for processor time and wall clock. If both are due, the kernel delivers the lower one first,
/// which then sees the interrupted thread.
const SIGNALS: &str = "26/27";

/// The events that are read.
const EVENTS: [&str; 6] = [
    "jdk.ExecutionSample",
    "profiler.WallClockSample",
    "jdk.ObjectAllocationInNewTLAB",
    "jdk.ObjectAllocationOutsideTLAB",
    "jdk.JavaMonitorEnter",
    "jdk.ThreadPark",
];

/// async-profiler in a JVM.
#[derive(Debug)]
pub(crate) struct AsyncProfiler {
    machine: AttachSocket,
    library: PathBuf,
    shared: Shared,
    cpu_ns: Nanos,
    /// True if the JVM reports allocations.
    allocations: bool,
    cpu_time: JvmCpuTime,
    runs: bool,
}

/// The contents of a recording.
#[derive(Default)]
struct SampleCounts {
    cpu: u64,
    /// True if processor samples contain the address of the instruction.
    standing: bool,
}

impl AsyncProfiler {
    /// Attaches to the JVM and loads the profiler into it. A process that is not a JVM is not a subject of
    /// this collector.
    pub(crate) fn open(subject: &Subject, options: &ProfilerOptions) -> OpenResult {
        if subject.runtime != Runtime::Jvm {
            return Err(Vec::new());
        }
        match AsyncProfiler::load(subject.pid(), options) {
            Ok(sampler) => Ok(Box::new(sampler)),
            Err(why) => Err(all_missing(OWN, NAME, &why)),
        }
    }

    fn load(pid: u32, options: &ProfilerOptions) -> Result<AsyncProfiler, String> {
        // Found before the JVM is touched.
        let loaded = profiler_library::loaded(pid);
        let found = loaded.is_none().then(profiler_library::find).transpose()?;
        let machine = AttachSocket::to(pid)?;
        let shared = Shared::make(pid, machine.owner())?;
        let library = match (loaded, found) {
            (Some(library), _) => library,
            (None, found) => shared.copy_library(&found.unwrap_or_default())?,
        };
        let samples = Nanos::from(options.samples_per_s.max(1));
        let mut sampler = AsyncProfiler {
            machine,
            library,
            shared,
            cpu_ns: (clock::SECOND / samples).max(SHORTEST_NS),
            allocations: true,
            cpu_time: JvmCpuTime::default(),
            runs: false,
        };
        // One-time initialization happens now, outside the window.
        if sampler.begin().is_err() {
            sampler.allocations = false;
            sampler.begin()?;
        }
        sampler.end()?;
        Ok(sampler)
    }

    fn begin(&mut self) -> Result<(), String> {
        let (cpu, wall) = (self.cpu_ns, self.cpu_ns * WALL);
        let allocations =
            if self.allocations { format!("alloc={ALLOCATION},") } else { String::new() };
        self.ask(&format!(
            "start,event=ctimer,interval={cpu},wall={wall},{allocations}lock={WAITING_NS},\
             signal={SIGNALS},features=pcaddr,jfr"
        ))?;
        self.runs = true;
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        self.runs = false;
        self.ask("stop")
    }

    fn ask(&self, what: &str) -> Result<(), String> {
        let path = |name| self.shared.inside(name).display().to_string();
        let options = format!("{what},quiet,file={},log={}", path(RECORDING), path(LOG));
        self.machine.load(&self.library, &options).map_err(|error| {
            let log = fs::read_to_string(self.shared.outside(LOG)).unwrap_or_default();
            let log: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
            format!("{error}: {}", log.join(" | "))
        })
    }

    /// Puts the recording into the profile.
    fn fill(&self, profile: &mut ProfileBuilder) -> Result<SampleCounts, String> {
        let bytes = self.shared.read(RECORDING)?;
        let chunks = checked_chunks(&bytes, &EVENTS)?;
        let mut standing = SyscallDetector::of(self.machine.pid()).ok();
        let samples = count_samples(&chunks, standing.is_some())?;
        let each = self
            .cpu_time
            .times()
            .map_or(self.cpu_ns, |(user, kernel)| sample_weight::each(user + kernel, samples.cpu));
        for chunk in &chunks {
            let mut fill = ProfileFiller::new(profile, chunk, Writer::AsyncProfiler);
            if let Some(standing) = standing.as_mut().filter(|_| samples.standing) {
                fill.events("jdk.ExecutionSample", |_, address| {
                    let in_kernel = address.is_some_and(|address| standing.in_kernel(address));
                    let metric = if in_kernel { Metric::CpuKernel } else { Metric::CpuUser };
                    (vec![(metric, each)], 1)
                })?;
            }
            self.wall(&mut fill)?;
            allocations(&mut fill)?;
            waits(&mut fill)?;
        }
        Ok(samples)
    }

    fn wall(&self, fill: &mut ProfileFiller<'_, '_>) -> Result<u64, String> {
        let each = self.cpu_ns * WALL;
        fill.events("profiler.WallClockSample", |event, _| {
            let samples = event.whole("samples").unwrap_or(1).clamp(0, 1 << 32);
            let samples = samples.cast_unsigned();
            (vec![(Metric::Wall, samples * each)], samples)
        })
    }

    fn cpu_account(&self, metric: Metric, samples: &SampleCounts) -> Account {
        let due = self.cpu_time.times();
        let due = due.map_or(0, |(user, kernel)| (user + kernel) / self.cpu_ns);
        let how = if samples.standing || samples.cpu == 0 {
            Precision::Sampled(format!(
                "every {} ms of a thread's processor time, scaled to all that the process used; in \
                 the kernel are samples within a system call; page faults are not distinguished from the rest",
                self.cpu_ns / 1_000_000
            ))
        } else {
            Precision::NotAttributable(
                "user time cannot be distinguished from kernel time: the profiler or this machine does not report \
                 the instruction address; async-profiler 4.2 and later do, on x86-64 and AArch64"
                    .to_owned(),
            )
        };
        Account {
            lost: due.saturating_sub(samples.cpu),
            total: self.cpu_time.total(metric),
            ..measured(metric, NAME, how)
        }
    }

    fn accounts(&self, samples: &SampleCounts) -> Vec<Account> {
        let wall_ms = self.cpu_ns * WALL / 1_000_000;
        let sampled = |metric, how: String| measured(metric, NAME, Precision::Sampled(how));
        let mut accounts = vec![
            self.cpu_account(Metric::CpuUser, samples),
            self.cpu_account(Metric::CpuKernel, samples),
            sampled(Metric::Wall, format!("each thread every {wall_ms} ms")),
        ];
        for metric in [Metric::AllocatedBytes, Metric::AllocatedObjects] {
            accounts.push(if self.allocations {
                sampled(metric, format!("every {} KiB", ALLOCATION >> 10))
            } else {
                missing(metric, NAME, "this JVM does not report allocations: 11 and later do")
            });
        }
        for metric in [Metric::Contentions, Metric::ContentionWait] {
            let every = WAITING_NS / 1_000_000;
            accounts.push(sampled(
                metric,
                format!(
                    "every {every} ms of waiting for monitors, ReentrantLock, ReentrantReadWriteLock and \
                     Semaphore"
                ),
            ));
        }
        let why = "async-profiler does not report sleeps; the JVM's own recorder does, but it is used only \
                   without async-profiler";
        accounts.push(missing(Metric::Sleeps, NAME, why));
        accounts
    }
}

/// Counts the processor samples, and determines whether they contain instruction addresses.
fn count_samples(chunks: &[Chunk<'_>], standing: bool) -> Result<SampleCounts, String> {
    let mut samples = SampleCounts::default();
    for chunk in chunks {
        for event in chunk.events("jdk.ExecutionSample") {
            let event = event?;
            samples.cpu += 1;
            if standing && syscall_detector::is_supported() && !samples.standing {
                let (address, _) = super::jfr_frames::stack(&event, Writer::AsyncProfiler);
                samples.standing = address.is_some();
            }
        }
    }
    Ok(samples)
}

fn allocations(fill: &mut ProfileFiller<'_, '_>) -> Result<(), String> {
    for name in ["jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB"] {
        fill.events(name, |event, _| {
            let size = event.whole("allocationSize").unwrap_or(0);
            let (bytes, objects) = sample_weight::allocated(size, ALLOCATION);
            let weights =
                vec![(Metric::AllocatedBytes, bytes), (Metric::AllocatedObjects, objects)];
            (weights, 1)
        })?;
    }
    Ok(())
}

fn waits(fill: &mut ProfileFiller<'_, '_>) -> Result<(), String> {
    for name in ["jdk.JavaMonitorEnter", "jdk.ThreadPark"] {
        fill.events(name, |event, _| {
            let wait_ns = event.span_ns("duration").unwrap_or(0);
            let (waits, wait_ns) = sample_weight::waited(wait_ns, WAITING_NS);
            let weights = vec![(Metric::Contentions, waits), (Metric::ContentionWait, wait_ns)];
            (weights, 1)
        })?;
    }
    Ok(())
}

impl Collector for AsyncProfiler {
    fn takes(&self) -> &[Metric] {
        &ALL
    }

    fn start(&mut self) -> Result<(), String> {
        self.begin()?;
        self.cpu_time.begins(self.machine.pid());
        Ok(())
    }

    fn stop(&mut self) -> Result<(), String> {
        self.cpu_time.ends(self.machine.pid());
        self.end()
    }

    fn hand_over(self: Box<Self>, profile: &mut ProfileBuilder) {
        match self.fill(profile) {
            Ok(samples) => self.cpu_time.hand_over(self.accounts(&samples), profile),
            Err(why) => self.failed(&why).into_iter().for_each(|account| profile.account(account)),
        }
    }

    fn failed(&self, why: &str) -> Vec<Account> {
        self.cpu_time.failed(self.takes(), NAME, why)
    }
}

impl Drop for AsyncProfiler {
    fn drop(&mut self) {
        if self.runs && self.end().is_err() {
            // The JVM has ended, and the recording with it.
        }
    }
}
