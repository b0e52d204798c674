//! The thread that takes stack copies out of the programs' ring and unwinds them at once, while the processes
//! still exist.
//!
//! It sleeps between polls and is not counted itself: [`UnwindThread::number`] is removed from the process
//! tree. A copy belongs to a key of the counts; its stacks are summed under that key.

use super::map_types::{Actor, Key, Kind, Record};
use super::stack_copies::Copies;
use crate::perf::{Copy, Memory, ProcessTracker, Registers, StackUnwinder, join};
use crate::sampler_threads::SamplerThread;
use crate::subject::Subject;
use crate::symbols::CodeLocation;
use aya::maps::{MapData, RingBuf};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The ring holds 1,600 copies; in a tenth of a second each of two processors writes at most 780, its ration.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The running thread. It ends on request, or when this is dropped.
#[derive(Debug)]
pub(super) struct UnwindThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<UnwoundStacks>>,
    /// Its number as the kernel knows it.
    pub number: u32,
}

#[derive(Debug, Default)]
struct Shared {
    /// The measured window begins.
    beginning: AtomicBool,
    ending: AtomicBool,
}

/// A stack, innermost frame first.
pub(super) type Stack = Arc<[CodeLocation]>;

/// The unwound copies.
pub(super) struct UnwoundStacks {
    pub followed: ProcessTracker,
    /// The events that each stack represents, by key.
    pub copies_by_key: BTreeMap<Key, Copies>,
    /// The stacks, by their positions in `copies_by_key`.
    pub stacks: Vec<Stack>,
    numbers: HashMap<Stack, usize>,
    unwinder: StackUnwinder,
    /// Threads whose leaving was copied and whose return has not been seen yet.
    away: HashMap<u32, (Key, usize, u64)>,
    /// The number of unwound copies.
    pub copies: u64,
}

impl UnwindThread {
    /// Starts the thread, and returns once it has read the processes' unwind tables.
    pub(super) fn start(subject: &Subject, ring: RingBuf<MapData>) -> Result<UnwindThread, String> {
        let shared = Arc::new(Shared::default());
        let (is_ready, ready) = sync_channel(1);
        let (of_thread, subject) = (Arc::clone(&shared), subject.clone());
        let body = move || {
            let _mark = SamplerThread::here();
            let mut unwound = UnwoundStacks::new(&subject);
            let number = rustix::thread::gettid().as_raw_nonzero().get();
            // If the receiver is gone, the thread is asked to end as well.
            if is_ready.send(number.unsigned_abs()).is_ok() {
                unwound.run(ring, &of_thread);
            }
            unwound
        };
        let spawned = thread::Builder::new().name("unwinder".to_owned()).spawn(body);
        let thread = spawned.map_err(|error| format!("no thread can be started: {error}"))?;
        let number = ready.recv().map_err(|_gone| "the unwinding thread ended early".to_owned())?;
        Ok(UnwindThread { shared, thread: Some(thread), number })
    }

    /// The measured window begins: reads what processes have mapped since.
    pub(super) fn begin(&self) {
        self.shared.beginning.store(true, Ordering::Release);
        self.wake();
    }

    /// Ends the thread after it has emptied the ring.
    pub(super) fn finish(mut self) -> Result<UnwoundStacks, String> {
        self.end();
        let thread = self.thread.take().expect("it is taken here alone");
        let joined = thread.join();
        joined.map_err(|_panic| "the unwinding thread panicked".to_owned())
    }

