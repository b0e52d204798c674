//! Keys, values and records that the programs in the kernel share with this crate, in the layout of
//! `program.bpf.c`.
//!
//! Map values are read as arrays of numbers, so that nothing here is unsafe; records of the ring are read
//! byte by byte, little-endian, as the programs are compiled.

use crate::perf::Registers;

/// A site: a thread's instruction, stack pointer and frame pointer, hashed to one number. None if it is
/// unknown.
pub(super) type Site = Option<u64>;

/// The kind of a counted event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A system call of this number.
    Call(u16),
    /// A system call that is a sync; it is also counted as a call.
    Sync,
    /// A thread gave up its processor.
    Voluntary,
    /// A thread was preempted.
    Involuntary,
    /// A write request that some thread waits for.
    SyncWrite,
    /// A write request that no thread waits for.
    AsyncWrite,
    /// A flush request.
    Flush,
    /// A write handed to the block layer; it shows where requests originate.
    Queued,
}

impl Kind {
    /// None for a number that the programs do not use.
    fn of(number: u32) -> Option<Kind> {
        Some(match number {
            0..=0xfffe => Kind::Call(number as u16),
            0xffff => Kind::Sync,
            0x10000 => Kind::Voluntary,
            0x10001 => Kind::Involuntary,
            0x20000 => Kind::SyncWrite,
            0x20001 => Kind::AsyncWrite,
            0x20002 => Kind::Flush,
            0x20003 => Kind::Queued,
            _ => return None,
        })
    }
}

/// The originator of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Actor {
    /// A thread of the tree, by its number.
    Thread(u32),
    /// The kernel's own threads, on this device.
    Kernel { device: u32 },
    /// Other processes, on this device.
    Others { device: u32 },
}

/// The key of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub doer: Actor,
    pub kind: Kind,
    pub site: Site,
}

/// `struct key`; its 64-bit field is two halves, the lower first.
pub(super) type RawKey = [u32; 4];
/// `struct sum`.
pub(super) type RawSum = [u64; 4];
/// `struct thread`; its 64-bit fields are two halves each, the lower first.
pub(super) type RawThread = [u32; 18];
/// `struct slot`: nine fields of a thread, four of a sum, then five per site.
pub(super) type RawSlot = [u64; THREAD + 4 + 5 * SEATS];
/// `struct window`.
pub(super) type RawWindow = [u64; 6];
/// `struct processor`.
pub(super) type RawProcessor = [u64; 10];
/// `struct ended`.
pub(super) type RawEnded = [u32; 7];

/// The number of slots, each for one thread.
pub(super) const SLOTS: u32 = 8192;
/// The sites of a slot.
const SEATS: usize = 8;
/// The 64-bit fields of a thread.
const THREAD: usize = 9;

/// The slot that a thread may use.
pub(super) fn slot_of(thread: u32) -> u32 {
    thread & (SLOTS - 1)
}

/// The thread in a slot; none if the slot is free.
pub(super) fn sits_in(raw: &RawSlot) -> Option<u32> {
    let number = (raw[0] & 0xffff_ffff) as u32;
    (number > 0).then_some(number)
}

/// A used slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub number: u32,
    pub thread: ThreadState,
    /// The thread's involuntary switches, to be added to those in the map.
    pub taken_off: (Key, Sum),
    /// Voluntary switches by site, which replace those in the map.
    pub seats: Vec<(Key, Sum)>,
}

impl Slot {
    /// None if the slot is free.
    pub(super) fn of(raw: &RawSlot) -> Option<Slot> {
        let number = sits_in(raw)?;
        let mut thread = RawThread::default();
        for (halves, long) in thread.chunks_exact_mut(2).zip(raw) {
            halves[0] = (long & 0xffff_ffff) as u32;
            halves[1] = (long >> 32) as u32;
        }
        let key = |kind, site| Key { doer: Actor::Thread(number), kind, site };
        let sum = |at: usize| Sum { count: raw[at], amount: raw[at + 1] };
        let seats = (THREAD + 4..raw.len()).step_by(5);
        let seats = seats.filter(|at| raw[*at] > 0);
        Some(Slot {
            number,
            thread: ThreadState::of(&thread),
            taken_off: (key(Kind::Involuntary, None), sum(THREAD)),
            seats: seats.map(|at| (key(Kind::Voluntary, Some(raw[at])), sum(at + 1))).collect(),
        })
    }
}

