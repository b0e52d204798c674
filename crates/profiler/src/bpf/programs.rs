//! The programs: loaded into the kernel, attached to its tracepoints, detached when dropped.
//!
//! Those of system calls and of switches run most often, and are attached and detached by spells; the others
//! stay from the preparation to the end.

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

/// What `scripts/build-bpf` made of `program.bpf.c`.
pub(super) static OBJECT: &[u8] = aya::include_bytes_aligned!("program.o");

/// Programs of tracepoints, by the place in the trace file system. Forks come first and the system
/// calls, by [`CALLS`], last: a thread is known before anything of it is counted.
const TRACEPOINTS: [(&str, &str); 6] = [
    ("task_fork", "sched/sched_process_fork"),
    ("task_exec", "sched/sched_process_exec"),
    ("task_exit", "sched/sched_process_exit"),
    ("block_queue", "block/block_bio_queue"),
    ("block_issue", "block/block_rq_issue"),
    ("block_requeue", "block/block_rq_requeue"),
];
/// The programs that run most often need no record made for them. System calls, and their tracepoint.
const CALLS: (&str, &str) = ("system_call", "sys_enter");
/// Switches, and where that is not to be had, by a record.
const SWITCHES: (&str, &str) = ("task_switch", "sched_switch");
const SWITCHES_BY_RECORD: (&str, &str) = ("task_switch_by_record", "sched/sched_switch");
/// Sync calls, at the tracepoint of each.
const SYNCS: &str = "sync_call";
/// Finds where the kernel keeps a thread's number.
const FIND: (&str, &str) = ("find_number", "sys_enter");

/// Programs in the kernel, with their maps.
#[derive(Debug)]
pub(super) struct Programs {
    object: Ebpf,
    /// What stays attached.
    attached: Vec<PerfEvent>,
    /// Those of a spell: of system calls, and of switches where they need no record.
    calls: Option<RawTracePointLinkId>,
    switches: Option<RawTracePointLinkId>,
    /// The program of switches that needs no record is loaded.
    has_switches: bool,
    /// The tracepoints of sync calls; empty where the kernel has none.
    syncs: Vec<u64>,
    window: Window,
}

/// `struct window`, as it was written last.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    since: Nanos,
    until: Nanos,
    attached: Nanos,
    looked: Nanos,
    spell_since: Nanos,
    spell_until: Nanos,
}

impl Window {
    fn raw(self) -> RawWindow {
        [self.since, self.until, self.attached, self.looked, self.spell_since, self.spell_until]
    }
}

