//! The programs: loaded into the kernel, attached to its tracepoints, detached when dropped.

use super::layout::{self, Offsets};
use super::refusal::refusal;
use super::shape::{
    FOUND_PLACE, FOUND_TIMES, FOUND_WANTED, RawProcessor, RawSlot, RawThread, RawWindow,
};
use crate::perf_event::PerfEvent;
use crate::tracepoint;
use aya::maps::{Array, HashMap, Map, MapData, MapError, PerCpuArray, PerCpuValues, RingBuf};
use aya::programs::{Program, ProgramError, RawTracePoint, TracePoint};
use aya::{Ebpf, EbpfError, EbpfLoader};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use syncline_metering::Nanos;

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
/// Finds where the kernel keeps a thread's number.
const FIND: (&str, &str) = ("find_number", "sys_enter");

/// Programs in the kernel, with their maps.
#[derive(Debug)]
pub(super) struct Programs {
    object: Ebpf,
    attached: Vec<PerfEvent>,
}

impl Programs {
    /// Loads them and attaches nothing; the error is a sentence.
    pub(super) fn load() -> Result<Programs, String> {
        // Asked first: it is what an ordinary user lacks, and its sentence is the clearest.
        let offsets = layout::offsets();
        let mut object = match load_object(offsets.as_ref().unwrap_or(&Vec::new())) {
            Err(error) if raised_locked_memory(&error) => {
                load_object(offsets.as_ref().unwrap_or(&Vec::new()))
            }
            loaded => loaded,
        }
        .map_err(|error| refusal(&error))?;
        offsets?;
        for (name, _) in TRACEPOINTS {
            let program: &mut TracePoint = program(&mut object, name)?;
            program.load().map_err(|error| refusal(&error))?;
        }
        let calls: &mut RawTracePoint = program(&mut object, CALLS.0)?;
        calls.load().map_err(|error| refusal(&error))?;
        let by_record: &mut TracePoint = program(&mut object, SWITCHES_BY_RECORD.0)?;
        by_record.load().map_err(|error| refusal(&error))?;
        Ok(Programs {
            object,
            attached: Vec::new(),
        })
    }

    /// Attaches them to the kernel's tracepoints.
    pub(super) fn attach(&mut self) -> Result<(), String> {
        for (name, place) in TRACEPOINTS {
            self.attach_by_record(name, place)?;
        }
        if self.attach_switches().is_err() {
            let (name, place) = SWITCHES_BY_RECORD;
            self.attach_by_record(name, place)?;
        }
        let program: &mut RawTracePoint = program(&mut self.object, CALLS.0)?;
        program.attach(CALLS.1).map_err(|error| refusal(&error))?;
        Ok(())
    }

    fn attach_by_record(&mut self, name: &str, place: &str) -> Result<(), String> {
        let number = tracepoint::number(place)?;
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
        self.find_number()?;
        let program: &mut RawTracePoint = program(&mut self.object, SWITCHES.0)?;
        program.load().map_err(|error| refusal(&error))?;
        let attached = program.attach(SWITCHES.1);
        if let Err(error) = attached {
            program.unload().map_err(|error| refusal(&error))?;
            return Err(refusal(&error));
        }
        Ok(())
    }

    /// Lets a program look for the number of this very thread in the kernel's structure of it.
    fn find_number(&mut self) -> Result<(), String> {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        let wanted = u64::from(std::process::id()) << 32 | u64::from(thread.unsigned_abs());
        self.found()?
            .set(FOUND_WANTED, wanted, 0)
            .map_err(|error| unreadable("found", &error))?;
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
        numbers
            .map(|number| PathBuf::from(format!("/proc/self/fdinfo/{number}")))
            .collect()
    }

    /// Begins to count, by the kernel's monotonic clock.
    pub(super) fn count_since(&mut self, at: Nanos) -> Result<(), String> {
        self.window(|window| window[0] = at)
    }

    /// Ends counting.
    pub(super) fn count_until(&mut self, at: Nanos) -> Result<(), String> {
        self.window(|window| window[1] = at)
    }

    /// The programs read the window and never write to it.
    fn window(&mut self, change: impl FnOnce(&mut RawWindow)) -> Result<(), String> {
        let failed = |error: MapError| unreadable("window", &error);
        let map = self.map("window")?;
        let mut map: Array<_, RawWindow> = Array::try_from(map).map_err(failed)?;
        let mut window = map.get(&0, 0).map_err(failed)?;
        change(&mut window);
        map.set(0, window, 0).map_err(failed)
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
    let without = Rlimit {
        current: None,
        maximum: None,
    };
    refused && is_limited && setrlimit(Resource::Memlock, without).is_ok()
}

fn program<'a, P>(object: &'a mut Ebpf, name: &str) -> Result<&'a mut P, String>
where
    &'a mut P: TryFrom<&'a mut Program, Error = ProgramError>,
{
    let program = object.program_mut(name).ok_or_else(|| missing(name))?;
    program
        .try_into()
        .map_err(|error: ProgramError| refusal(&error))
}

fn missing(name: &str) -> String {
    format!("the BPF object that this program carries has no {name}; build it by scripts/build-bpf")
}

/// What cannot be read of a map, as a sentence.
pub(super) fn unreadable(map: &str, error: &MapError) -> String {
    format!(
        "the BPF map {map} cannot be read or written: {}",
        refusal(error)
    )
}