impl Key {
    /// None for a key that the programs do not write.
    pub(super) fn of(raw: RawKey) -> Option<Key> {
        let [thread, kind, low, high] = raw;
        let doer = match thread {
            0xffff_fffe => Actor::Kernel { device: low },
            0xffff_ffff => Actor::Others { device: low },
            number => Actor::Thread(number),
        };
        Some(Key {
            doer,
            kind: Kind::of(kind)?,
            site: matches!(doer, Actor::Thread(_)).then(|| site(low, high)).flatten(),
        })
    }
}

/// A count and an amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub count: u64,
    /// Nanoseconds off the processor, or bytes; for system calls, the number of samples.
    pub amount: u64,
}

impl Sum {
    /// A request that was issued in one context and requeued in another leaves a negative sum in the latter,
    /// which becomes zero.
    pub(super) fn of(raw: RawSum) -> Sum {
        let positive = |number: u64| if number >> 63 == 0 { number } else { 0 };
        Sum { count: positive(raw[0]), amount: positive(raw[1]) }
    }
}

/// The counts of a processor after the programs have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Processor {
    /// True if not every system call was sampled.
    pub passed_over: bool,
    /// System calls of the process tree in sampling windows.
    pub calls: u64,
    /// Its switches in sampling windows.
    pub switches: u64,
}

impl Processor {
    /// Up to this number of samples, every call is sampled.
    const DENSE: u64 = 4096;

    pub(super) fn of(raw: &RawProcessor) -> Processor {
        let [
            _thread_and_passed,
            _weight,
            sampled,
            _firsts,
            _copies,
            _came,
            _attached,
            calls,
            switches,
            _last_switch,
        ] = *raw;
        Processor { passed_over: sampled >= Self::DENSE, calls, switches }
    }
}

/// The state of a thread of the process tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadState {
    /// System calls in sampling windows.
    pub calls: u64,
    /// Since when it is off its processor, in sampled time; none if it is running.
    pub off_since: Option<u64>,
    /// False if no event of it was seen since it was entered.
    pub seen: bool,
    /// None if no event of it was seen since it was started.
    pub process: Option<u32>,
    /// The thread that started it, if that was seen.
    pub parent: Option<u32>,
    /// The site where it left its processor.
    pub site: Site,
    /// How it left.
    pub kind: Kind,
    /// It has executed another program since its first event.
    pub executed: bool,
}

fn site(low: u32, high: u32) -> Site {
    let site = u64::from(high) << 32 | u64::from(low);
    (site > 0).then_some(site)
}

impl ThreadState {
    pub(super) fn of(raw: &RawThread) -> ThreadState {
        let long = |at: usize| u64::from(raw[at + 1]) << 32 | u64::from(raw[at]);
        let (off_since, registers) = (long(4), long(6));
        ThreadState {
            calls: long(2),
            off_since: (off_since > 0).then_some(long(16)),
            seen: registers != 0 || raw[12] != 0,
            process: (raw[8] > 0).then_some(raw[8]),
            parent: (raw[9] > 0).then_some(raw[9]),
            site: site(raw[10], raw[11]),
            kind: Kind::of(raw[12]).unwrap_or(Kind::Voluntary),
            executed: raw[14] != 0,
        }
    }

    /// A thread that is entered from here, without events. If `moves`, the programs move it to its slot.
    pub(super) fn fresh(number: u32, process: u32, moves: bool) -> RawThread {
        let mut fresh = RawThread::default();
        (fresh[0], fresh[1], fresh[8]) = (number, moves.into(), process);
        fresh
    }
}