    fn end(&self) {
        self.shared.ending.store(true, Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for UnwindThread {
    fn drop(&mut self) {
        self.end();
    }
}

impl UnwoundStacks {
    fn new(subject: &Subject) -> UnwoundStacks {
        UnwoundStacks {
            followed: ProcessTracker::new(subject),
            copies_by_key: BTreeMap::new(),
            stacks: Vec::new(),
            numbers: HashMap::new(),
            unwinder: StackUnwinder::new(),
            away: HashMap::new(),
            copies: 0,
        }
    }

    fn run(&mut self, mut ring: RingBuf<MapData>, shared: &Shared) {
        loop {
            // Read before the ring: everything written before the end is then still taken.
            let is_last = shared.ending.load(Ordering::Acquire);
            if shared.beginning.swap(false, Ordering::AcqRel) {
                self.followed.refresh_mappings();
            }
            while let Some(bytes) = ring.next() {
                match Record::of(&bytes) {
                    Some(Record::Copy { key, process, weight, registers, chain, top }) => {
                        let stack = self.unwind(key, process, registers, &chain, top);
                        if let Some(stack) = stack {
                            self.add_copy(key, stack, weight);
                        }
                    }
                    Some(Record::Return { thread, off_ns }) => self.record_return(thread, off_ns),
                    None => {}
                }
            }
            if is_last {
                return;
            }
            thread::park_timeout(POLL_INTERVAL);
        }
    }

    /// The stack of a copy; none if its process ended before it was first read.
    fn unwind(
        &mut self,
        key: Key,
        process: u32,
        from: Registers,
        chain: &[u64],
        top: &[u8],
    ) -> Option<usize> {
        let Actor::Thread(thread) = key.doer else {
            return None;
        };
        self.followed.note_thread(process, thread);
        let knows = |memory: &Memory| memory.space.holds(from.instruction);
        let knows_callers = |memory: &Memory| chain.iter().all(|at| memory.space.holds(*at));
        match self.followed.memory(process) {
            // It has executed another program, or loaded code.
            Some(memory) if !knows(memory) => self.followed.mapped(process),
            Some(memory) if !knows_callers(memory) => self.followed.strayed(process),
            _ => {}
        }
        let memory = self.followed.memory(process)?;
        let unwound = self.unwinder.unwind(&memory.tables, &memory.space, from, top);
        let copy = Copy { begin: from.stack, bytes: top };
        let is_code = |address| memory.space.holds(address);
        let joined = join(unwound, chain, from.frame, copy, is_code);
        let by_tables = places(&joined, memory);
        let by_frame_pointers = places(chain, memory);
        let best = if identifying_frames(&by_frame_pointers) > identifying_frames(&by_tables) {
            by_frame_pointers
        } else {
            by_tables
        };
        self.copies += 1;
        Some(self.number(best))
    }

    fn add_copy(&mut self, key: Key, stack: usize, weight: u64) {
        self.copies_by_key.entry(key).or_default().add(stack, weight);
        if let (Actor::Thread(thread), Kind::Voluntary | Kind::Involuntary) = (key.doer, key.kind) {
            self.away.insert(thread, (key, stack, weight));
        }
    }

    fn record_return(&mut self, thread: u32, off_ns: u64) {
        if let Some((key, stack, weight)) = self.away.remove(&thread) {
            let weighted_ns = weight.saturating_mul(off_ns);
            let copies = self.copies_by_key.entry(key).or_default();
            copies.add_time(stack, weighted_ns);
        }
    }

    fn number(&mut self, stack: Vec<CodeLocation>) -> usize {
        if let Some(number) = self.numbers.get(stack.as_slice()) {
            return *number;
        }
        let stack: Stack = stack.into();
        self.stacks.push(Arc::clone(&stack));
        let number = self.stacks.len() - 1;
        self.numbers.insert(stack, number);
        number
    }
}

/// The code locations of addresses: a return address may be one past the end of the calling function.
fn places(addresses: &[u64], memory: &Memory) -> Vec<CodeLocation> {
    let lookups = addresses.iter().enumerate();
    let lookups = lookups.map(|(at, address)| address.wrapping_sub(u64::from(at > 0)));
    lookups.map(|address| memory.space.place(address)).collect()
}

/// The number of frames outside the C library, which identify the caller.
fn identifying_frames(stack: &[CodeLocation]) -> usize {
    stack.iter().filter(|place| identifies_caller(place)).count()
}

fn identifies_caller(place: &CodeLocation) -> bool {
    let CodeLocation::File(file, _) = place else {
        return matches!(place, CodeLocation::Memory(..));
    };
    let name = file.path.rsplit('/').next().unwrap_or_default();
    !["libc.so", "libc-", "libpthread", "ld-linux", "ld-musl"]
        .iter()
        .any(|library| name.starts_with(library))
}

impl fmt::Debug for UnwoundStacks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut named = formatter.debug_struct("UnwoundStacks");
        named.field("copies", &self.copies).finish_non_exhaustive()
    }
}
