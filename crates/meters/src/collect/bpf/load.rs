//! The programs: loaded into the kernel, attached to its tracepoints, detached when dropped.

use super::layout::{self, Offsets};
use super::refusal::refusal;
use super::shape::{COUNTED_SINCE, COUNTED_UNTIL, RawThread};
use crate::perf_event::PerfEvent;
use crate::tracepoint;
use aya::maps::{Array, HashMap, Map, MapData, MapError, RingBuf, StackTraceMap};
use aya::programs::{Program, ProgramError, RawTracePoint, TracePoint};
use aya::{Ebpf, EbpfError, EbpfLoader};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::AsFd;
use syncline_metering::Nanos;

/// What `scripts/build-bpf` made of `program.bpf.c`.
pub(super) static OBJECT: &[u8] = aya::include_bytes_aligned!("program.o");

/// Programs of tracepoints, by the place in the trace file system. Forks come first and the system
/// calls, by [`CALLS`], last: a thread is known before anything of it is counted.
const TRACEPOINTS: [(&str, &str); 7] = [
    ("task_fork", "sched/sched_process_fork"),
    ("task_exec", "sched/sched_process_exec"),
    ("task_exit", "sched/sched_process_exit"),
    ("task_switch", "sched/sched_switch"),
    ("block_queue", "block/block_bio_queue"),
    ("block_issue", "block/block_rq_issue"),
    ("block_requeue", "block/block_rq_requeue"),
];
/// The program that needs no record made for it, since it runs most often, and its tracepoint.
const CALLS: (&str, &str) = ("system_call", "sys_enter");

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
        let program: &mut RawTracePoint = program(&mut object, CALLS.0)?;
        program.load().map_err(|error| refusal(&error))?;
        Ok(Programs {
            object,
            attached: Vec::new(),
        })
    }

    /// Attaches them to the kernel's tracepoints.
    pub(super) fn attach(&mut self) -> Result<(), String> {
        for (name, place) in TRACEPOINTS {
            let number = tracepoint::number(place)?;
            let program: &mut TracePoint = program(&mut self.object, name)?;
            let program = program.fd().map_err(|error| refusal(&error))?;
            let event = PerfEvent::run(number, program.as_fd());
            let event =
                event.map_err(|error| format!("tracepoint {place}: {}", refusal(&error)))?;
            self.attached.push(event);
        }
        let program: &mut RawTracePoint = program(&mut self.object, CALLS.0)?;
        program.attach(CALLS.1).map_err(|error| refusal(&error))?;
        Ok(())
    }

    /// Detaches them; their maps can be read as long as this lives, and change no more.
    pub(super) fn detach(&mut self) -> Result<(), String> {
        self.attached.clear();
        let program: &mut RawTracePoint = program(&mut self.object, CALLS.0)?;
        program.unload().map_err(|error| refusal(&error))
    }

    /// Begins to count, by the kernel's monotonic clock.
    pub(super) fn count_since(&mut self, at: Nanos) -> Result<(), String> {
        self.set_moment(COUNTED_SINCE, at)
    }

    /// Ends counting.
    pub(super) fn count_until(&mut self, at: Nanos) -> Result<(), String> {
        self.set_moment(COUNTED_UNTIL, at)
    }

    fn set_moment(&mut self, place: u32, at: Nanos) -> Result<(), String> {
        let map = self.map("moments")?;
        let set =
            Array::try_from(map).and_then(|mut moments: Array<_, u64>| moments.set(place, at, 0));
        set.map_err(|error| unreadable("moments", &error))
    }

    /// The threads of the tree.
    pub(super) fn threads(&mut self) -> Result<HashMap<&mut MapData, u32, RawThread>, String> {
        let map = self.map("threads")?;
        HashMap::try_from(map).map_err(|error| unreadable("threads", &error))
    }

    /// The ring of copies; it can be taken once.
    pub(super) fn take_copies(&mut self) -> Result<RingBuf<MapData>, String> {
        let map = self.object.take_map("copies");
        let map = map.ok_or_else(|| missing("copies"))?;
        RingBuf::try_from(map).map_err(|error| unreadable("copies", &error))
    }

    /// The map of the chains of frame pointers; it can be taken once.
    pub(super) fn take_stacks(&mut self) -> Result<StackTraceMap<MapData>, String> {
        let map = self.object.take_map("stacks");
        let map = map.ok_or_else(|| missing("stacks"))?;
        StackTraceMap::try_from(map).map_err(|error| unreadable("stacks", &error))
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
