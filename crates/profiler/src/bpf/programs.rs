//! The programs: loaded into the kernel, attached to its tracepoints, and detached when dropped.
//!
//! The programs of system calls and switches run most often; they are attached and detached by sampling
//! windows. The others stay from the preparation to the end.

use super::collector::monotonic;
use super::map_types::{
    FOUND_PLACE, FOUND_TIMES, FOUND_WANTED, Processor, RawProcessor, RawSlot, RawThread, RawWindow,
};
use super::refusal::refusal;
use super::tracepoint_layout::{self, Offsets};
use aya::maps::{Array, HashMap, Map, MapData, MapError, PerCpuArray, PerCpuValues, RingBuf};
use aya::programs::raw_trace_point::RawTracePointLinkId;
use aya::programs::{Program, ProgramError, RawTracePoint, TracePoint};
use aya::{Ebpf, EbpfError, EbpfLoader};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use syncline_host::{PerfEvent, SYNC_TRACEPOINTS, tracepoint};
use syncline_instrument::Nanos;

/// The compiled `program.bpf.c`, from `scripts/build-bpf`.
pub(super) static OBJECT: &[u8] = aya::include_bytes_aligned!("program.o");

/// The programs of tracepoints, by their path in the trace file system. Forks come first, and system calls,
/// from [`CALLS`], last, so that a thread is known before its events are counted.
const TRACEPOINTS: [(&str, &str); 6] = [
    ("task_fork", "sched/sched_process_fork"),
    ("task_exec", "sched/sched_process_exec"),
    ("task_exit", "sched/sched_process_exit"),
    ("block_queue", "block/block_bio_queue"),
    ("block_issue", "block/block_rq_issue"),
    ("block_requeue", "block/block_rq_requeue"),
];
/// System calls, and their tracepoint. The most frequent programs run without a perf record.
const CALLS: (&str, &str) = ("system_call", "sys_enter");
/// Switches, and if that is not available, the program that uses a perf record.
const SWITCHES: (&str, &str) = ("task_switch", "sched_switch");
const SWITCHES_BY_RECORD: (&str, &str) = ("task_switch_by_record", "sched/sched_switch");
/// Sync calls, at the tracepoint of each.
const SYNCS: &str = "sync_call";
/// Finds the offset of a thread's number in the kernel's structure.
const FIND: (&str, &str) = ("find_number", "sys_enter");

/// The loaded programs, with their maps.
#[derive(Debug)]
pub(super) struct Programs {
    object: Ebpf,
    /// Programs that stay attached.
    attached: Vec<PerfEvent>,
    /// Programs of a sampling window: of system calls, and of switches if they need no record.
    calls: Option<RawTracePointLinkId>,
    switches: Option<RawTracePointLinkId>,
    /// True if the program of switches without a record is loaded.
    has_switches: bool,
    /// The tracepoints of sync calls; empty if the kernel has none.
    syncs: Vec<u64>,
    window: Window,
}

/// `struct window`, as last written.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    since: Nanos,
    until: Nanos,
    attached: Nanos,
    sampled: Nanos,
    sampling_since: Nanos,
    sampling_until: Nanos,
}

impl Window {
    fn raw(self) -> RawWindow {
        [
            self.since,
            self.until,
            self.attached,
            self.sampled,
            self.sampling_since,
            self.sampling_until,
        ]
    }
}

