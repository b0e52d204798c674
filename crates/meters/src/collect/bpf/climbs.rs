//! The thread that takes copies of stacks out of the programs' ring and climbs them at once, while the
//! processes are there.
//!
//! It sleeps between its looks and is not counted itself: [`Climbs::number`] is taken out of the tree.
//! A copy belongs to a key of the counts; what it showed is summed under it.

use super::refill::Shown;
use super::shape::{Doer, Key, Kind, Record, StackNumber};
use crate::collect::looking::Looking;
use crate::collect::perf::{Climber, Copy, Followed, Memory, Registers, join};
use crate::collect::subject::Subject;
use crate::collect::symbols::Place;
use aya::maps::{MapData, RingBuf, StackTraceMap};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The ring holds two thousand copies: tens of thousands a second, far more than are taken.
const LOOK: Duration = Duration::from_millis(50);

/// The running thread. It ends when it is told to, or when this is dropped.
#[derive(Debug)]
pub(super) struct Climbs {
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<Climbed>>,
    /// Its number as the kernel knows it.
    pub number: u32,
}

/// A stack, innermost frame first.
pub(super) type Stack = Arc<[Place]>;

/// What the copies showed.
pub(super) struct Climbed {
    pub followed: Followed,
    pub chains: Chains,
    /// By key, what each stack stands for.
    pub shown: HashMap<Key, BTreeMap<usize, Shown>>,
    /// The stacks, by their positions in `shown`.
    pub stacks: Vec<Stack>,
    numbers: HashMap<Stack, usize>,
    climber: Climber,
    /// Threads of which the leaving was copied and the return was not yet told.
    away: HashMap<u32, (Key, usize, u64)>,
    /// How many stacks were climbed.
    pub copies: u64,
}

impl Climbs {
    /// Starts it; the tables of the processes are read when this returns.
    pub(super) fn start(
        subject: &Subject,
        ring: RingBuf<MapData>,
        chains: Chains,
    ) -> Result<Climbs, String> {
        let ending = Arc::new(AtomicBool::new(false));
        let (is_ready, ready) = sync_channel(1);
        let (of_thread, subject) = (Arc::clone(&ending), *subject);
        let body = move || {
            let _looking = Looking::here();
            let mut climbed = Climbed::new(&subject, chains);
            let number = rustix::thread::gettid().as_raw_nonzero().get();
            // Nobody waits any more: then it is told to end as well.
            if is_ready.send(number.unsigned_abs()).is_ok() {
                climbed.run(ring, &of_thread);
            }
            climbed
        };
        let spawned = thread::Builder::new()
            .name("climber".to_owned())
            .spawn(body);
        let thread = spawned.map_err(|error| format!("no thread can be started: {error}"))?;
        let number = ready
            .recv()
            .map_err(|_gone| "the thread that climbs stacks ended early".to_owned())?;
        Ok(Climbs {
            ending,
            thread: Some(thread),
            number,
        })
    }

    /// Ends it: what the ring still holds is taken.
    pub(super) fn finish(mut self) -> Result<Climbed, String> {
        self.end();
        let thread = self.thread.take().expect("it is taken here alone");
        let joined = thread.join();
        joined.map_err(|_panic| {
            "the thread that climbs stacks failed, by an error of its own".to_owned()
        })
    }

