//! The open perf events of a sampler, with one ring per processor.

use super::event_source::{Kind, Source};
use crate::sampler_threads::is_sampler_thread;
use crate::subject::Subject;
use rustix::io::Errno;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use syncline_host::{
    PerfEvent, PerfRingBuffer, Process, online_cpus, process_tree, task_is_gone, threads,
};

/// Pages of a ring for the clock: seconds of one processor's samples, within the memory that an ordinary user
/// may lock by default.
const PAGES: usize = 128;
/// Pages of a ring for tracepoints: a tenth of a second of one processor that only makes system calls.
const PAGES_OF_TRACEPOINTS: usize = 512;
/// The reader is woken when a quarter of the ring is full.
const WATERMARK: u32 = 128 * 1024;

/// The processes that events cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All processes on the machine.
    Machine,
    /// The store's threads, and those they start from now on.
    Tasks,
}

/// Open events.
#[derive(Debug)]
pub(super) struct Events {
    all: Vec<(Kind, PerfEvent)>,
    /// By the event id in samples.
    kinds: HashMap<u64, Kind>,
    /// The indices of the events that own the rings, one per processor.
    owners: Vec<usize>,
}

impl Events {
    /// Opens the events, disabled, and their rings.
    pub(super) fn open(
        subject: &Subject,
        sources: &[Source],
        reach: Reach,
        with_kernel: bool,
    ) -> io::Result<(Events, Vec<PerfRingBuffer>)> {
        let tasks = match reach {
            Reach::Machine => vec![-1],
            Reach::Tasks => tasks(subject.process),
        };
        let is_clock = |source: &Source| source.kind == Kind::Clock;
        let pages = if sources.iter().all(is_clock) { PAGES } else { PAGES_OF_TRACEPOINTS };
        let mut rings = Vec::new();
        let mut opened = Events { all: Vec::new(), kinds: HashMap::new(), owners: Vec::new() };
        for cpu in online_cpus() {
            let mut owner: Option<usize> = None;
            for source in sources {
                for task in &tasks {
                    let mut attributes = source.attributes(with_kernel, WATERMARK);
                    attributes.set_inherit(u64::from(reach == Reach::Tasks));
                    let event = match PerfEvent::open_as(attributes, *task, cpu) {
                        Ok(event) => event,
                        Err(error) if task_is_gone(&error) => continue,
                        Err(error) => return Err(error),
                    };
                    if let Some(filter) = &source.filter {
                        event.filter(filter)?;
                    }
                    if let Some(owner) = owner {
                        event.write_with(&opened.all[owner].1)?;
                    } else {
                        rings.push(PerfRingBuffer::map_at_most(&event, pages)?);
                        owner = Some(opened.all.len());
                    }
                    opened.kinds.insert(event.number()?, source.kind);
                    opened.all.push((source.kind, event));
                }
            }
            opened.owners.extend(owner);
        }
        if rings.is_empty() {
            return Err(Errno::SRCH.into());
        }
        Ok((opened, rings))
    }

    /// Starts sampling.
    pub(super) fn enable(&self) -> io::Result<()> {
        self.all.iter().try_for_each(|(_, event)| event.enable())
    }

    /// Stops sampling.
    pub(super) fn disable(&self) -> io::Result<()> {
        self.all.iter().try_for_each(|(_, event)| event.disable())
    }

    /// The kind of an event.
    pub(super) fn kind(&self, number: u64) -> Option<Kind> {
        self.kinds.get(&number).copied()
    }

    /// The number of events of a kind so far, or nanoseconds, sampled or not.
    pub(super) fn count(&self, kind: Kind) -> io::Result<u64> {
        let of_kind = self.all.iter().filter(|(of, _)| *of == kind);
        of_kind.map(|(_, event)| event.read()).sum()
    }

    /// The events whose rings wake the reader.
    pub(super) fn waking(&self) -> impl Iterator<Item = &PerfEvent> {
        self.owners.iter().map(|owner| &self.all[*owner].1)
    }
}

fn tasks(watched: Process) -> Vec<i32> {
    let processes = match watched {
        Process::Own => vec![std::process::id()],
        Process::Other(pid) => process_tree(pid, Path::new("/")),
    };
    let threads = processes.into_iter().flat_map(threads);
    threads.filter(|tid| !is_sampler_thread(tid.unsigned_abs())).collect()
}