impl Programs {
    /// Loads the programs and attaches none; the error is a sentence.
    pub(super) fn load() -> Result<Programs, String> {
        // Checked first: ordinary users lack this permission, and its error is the clearest.
        let mut offsets = tracepoint_layout::offsets();
        let syncs = SYNC_TRACEPOINTS.iter().map(|name| tracepoint::number(name));
        let syncs = syncs.collect::<Result<Vec<_>, _>>().unwrap_or_default();
        if let Ok(offsets) = &mut offsets {
            offsets.push(("SYNCS_APART", u32::from(!syncs.is_empty())));
        }
        let mut object = match load_object(offsets.as_ref().unwrap_or(&Vec::new())) {
            Err(error) if raised_locked_memory(&error) => {
                load_object(offsets.as_ref().unwrap_or(&Vec::new()))
            }
            loaded => loaded,
        }
        .map_err(|error| refusal(&error))?;
        offsets?;
        let of_records = TRACEPOINTS.iter().map(|(name, _)| *name);
        for name in of_records.chain([SYNCS, SWITCHES_BY_RECORD.0]) {
            let program: &mut TracePoint = program(&mut object, name)?;
            program.load().map_err(|error| refusal(&error))?;
        }
        let calls: &mut RawTracePoint = program(&mut object, CALLS.0)?;
        calls.load().map_err(|error| refusal(&error))?;
        Ok(Programs {
            object,
            attached: Vec::new(),
            calls: None,
            switches: None,
            has_switches: false,
            syncs,
            window: Window::default(),
        })
    }

    /// Attaches all programs. System calls and switches can be detached again if [`Programs::can_pause`].
    pub(super) fn attach(&mut self) -> Result<(), String> {
        for (name, place) in TRACEPOINTS {
            self.attach_by_record(name, place, tracepoint::number(place)?)?;
        }
        for number in self.syncs.clone() {
            self.attach_by_record(SYNCS, "of sync calls", number)?;
        }
        if self.attach_switches().is_err() {
            let (name, place) = SWITCHES_BY_RECORD;
            self.attach_by_record(name, place, tracepoint::number(place)?)?;
        }
        self.attach_calls()?;
        self.window.attached = monotonic();
        self.write_window()
    }

    /// True if system calls and switches may be detached: then nothing else depends on them.
    pub(super) fn can_pause(&self) -> bool {
        self.has_switches && !self.syncs.is_empty()
    }

    fn attach_calls(&mut self) -> Result<(), String> {
        let program: &mut RawTracePoint = program(&mut self.object, CALLS.0)?;
        let link = program.attach(CALLS.1).map_err(|error| refusal(&error))?;
        self.calls = Some(link);
        Ok(())
    }

    fn attach_by_record(&mut self, name: &str, place: &str, number: u64) -> Result<(), String> {
        let program: &mut TracePoint = program(&mut self.object, name)?;
        let program = program.fd().map_err(|error| refusal(&error))?;
        let event = PerfEvent::run(number, program.as_fd());
        let event = event.map_err(|error| format!("tracepoint {place}: {}", refusal(&error)))?;
        self.attached.push(event);
        Ok(())
    }

    /// Attaches the program of switches without a record, which must know the offset of a thread's number and
    /// receive its state (Linux 5.18). The error is a sentence.
    pub(super) fn attach_switches(&mut self) -> Result<(), String> {
        if !self.has_switches {
            self.find_number()?;
            let program: &mut RawTracePoint = program(&mut self.object, SWITCHES.0)?;
            program.load().map_err(|error| refusal(&error))?;
            self.has_switches = true;
        }
        let program: &mut RawTracePoint = program(&mut self.object, SWITCHES.0)?;
        match program.attach(SWITCHES.1) {
            Ok(link) => self.switches = Some(link),
            Err(error) => {
                self.has_switches = false;
                program.unload().map_err(|error| refusal(&error))?;
                return Err(refusal(&error));
            }
        }
        Ok(())
    }