    fn end(&self) {
        self.ending.store(true, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Climbs {
    fn drop(&mut self) {
        self.end();
    }
}

impl Climbed {
    fn new(subject: &Subject, chains: Chains) -> Climbed {
        Climbed {
            followed: Followed::new(subject),
            chains,
            shown: HashMap::new(),
            stacks: Vec::new(),
            numbers: HashMap::new(),
            climber: Climber::new(),
            away: HashMap::new(),
            copies: 0,
        }
    }

    fn run(&mut self, mut ring: RingBuf<MapData>, ending: &AtomicBool) {
        loop {
            // Read before the ring is: what was written before the end is then still taken.
            let is_last = ending.load(Ordering::Acquire);
            while let Some(bytes) = ring.next() {
                match Record::of(&bytes) {
                    Some(Record::Copy {
                        key,
                        process,
                        weight,
                        registers,
                        top,
                    }) => self.copy(key, process, weight, registers, top),
                    Some(Record::Return { thread, off_ns }) => self.came_back(thread, off_ns),
                    None => {}
                }
            }
            if is_last {
                return;
            }
            thread::park_timeout(LOOK);
        }
    }

    fn copy(&mut self, key: Key, process: u32, weight: u64, from: Registers, top: &[u8]) {
        let Doer::Thread(thread) = key.doer else {
            return;
        };
        self.followed.met(process, thread);
        let knows = |memory: &Memory| memory.space.holds(from.instruction);
        if !self.followed.memory(process).is_some_and(knows) {
            // It has started another program, or loaded code.
            self.followed.mapped(process);
        }
        let chain = self.chains.of(key.stack);
        let Some(memory) = self.followed.memory(process) else {
            return;
        };
        let climb = self.climber.climb(&memory.tables, &memory.space, from, top);
        let copy = Copy {
            begin: from.stack,
            bytes: top,
        };
        let is_code = |address| memory.space.holds(address);
        let joined = join(climb, &chain, from.frame, copy, is_code);
        let climbed = places(&joined, memory);
        let walked = places(&chain, memory);
        let best = if reaches(&walked) > reaches(&climbed) {
            walked
        } else {
            climbed
        };
        self.copies += 1;
        let stack = self.number(best);
        self.shown_of(key, stack).events += weight;
        if matches!(key.kind, Kind::Voluntary | Kind::Involuntary) {
            self.away.insert(thread, (key, stack, weight));
        }
    }

    fn came_back(&mut self, thread: u32, off_ns: u64) {
        if let Some((key, stack, weight)) = self.away.remove(&thread) {
            let shown = self.shown_of(key, stack);
            let stands_for = weight.saturating_mul(off_ns);
            shown.off_ns = shown.off_ns.saturating_add(stands_for);
        }
    }

    fn shown_of(&mut self, key: Key, stack: usize) -> &mut Shown {
        self.shown.entry(key).or_default().entry(stack).or_default()
    }

    fn number(&mut self, stack: Vec<Place>) -> usize {
        if let Some(number) = self.numbers.get(stack.as_slice()) {
            return *number;
        }
        let stack: Stack = stack.into();
        self.stacks.push(Arc::clone(&stack));
        let number = self.stacks.len() - 1;
        self.numbers.insert(stack, number);
        number
    }

    /// The chain of frame pointers of a stack, in a process.
    pub(super) fn walked(&mut self, stack: StackNumber, process: u32) -> Vec<Place> {
        let chain = self.chains.of(stack);
        match self.followed.memory(process) {
            Some(memory) => places(&chain, memory),
            None => Vec::new(),
        }
    }
}

/// The kernel's chains of frame pointers, each read once.
pub(super) struct Chains {
    map: StackTraceMap<MapData>,
    read: HashMap<u32, Arc<[u64]>>,
}

impl Chains {
    pub(super) fn new(map: StackTraceMap<MapData>) -> Chains {
        Chains {
            map,
            read: HashMap::new(),
        }
    }

    /// A stack's instruction and return addresses; empty for one that could not be kept.
    fn of(&mut self, stack: StackNumber) -> Arc<[u64]> {
        let Some(number) = stack else {
            return Arc::from([]);
        };
        let (map, read) = (&self.map, &mut self.read);
        let chain = read.entry(number).or_insert_with(|| {
            let frames = map.get(&number, 0).map(|stack| {
                let frames = stack.frames().iter();
                frames.map(|frame| frame.ip).collect::<Vec<u64>>()
            });
            frames.unwrap_or_default().into()
        });
        Arc::clone(chain)
    }
}

/// Where addresses are: a return address may stand behind the end of the function that called.
fn places(addresses: &[u64], memory: &Memory) -> Vec<Place> {
    let lookups = addresses.iter().enumerate();
    let lookups = lookups.map(|(at, address)| address.wrapping_sub(u64::from(at > 0)));
    lookups.map(|address| memory.space.place(address)).collect()
}

/// How many frames of a stack stand outside of the C library, and so say on whose behalf it was called.
pub(super) fn reaches(stack: &[Place]) -> usize {
    stack.iter().filter(|place| says_who(place)).count()
}

fn says_who(place: &Place) -> bool {
    let Place::File(file, _) = place else {
        return matches!(place, Place::Memory(..));
    };
    let name = file.path.rsplit('/').next().unwrap_or_default();
    !["libc.so", "libc-", "libpthread", "ld-linux", "ld-musl"]
        .iter()
        .any(|library| name.starts_with(library))
}

impl fmt::Debug for Climbed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut named = formatter.debug_struct("Climbed");
        named.field("copies", &self.copies).finish_non_exhaustive()
    }
}
