//! The thread that takes samples out of the rings and unwinds their stacks.
//!
//! It first reads the mappings of the tracked processes, waits for the start, and then sleeps until a ring is
//! a quarter full or a tenth of a second has passed. Each time it drains all rings, so that the kernel can
//! continue to write, then processes forks and mappings, and then unwinds. It ends on request, once the rings
//! are empty.

use super::call_chain::join;
use super::event_source::{Kind, Source};
use super::events::{Events, Reach};
use super::process_tracker::{Memory, ProcessTracker};
use super::record::{Record, Sample, records};
use super::sampler_output::SamplerOutput;
use super::stack_counts::{Detail, StackSample, Stacks};
use super::unwinder::{Copy, StackUnwinder};
use crate::sampler_threads::SamplerThread;
use crate::subject::Subject;
use crate::symbols::CodeLocation;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use syncline_host::PerfRingBuffer;

/// The longest sleep: a process that starts and ends in between is missed.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

const GONE: &str = "the sampling thread panicked";

/// A sampler, which runs until it is finished or dropped.
#[derive(Debug)]
pub(super) struct Sampler {
    shared: StopGuard,
    begin: Sender<()>,
    ready: Receiver<()>,
    thread: JoinHandle<Option<SamplerOutput>>,
}

/// Ends the thread even if a sampler is dropped early.
#[derive(Debug)]
struct StopGuard(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    events: Events,
    ending: AtomicBool,
    /// Wakes the thread to end it.
    wake: OwnedFd,
    /// The offsets of tracepoint fields.
    fields: Fields,
}

/// The offsets of fields in the bytes of tracepoints.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields {
    /// The number of a system call.
    pub call: usize,
    /// The state in which a thread left its processor.
    pub state: usize,
}

impl Sampler {
    /// Opens the events and starts the thread, without sampling yet.
    pub(super) fn open(
        subject: &Subject,
        sources: &[Source],
        reach: Reach,
        with_kernel: bool,
        fields: Fields,
    ) -> io::Result<Sampler> {
        // The thread is started before the events are opened, so that they do not cover it.
        let (hand, setup) = channel();
        let (begin, begun) = channel();
        let (is_there, there) = channel();
        let (is_ready, ready) = channel();
        let followed = subject.clone();
        let body = move || {
            let _mark = SamplerThread::here();
            // If the receiver is gone, nothing starts.
            is_there.send(()).ok()?;
            let (shared, rings): (Arc<Shared>, Vec<PerfRingBuffer>) = setup.recv().ok()?;
            let mut work = Work::new(&shared, &followed);
            is_ready.send(()).ok()?;
            begun.recv().ok()?;
            work.followed.refresh_mappings();
            work.run(rings);
            Some(work.outcome())
        };
        let thread = thread::Builder::new().name("sampler".to_owned()).spawn(body)?;
        let started = there.recv();
        started.map_err(|_gone| io::Error::other(GONE))?;
        let (events, rings) = Events::open(subject, sources, reach, with_kernel)?;
        let shared = Arc::new(Shared {
            events,
            ending: AtomicBool::new(false),
            wake: eventfd(0, EventfdFlags::CLOEXEC)?,
            fields,
        });
        let handed = hand.send((Arc::clone(&shared), rings));
        handed.map_err(|_gone| io::Error::other(GONE))?;
        Ok(Sampler { shared: StopGuard(shared), begin, ready, thread })
    }

    /// Waits until the unwind tables of all programs are read.
    pub(super) fn prepare(&self) -> Result<(), String> {
        let ready = self.ready.recv();
        ready.map_err(|_gone| GONE.to_owned())
    }

    /// Starts sampling.
    pub(super) fn start(&self) -> Result<(), String> {
        let begun = self.begin.send(());
        begun.map_err(|_gone| GONE.to_owned())?;
        let enabled = self.shared.0.events.enable();
        enabled.map_err(|error| format!("sampling cannot begin: {error}"))
    }

    /// Stops sampling.
    pub(super) fn stop(&self) -> Result<(), String> {
        let disabled = self.shared.0.events.disable();
        disabled.map_err(|error| format!("sampling cannot end: {error}"))?;
        self.shared.0.end();
        Ok(())
    }

    /// The number of events of a kind while it sampled, sampled or not.
    pub(super) fn count(&self, kind: Kind) -> Option<u64> {
        self.shared.0.events.count(kind).ok()
    }

    /// The samples; the error is a sentence.
    pub(super) fn finish(self) -> Result<SamplerOutput, String> {
        drop(self.shared);
        drop(self.begin);
        let outcome = self.thread.join().ok().flatten();
        outcome.ok_or_else(|| GONE.to_owned())
    }
}

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Shared {
    fn end(&self) {
        self.ending.store(true, Ordering::Release);
        let written = rustix::io::write(&self.wake, &1_u64.to_le_bytes());
        // Only a full counter refuses the write, and then the thread is awake.
        debug_assert!(written.is_ok(), "{written:?}");
    }
}

struct Work<'a> {
    shared: &'a Shared,
    followed: ProcessTracker,
    unwinder: StackUnwinder,
    stacks: Stacks,
    lost: BTreeMap<Kind, u64>,
    unrelated: BTreeMap<Kind, u64>,
}