/// The final state of a thread that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EndedThread {
    pub process: u32,
    pub parent: Option<u32>,
    pub executed: bool,
    pub name: String,
}

impl EndedThread {
    pub(super) fn of(raw: &RawEnded) -> EndedThread {
        let name = raw[3..].iter().flat_map(|four| four.to_le_bytes());
        let name: Vec<u8> = name.take_while(|byte| *byte != 0).collect();
        EndedThread {
            process: raw[0],
            parent: (raw[1] > 0).then_some(raw[1]),
            executed: raw[2] != 0,
            name: String::from_utf8_lossy(&name).into_owned(),
        }
    }
}

/// Indices of the array `found`.
pub(super) const FOUND_WANTED: u32 = 0;
pub(super) const FOUND_PLACE: u32 = 1;
pub(super) const FOUND_TIMES: u32 = 2;

/// Losses, from the array `losses`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    /// Events that did not fit: system calls, switches, requests.
    pub calls: u64,
    pub switches: u64,
    pub requests: u64,
    /// Threads that did not fit.
    pub threads: u64,
    /// Events whose site did not fit; they are counted without a site.
    pub sites: u64,
    /// Stack copies that did not fit.
    pub copies: u64,
    /// Not a loss: flushes of devices, by any process.
    pub device_flushes: u64,
    /// Not a loss: system calls of threads that have ended.
    pub calls_of_ended: u64,
    /// Switches to a thread whose switch from the processor was not seen: it may have been off longer than
    /// counted.
    pub returns: u64,
    /// Not a loss: keys created with a site.
    pub sites_made: u64,
}

impl Losses {
    pub(super) const PLACES: u32 = 10;

    pub(super) fn of(places: [u64; Losses::PLACES as usize]) -> Losses {
        let [
            calls,
            switches,
            requests,
            threads,
            sites,
            copies,
            device_flushes,
            calls_of_ended,
            returns,
            sites_made,
        ] = places;
        Losses {
            calls,
            switches,
            requests,
            threads,
            sites,
            copies,
            device_flushes,
            calls_of_ended,
            returns,
            sites_made,
        }
    }
}

/// A record of the ring `copies`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record<'a> {
    /// A stack copy of an event: registers, the call chain by frame pointers, and the top of the stack.
    Copy {
        key: Key,
        /// The thread's process.
        process: u32,
        /// The number of events it represents: those since the last copy. Zero before counting begins.
        weight: u64,
        registers: Registers,
        /// The instruction and the return addresses that the kernel found.
        chain: Vec<u64>,
        top: &'a [u8],
    },
    /// A thread whose leaving was copied has returned, after this many nanoseconds.
    Return { thread: u32, off_ns: u64 },
}

impl<'a> Record<'a> {
    const RETURN: usize = 24;
    /// The offset of the chain, and its size in bytes.
    const CHAIN: usize = 72;
    const CHAIN_BYTES: usize = 48 * 8;