impl Programs {
    /// Loads them and attaches nothing; the error is a sentence.
    pub(super) fn load() -> Result<Programs, String> {
        // Asked first: it is what an ordinary user lacks, and its sentence is the clearest.
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

    /// Attaches them all to the kernel's tracepoints. System calls and switches can be detached again if
    /// [`Programs::can_pause`].
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

    /// True if system calls and switches need not be told all the time: nothing else rests on them then.
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

    /// Attaches the program of switches that needs no record: it must know where a thread's number stands,
    /// and be told the state (Linux 5.18). The error is a sentence.
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

    /// Lets a program look for the number of this very thread in the kernel's structure of it.
    fn find_number(&mut self) -> Result<(), String> {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        let wanted = u64::from(std::process::id()) << 32 | u64::from(thread.unsigned_abs());
        self.found()?.set(FOUND_WANTED, wanted, 0).map_err(|error| unreadable("found", &error))?;
        let finder: &mut RawTracePoint = program(&mut self.object, FIND.0)?;
        finder.load().map_err(|error| refusal(&error))?;
        finder.attach(FIND.1).map_err(|error| refusal(&error))?;
        // The system call at which it runs.
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
                "the number of a thread was found {times} times in the kernel's structure of it"
            )),
        }
    }

    fn found(&mut self) -> Result<Array<&mut MapData, u64>, String> {
        Array::try_from(self.map("found")?).map_err(|error| unreadable("found", &error))
    }

    /// Detaches them; their maps can be read as long as this lives, and change no more.
    pub(super) fn detach(&mut self) -> Result<(), String> {
        self.attached.clear();
        for name in [CALLS.0, SWITCHES.0] {
            let program: &mut RawTracePoint = program(&mut self.object, name)?;
            match program.unload() {
                // Switches came by a record.
                Ok(()) | Err(ProgramError::NotLoaded) => {}
                Err(error) => return Err(refusal(&error)),
            }
        }
        Ok(())
    }

    /// Where the kernel tells how long each program that is loaded has run.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let programs = self.object.programs();
        let loaded = programs.filter_map(|(_, program)| program.fd().ok());
        let numbers = loaded.map(|program| program.as_fd().as_raw_fd());
        numbers.map(|number| PathBuf::from(format!("/proc/self/fdinfo/{number}"))).collect()
    }

    /// Begins to count, by the kernel's monotonic clock, and with it the first spell.
    pub(super) fn count_since(&mut self, at: Nanos) -> Result<(), String> {
        (self.window.since, self.window.spell_since) = (at, at);
        self.write_window()
    }

    /// Ends counting, and the spell if there is one.
    pub(super) fn count_until(&mut self, at: Nanos) -> Result<(), String> {
        self.window.until = at;
        if self.window.spell_since > 0 {
            self.window.spell_until = at;
        }
        self.write_window()
    }

    /// Ends the spell: system calls and switches are told no more.
    pub(super) fn pause(&mut self, at: Nanos) -> Result<(), String> {
        self.window.spell_until = at;
        self.write_window()?;
        let links = [(CALLS.0, self.calls.take()), (SWITCHES.0, self.switches.take())];
        for (name, link) in links {
            if let Some(link) = link {
                let program: &mut RawTracePoint = program(&mut self.object, name)?;
                program.detach(link).map_err(|error| refusal(&error))?;
            }
        }
        self.window.looked = self.looked();
        (self.window.spell_since, self.window.spell_until) = (0, 0);
        self.window.attached = 0;
        self.write_window()
    }

    /// Attaches what a pause has detached. Nothing of it is counted before [`Programs::look`].
    pub(super) fn resume(&mut self) -> Result<(), String> {
        self.window.attached = monotonic();
        self.write_window()?;
        self.attach_switches()?;
        self.attach_calls()
    }

    /// Begins a spell.
    pub(super) fn look(&mut self, at: Nanos) -> Result<(), String> {
        self.window.spell_since = at;
        self.write_window()
    }

    /// How long all spells were, the last one up to its end.
    pub(super) fn looked(&self) -> Nanos {
        let Window { looked, spell_since, spell_until, .. } = self.window;
        looked + spell_until.saturating_sub(spell_since)
    }

    /// The programs read the window and never write to it.
    fn write_window(&mut self) -> Result<(), String> {
        let failed = |error: MapError| unreadable("window", &error);
        let raw = self.window.raw();
        let map = self.map("window")?;
        let mut map: Array<_, RawWindow> = Array::try_from(map).map_err(failed)?;
        map.set(0, raw, 0).map_err(failed)
    }

    /// What was counted at each processor.
    pub(super) fn processors(&mut self) -> Result<Vec<Processor>, String> {
        let failed = |error: MapError| unreadable("processors", &error);
        let all: PerCpuArray<_, RawProcessor> =
            PerCpuArray::try_from(self.map("processors")?).map_err(failed)?;
        let all = all.get(&0, 0).map_err(failed)?;
        Ok(all.iter().map(Processor::of).collect())
    }

    /// The slots of threads of the tree.
    pub(super) fn slots(&mut self) -> Result<Array<&mut MapData, RawSlot>, String> {
        Array::try_from(self.map("slots")?).map_err(|error| unreadable("slots", &error))
    }

    /// Says that threads of a slot may stand in the map of those without one.
    pub(super) fn crowd(&mut self, slot: u32) -> Result<(), String> {
        let crowded = Array::try_from(self.map("crowded")?);
        let set = crowded.and_then(|mut crowded: Array<_, u64>| crowded.set(slot, 1, 0));
        set.map_err(|error| unreadable("crowded", &error))
    }

    /// The threads of the tree that have no slot, or are to move there.
    pub(super) fn threads(&mut self) -> Result<HashMap<&mut MapData, u32, RawThread>, String> {
        let map = self.map("threads")?;
        HashMap::try_from(map).map_err(|error| unreadable("threads", &error))
    }

    /// Lets the programs find out anew which threads run at the processors.
    pub(super) fn forget_processors(&mut self) -> Result<(), String> {
        let failed = |error: MapError| unreadable("processors", &error);
        let mut map: PerCpuArray<_, RawProcessor> =
            PerCpuArray::try_from(self.map("processors")?).map_err(failed)?;
        let processors = map.get(&0, 0).map_err(failed)?.len();
        let nothing = PerCpuValues::try_from(vec![RawProcessor::default(); processors]);
        let nothing = nothing.map_err(|error| error.to_string())?;
        map.set(0, nothing, 0).map_err(failed)
    }

    /// The ring of copies; it can be taken once.
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

/// Before Linux 5.11 maps count against the limit of locked memory. True if the limit was in the way
/// and is no more.
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

/// What cannot be read of a map, as a sentence.
pub(super) fn unreadable(map: &str, error: &MapError) -> String {
    format!("the BPF map {map} cannot be read or written: {}", refusal(error))
}