impl<'a> Work<'a> {
    fn new(shared: &'a Shared, subject: &Subject) -> Work<'a> {
        Work {
            shared,
            followed: ProcessTracker::new(subject),
            unwinder: StackUnwinder::new(),
            stacks: Stacks::default(),
            lost: BTreeMap::new(),
            unrelated: BTreeMap::new(),
        }
    }

    fn run(&mut self, mut rings: Vec<PerfRingBuffer>) {
        let mut waking: Vec<_> = self.shared.events.waking().map(AsFd::as_fd).collect();
        let mut drained: Vec<Vec<u8>> = rings.iter().map(|_| Vec::new()).collect();
        loop {
            // Read before the rings: everything written before the end is then still taken.
            let ending = self.shared.ending.load(Ordering::Acquire);
            for (ring, bytes) in rings.iter_mut().zip(&mut drained) {
                bytes.clear();
                ring.drain(bytes);
            }
            self.take(&drained);
            if ending {
                return;
            }
            let mut waited: Vec<_> = std::iter::once(self.shared.wake.as_fd())
                .chain(waking.iter().copied())
                .map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN))
                .collect();
            // An interrupted wait ends early, which is harmless.
            if poll(&mut waited, Some(&POLL_INTERVAL)).is_ok() {
                // The event of an ended thread would wake forever, although its ring is still in use.
                let mut hung_up = waited[1..].iter().map(|file| {
                    let hung_up = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
                    file.revents().intersects(hung_up)
                });
                waking.retain(|_| !hung_up.next().unwrap_or(false));
            }
        }
    }

    fn take(&mut self, drained: &[Vec<u8>]) {
        let shared = self.shared;
        let all = || {
            let rings = drained.iter();
            rings.flat_map(|bytes| records(bytes, |event| shared.events.kind(event)))
        };
        let mut forks: Vec<_> = all().filter_map(|record| fork(&record)).collect();
        // Each processor reports independently: a grandchild may be reported before the child.
        forks.sort_unstable();
        for (_, pid, parent) in forks {
            self.followed.forked(pid, parent);
        }
        for record in all() {
            match record {
                Record::Mapped { pid } => self.followed.mapped(pid),
                Record::Lost { event, samples } => {
                    if let Some(kind) = shared.events.kind(event) {
                        *self.lost.entry(kind).or_default() += samples;
                    }
                }
                Record::Sample(_) | Record::Fork { .. } | Record::Exit { .. } => {}
            }
        }
        for record in all() {
            if let Record::Sample(sample) = record {
                self.sample(&sample);
            }
        }
        for record in all() {
            if let Record::Exit { pid, tid } = record
                && pid == tid
            {
                self.followed.ended(pid);
            }
        }
    }

    fn sample(&mut self, sample: &Sample<'_>) {
        let Sample { kind, pid, tid, .. } = *sample;
        if !self.followed.includes(pid, tid) {
            *self.unrelated.entry(kind).or_default() += 1;
            return;
        }
        let Some(detail) = self.detail(sample) else {
            return;
        };
        self.followed.note_thread(pid, tid);
        let mut places: Vec<CodeLocation> =
            lookups(&sample.kernel).map(CodeLocation::Kernel).collect();
        if let Some(memory) = self.followed.memory(pid) {
            let user = user(&mut self.unwinder, memory, sample);
            places.extend(lookups(&user).map(|address| memory.space.place(address)));
        }
        let stack = self.stacks.number(places);
        self.stacks.add(StackSample { kind, detail, pid, tid, stack });
    }

    fn detail(&self, sample: &Sample<'_>) -> Option<Detail> {
        let fields = self.shared.fields;
        Some(match sample.kind {
            Kind::Clock if sample.in_kernel => Detail::Kernel,
            Kind::Clock => Detail::User,
            Kind::Call | Kind::Sync => Detail::Call(number_at(sample.raw, fields.call)?),
            Kind::Switch => {
                let state = number_at(sample.raw, fields.state)?;
                Detail::Voluntary(state != 0 && state & PREEMPTED == 0)
            }
        })
    }

    fn outcome(self) -> SamplerOutput {
        SamplerOutput {
            stacks: self.stacks,
            symbols: self.followed.symbols,
            threads: self.followed.threads,
            lost: self.lost,
            unrelated: self.unrelated,
        }
    }
}

/// The time, number and parent of a started process or thread, if a record is of that type.
fn fork(record: &Record<'_>) -> Option<(u64, u32, u32)> {
    match *record {
        Record::Fork { pid, parent, at } => Some((at, pid, parent)),
        _ => None,
    }
}

/// The state in which `sched_switch` reports a preempted thread.
const PREEMPTED: i64 = 0x100;

#[allow(clippy::host_endian_bytes, reason = "the kernel writes in the machine's order")]
fn number_at(raw: &[u8], offset: usize) -> Option<i64> {
    let bytes = raw.get(offset..)?.first_chunk()?;
    Some(i64::from_ne_bytes(*bytes))
}

/// A stack's user addresses.
fn user(unwinder: &mut StackUnwinder, memory: &Memory, sample: &Sample<'_>) -> Vec<u64> {
    let Some(registers) = sample.registers else {
        return sample.user.clone();
    };
    let unwound = unwinder.unwind(&memory.tables, &memory.space, registers, sample.stack);
    let copy = Copy { begin: registers.stack, bytes: sample.stack };
    let is_code = |address| memory.space.holds(address);
    join(unwound, &sample.user, registers.frame, copy, is_code)
}

/// The addresses to look up: a return address may be one past the end of the calling function.
fn lookups(addresses: &[u64]) -> impl Iterator<Item = u64> {
    let callers = addresses.iter().skip(1).map(|address| address.wrapping_sub(1));
    addresses.first().copied().into_iter().chain(callers)
}