    /// None for a record that the programs do not write.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Record<'a>> {
        let four = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let eight = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (thread, weight) = (four(0)?, eight(16)?);
        if bytes.len() == Self::RETURN {
            return Some(Record::Return { thread, off_ns: weight });
        }
        let filled = four(60)? as usize;
        let chain_bytes = usize::try_from(eight(64)?).ok()?;
        if chain_bytes > Self::CHAIN_BYTES {
            return None;
        }
        let chain = bytes.get(Self::CHAIN..Self::CHAIN + chain_bytes)?;
        let top = Self::CHAIN + Self::CHAIN_BYTES;
        Some(Record::Copy {
            key: Key::of([thread, four(4)?, four(8)?, four(12)?])?,
            process: four(56)?,
            weight,
            registers: Registers {
                instruction: eight(24)?,
                stack: eight(32)?,
                frame: eight(40)?,
                link: eight(48)?,
            },
            chain: chain
                .chunks_exact(8)
                .filter_map(|eight| Some(u64::from_le_bytes(eight.try_into().ok()?)))
                .collect(),
            top: bytes.get(top..top + filled)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Actor, Key, Kind, Record, Slot, Sum, ThreadState};

    #[test]
    fn keys_hold_the_actor_the_site_and_the_kind() {
        let call = Key::of([7, 74, 5, 1]).unwrap();
        assert_eq!(call.doer, Actor::Thread(7));
        assert_eq!((call.site, call.kind), (Some(5 + (1 << 32)), Kind::Call(74)));
        let nowhere = Key::of([7, 0x10001, 0, 0]).unwrap();
        assert_eq!((nowhere.site, nowhere.kind), (None, Kind::Involuntary));
        let kernel = Key::of([u32::MAX - 1, 0x20001, 0x0fe0_0000, 0]).unwrap();
        assert_eq!(kernel.doer, Actor::Kernel { device: 0x0fe0_0000 });
        assert_eq!(kernel.site, None);
        assert_eq!(Key::of([7, 0x30000, 5, 0]), None);
    }

    #[test]
    fn a_slot_holds_a_thread_and_its_unfinished_events() {
        let mut raw = [0; 53];
        assert_eq!(Slot::of(&raw), None, "a free one");
        raw[..2].copy_from_slice(&[7 | 1 << 32, 99]);
        raw[4] = 6;
        raw[9..13].copy_from_slice(&[3, 500, 8, 1]);
        raw[18..23].copy_from_slice(&[1 << 40, 21, 700, 40, 20]);
        let slot = Slot::of(&raw).unwrap();
        assert_eq!((slot.number, slot.thread.calls), (7, 99));
        assert_eq!(slot.thread.process, Some(6));
        let key = |kind, site| Key { doer: Actor::Thread(7), kind, site };
        let sum = |count, amount| Sum { count, amount };
        assert_eq!(slot.taken_off, (key(Kind::Involuntary, None), sum(3, 500)));
        let seat = (key(Kind::Voluntary, Some(1 << 40)), sum(21, 700));
        assert_eq!(slot.seats, [seat]);
        let entered = ThreadState::of(&ThreadState::fresh(7, 6, true));
        assert!(!entered.seen && entered.process == Some(6));
    }

    #[test]
    fn a_negative_sum_is_zero() {
        let sum = Sum::of([u64::MAX, 512, 0, 0]);
        assert_eq!((sum.count, sum.amount), (0, 512));
    }

    #[test]
    fn records_of_any_length_are_read_or_refused() {
        let mut bytes = vec![0; 72 + 48 * 8 + 2048];
        bytes[0] = 9;
        bytes[4] = 1;
        bytes[16] = 31;
        bytes[60] = 3;
        bytes[64] = 16;
        bytes[72..88].copy_from_slice(&[[7; 8], [8; 8]].concat());
        bytes[456..459].copy_from_slice(&[1, 2, 3]);
        let Some(Record::Copy { key, weight, chain, top, .. }) = Record::of(&bytes) else {
            panic!("a copy is read")
        };
        assert_eq!((key.doer, key.kind), (Actor::Thread(9), Kind::Call(1)));
        assert_eq!((weight, top), (31, &[1, 2, 3][..]));
        assert_eq!(chain, [0x0707_0707_0707_0707, 0x0808_0808_0808_0808]);
        let off = Record::of(&bytes[..24]).unwrap();
        assert_eq!(off, Record::Return { thread: 9, off_ns: 31 });
        for length in 0..bytes.len() {
            // Truncated records are read without a panic.
            Record::of(&bytes[..length]);
        }
        for length_of in [62, 66] {
            bytes[length_of] = 1;
            assert_eq!(Record::of(&bytes), None, "the length field exceeds the record");
            bytes[length_of] = 0;
        }
    }
}