    /// Runs the program that finds this thread's number in the kernel's structure.
    fn find_number(&mut self) -> Result<(), String> {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        let wanted = u64::from(std::process::id()) << 32 | u64::from(thread.unsigned_abs());
        self.found()?.set(FOUND_WANTED, wanted, 0).map_err(|error| unreadable("found", &error))?;
        let finder: &mut RawTracePoint = program(&mut self.object, FIND.0)?;
        finder.load().map_err(|error| refusal(&error))?;
        finder.attach(FIND.1).map_err(|error| refusal(&error))?;
        // The system call that runs the program.
        let _parent = rustix::process::getppid();
        let finder: &mut RawTracePoint = program(&mut self.object, FIND.0)?;
        finder.unload().map_err(|error| refusal(&error))?;
        let found = self.found()?;
        let read = |place| {
            let number = found.get(&place, 0);
            number.map_err(|error| unreadable("found", &error))
        };
        match (read(FOUND_TIMES)?, read(FOUND_PLACE)?) {
            (1, place) if place > 0 => Ok(()),
            (times, _) => Err(format!(
                "the kernel's structure of a thread contains its number {times} times, so its offset is unknown"
            )),
        }
    }

    fn found(&mut self) -> Result<Array<&mut MapData, u64>, String> {
        Array::try_from(self.map("found")?).map_err(|error| unreadable("found", &error))
    }

    /// Detaches the programs; their maps no longer change, and can be read while this lives.
    pub(super) fn detach(&mut self) -> Result<(), String> {
        self.attached.clear();
        for name in [CALLS.0, SWITCHES.0] {
            let program: &mut RawTracePoint = program(&mut self.object, name)?;
            match program.unload() {
                // Switches used a record.
                Ok(()) | Err(ProgramError::NotLoaded) => {}
                Err(error) => return Err(refusal(&error)),
            }
        }
        Ok(())
    }

    /// The files in which the kernel reports each program's run time.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let programs = self.object.programs();
        let loaded = programs.filter_map(|(_, program)| program.fd().ok());
        let numbers = loaded.map(|program| program.as_fd().as_raw_fd());
        numbers.map(|number| PathBuf::from(format!("/proc/self/fdinfo/{number}"))).collect()
    }

    /// Begins counting at a time of the kernel's monotonic clock, and the first sampling window.
    pub(super) fn count_since(&mut self, at: Nanos) -> Result<(), String> {
        (self.window.since, self.window.sampling_since) = (at, at);
        self.write_window()
    }

    /// Ends counting, and the current sampling window.
    pub(super) fn count_until(&mut self, at: Nanos) -> Result<(), String> {
        self.window.until = at;
        if self.window.sampling_since > 0 {
            self.window.sampling_until = at;
        }
        self.write_window()
    }

    /// Ends the sampling window: detaches the programs of system calls and switches.
    pub(super) fn pause(&mut self, at: Nanos) -> Result<(), String> {
        self.window.sampling_until = at;
        self.write_window()?;
        let links = [(CALLS.0, self.calls.take()), (SWITCHES.0, self.switches.take())];
        for (name, link) in links {
            if let Some(link) = link {
                let program: &mut RawTracePoint = program(&mut self.object, name)?;
                program.detach(link).map_err(|error| refusal(&error))?;
            }
        }
        self.window.sampled = self.sampled();
        (self.window.sampling_since, self.window.sampling_until) = (0, 0);
        self.window.attached = 0;
        self.write_window()
    }

    /// Attaches the programs that a pause has detached. They count nothing before [`Programs::start_window`].
    pub(super) fn resume(&mut self) -> Result<(), String> {
        self.window.attached = monotonic();
        self.write_window()?;
        self.attach_switches()?;
        self.attach_calls()
    }

    /// Begins a sampling window.
    pub(super) fn start_window(&mut self, at: Nanos) -> Result<(), String> {
        self.window.sampling_since = at;
        self.write_window()
    }

    /// The total length of all sampling windows.
    pub(super) fn sampled(&self) -> Nanos {
        let Window { sampled, sampling_since, sampling_until, .. } = self.window;
        sampled + sampling_until.saturating_sub(sampling_since)
    }

    /// Writes the window, which the programs only read.
    fn write_window(&mut self) -> Result<(), String> {
        let failed = |error: MapError| unreadable("window", &error);
        let raw = self.window.raw();
        let map = self.map("window")?;
        let mut map: Array<_, RawWindow> = Array::try_from(map).map_err(failed)?;
        map.set(0, raw, 0).map_err(failed)
    }

    /// The counts of each processor.
    pub(super) fn processors(&mut self) -> Result<Vec<Processor>, String> {
        let failed = |error: MapError| unreadable("processors", &error);
        let all: PerCpuArray<_, RawProcessor> =
            PerCpuArray::try_from(self.map("processors")?).map_err(failed)?;
        let all = all.get(&0, 0).map_err(failed)?;
        Ok(all.iter().map(Processor::of).collect())
    }

    /// The slots of threads of the process tree.
    pub(super) fn slots(&mut self) -> Result<Array<&mut MapData, RawSlot>, String> {
        Array::try_from(self.map("slots")?).map_err(|error| unreadable("slots", &error))
    }

    /// Marks that threads of a slot may be in the map of threads without one.
    pub(super) fn crowd(&mut self, slot: u32) -> Result<(), String> {
        let crowded = Array::try_from(self.map("crowded")?);
        let set = crowded.and_then(|mut crowded: Array<_, u64>| crowded.set(slot, 1, 0));
        set.map_err(|error| unreadable("crowded", &error))
    }

    /// The threads of the process tree that have no slot yet.
    pub(super) fn threads(&mut self) -> Result<HashMap<&mut MapData, u32, RawThread>, String> {
        let map = self.map("threads")?;
        HashMap::try_from(map).map_err(|error| unreadable("threads", &error))
    }

    /// Makes the programs determine anew which threads are running.
    pub(super) fn forget_processors(&mut self) -> Result<(), String> {
        let failed = |error: MapError| unreadable("processors", &error);
        let mut map: PerCpuArray<_, RawProcessor> =
            PerCpuArray::try_from(self.map("processors")?).map_err(failed)?;
        let processors = map.get(&0, 0).map_err(failed)?.len();
        let nothing = PerCpuValues::try_from(vec![RawProcessor::default(); processors]);
        let nothing = nothing.map_err(|error| error.to_string())?;
        map.set(0, nothing, 0).map_err(failed)
    }

    /// The ring of stack copies; it can be taken once.
    pub(super) fn take_copies(&mut self) -> Result<RingBuf<MapData>, String> {
        let map = self.object.take_map("copies");
        let map = map.ok_or_else(|| missing("copies"))?;
        RingBuf::try_from(map).map_err(|error| unreadable("copies", &error))
    }

    /// A map by its name in the source.
    pub(super) fn map(&mut self, name: &str) -> Result<&mut Map, String> {
        self.object.map_mut(name).ok_or_else(|| missing(name))
    }
}

fn load_object(offsets: &Offsets) -> Result<Ebpf, EbpfError> {
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    for (constant, value) in offsets {
        loader.override_global(constant, value, true);
    }
    loader.load(OBJECT)
}

/// Before Linux 5.11, maps count against the limit of locked memory. True if that limit was the cause and has
/// been raised.
fn raised_locked_memory(error: &EbpfError) -> bool {
    let refused = matches!(error, EbpfError::MapError(MapError::CreateError { .. }));
    let is_limited = getrlimit(Resource::Memlock).current.is_some();
    let without = Rlimit { current: None, maximum: None };
    refused && is_limited && setrlimit(Resource::Memlock, without).is_ok()
}

fn program<'a, P>(object: &'a mut Ebpf, name: &str) -> Result<&'a mut P, String>
where
    &'a mut P: TryFrom<&'a mut Program, Error = ProgramError>,
{
    let program = object.program_mut(name).ok_or_else(|| missing(name))?;
    program.try_into().map_err(|error: ProgramError| refusal(&error))
}

fn missing(name: &str) -> String {
    format!("the BPF object that this program carries has no {name}; build it by scripts/build-bpf")
}

/// An error of a map, as a sentence.
pub(super) fn unreadable(map: &str, error: &MapError) -> String {
    format!("the BPF map {map} cannot be read or written: {}", refusal(error))
}
