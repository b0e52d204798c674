//! What the programs in the kernel and this room say to each other: keys, values and records, in the
//! order of `program.bpf.c`.
//!
//! Values of maps cross as arrays of numbers, so that nothing here is unsafe; records of the ring are
//! read byte by byte, little-endian as the programs are compiled.

use crate::collect::perf::Registers;

/// A stack of the kernel's map; none where it could not be kept.
pub(super) type StackNumber = Option<u32>;

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A system call of this number.
    Call(u16),
    /// A thread gave its processor up.
    Voluntary,
    /// A thread was taken off its processor.
    Involuntary,
    /// A write request that somebody waits for.
    SyncWrite,
    /// One that nobody waits for.
    AsyncWrite,
    /// A flush that was asked for.
    Flush,
}

impl Kind {
    /// None for a number that the programs do not use.
    fn of(number: u32) -> Option<Kind> {
        Some(match number {
            0..=0xffff => Kind::Call(number as u16),
            0x10000 => Kind::Voluntary,
            0x10001 => Kind::Involuntary,
            0x20000 => Kind::SyncWrite,
            0x20001 => Kind::AsyncWrite,
            0x20002 => Kind::Flush,
            _ => return None,
        })
    }
}

/// Who did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Doer {
    /// A thread of the tree, by its number.
    Thread(u32),
    /// The kernel's own threads; on this device.
    Kernel { device: u32 },
    /// Other processes; on this device.
    Others { device: u32 },
}

/// Under what is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub doer: Doer,
    pub stack: StackNumber,
    pub kind: Kind,
}

/// `struct key`.
pub(super) type RawKey = [u32; 3];
/// `struct sum`.
pub(super) type RawSum = [u64; 4];
/// `struct thread`; its two long fields are halves, the lower first.
pub(super) type RawThread = [u32; 10];
/// `struct ended`.
pub(super) type RawEnded = [u32; 7];

impl Key {
    /// None for what the programs do not write.
    pub(super) fn of(raw: RawKey) -> Option<Key> {
        let [thread, stack, kind] = raw;
        let doer = match thread {
            0xffff_fffe => Doer::Kernel { device: stack },
            0xffff_ffff => Doer::Others { device: stack },
            number => Doer::Thread(number),
        };
        let is_stack = matches!(doer, Doer::Thread(_)) && stack != u32::MAX;
        Some(Key {
            doer,
            stack: is_stack.then_some(stack),
            kind: Kind::of(kind)?,
        })
    }
}

/// How often, and how much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub count: u64,
    /// Nanoseconds off the processor, or bytes.
    pub amount: u64,
}

impl Sum {
    /// A request that was issued in one context and put back in another leaves less than nothing in
    /// the latter: that is nothing.
    pub(super) fn of(raw: RawSum) -> Sum {
        let positive = |number: u64| if number >> 63 == 0 { number } else { 0 };
        Sum {
            count: positive(raw[0]),
            amount: positive(raw[1]),
        }
    }
}

/// What is known of a thread of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadState {
    /// Since when it is off its processor; none if it runs.
    pub off_since: Option<u64>,
    /// False if nothing of it has been seen since it was entered.
    pub seen: bool,
    /// None if it has not been seen since it was started.
    pub process: Option<u32>,
    /// The thread that started it, if that was seen.
    pub parent: Option<u32>,
    /// Where it left its processor.
    pub stack: StackNumber,
    /// How it left.
    pub kind: Kind,
    /// It has started another program since it was first seen.
    pub executed: bool,
}

const NO_STACK: u32 = u32::MAX;

impl ThreadState {
    pub(super) fn of(raw: &RawThread) -> ThreadState {
        let [off_low, off_high, registers_low, registers_high] = [raw[0], raw[1], raw[2], raw[3]];
        let off_since = u64::from(off_high) << 32 | u64::from(off_low);
        ThreadState {
            off_since: (off_since > 0).then_some(off_since),
            seen: registers_low != 0 || registers_high != 0 || raw[7] != 0,
            process: (raw[4] > 0).then_some(raw[4]),
            parent: (raw[5] > 0).then_some(raw[5]),
            stack: (raw[6] != NO_STACK).then_some(raw[6]),
            kind: Kind::of(raw[7]).unwrap_or(Kind::Voluntary),
            executed: raw[9] != 0,
        }
    }

    /// A thread that is entered from outside: nothing of it has been seen.
    pub(super) fn fresh(process: u32) -> RawThread {
        [0, 0, 0, 0, process, 0, NO_STACK, 0, 0, 0]
    }
}

/// What is left of a thread that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub process: u32,
    pub parent: Option<u32>,
    pub executed: bool,
    pub name: String,
}

impl Ended {
    pub(super) fn of(raw: &RawEnded) -> Ended {
        let name = raw[3..].iter().flat_map(|four| four.to_le_bytes());
        let name: Vec<u8> = name.take_while(|byte| *byte != 0).collect();
        Ended {
            process: raw[0],
            parent: (raw[1] > 0).then_some(raw[1]),
            executed: raw[2] != 0,
            name: String::from_utf8_lossy(&name).into_owned(),
        }
    }
}

/// Places in the array `moments`.
pub(super) const COUNTED_SINCE: u32 = 0;
pub(super) const COUNTED_UNTIL: u32 = 1;

/// What was lost, by the array `losses`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    /// Events for which there was no room: system calls, switches, requests.
    pub calls: u64,
    pub switches: u64,
    pub requests: u64,
    /// Threads for which there was none.
    pub threads: u64,
    /// Events whose stack's place was another's.
    pub stacks: u64,
    /// Copies for which there was no room.
    pub copies: u64,
    /// Events for which the walk found nothing.
    pub no_user_stack: u64,
    /// No loss: the flushes that devices were given by anybody.
    pub device_flushes: u64,
}

impl Losses {
    pub(super) const PLACES: u32 = 8;

    pub(super) fn of(places: [u64; 8]) -> Losses {
        let [
            calls,
            switches,
            requests,
            threads,
            stacks,
            copies,
            no_user_stack,
            device_flushes,
        ] = places;
        Losses {
            calls,
            switches,
            requests,
            threads,
            stacks,
            copies,
            no_user_stack,
            device_flushes,
        }
    }
}

/// A record of the ring `copies`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record<'a> {
    /// Of an event: registers and the top of the stack.
    Copy {
        key: Key,
        /// The thread's process.
        process: u32,
        /// How many events it stands for: those since the last copy.
        weight: u64,
        registers: Registers,
        top: &'a [u8],
    },
    /// A thread whose leaving was copied has come back, after so many nanoseconds.
    Return { thread: u32, off_ns: u64 },
}

impl<'a> Record<'a> {
    const RETURN: usize = 24;
    const HEAD: usize = 64;

    /// None for what the programs do not write.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Record<'a>> {
        let four = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let eight = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (thread, weight) = (four(0)?, eight(16)?);
        if bytes.len() == Self::RETURN {
            return Some(Record::Return {
                thread,
                off_ns: weight,
            });
        }
        let filled = four(12)? as usize;
        Some(Record::Copy {
            key: Key::of([thread, four(4)?, four(8)?])?,
            process: four(56)?,
            weight,
            registers: Registers {
                instruction: eight(24)?,
                stack: eight(32)?,
                frame: eight(40)?,
                link: eight(48)?,
            },
            top: bytes.get(Self::HEAD..Self::HEAD + filled)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Doer, Key, Kind, Record, Sum};

    #[test]
    fn keys_say_who_where_and_what() {
        let call = Key::of([7, 5, 74]).unwrap();
        assert_eq!(call.doer, Doer::Thread(7));
        assert_eq!((call.stack, call.kind), (Some(5), Kind::Call(74)));
        let lost = Key::of([7, u32::MAX, 0x10001]).unwrap();
        assert_eq!((lost.stack, lost.kind), (None, Kind::Involuntary));
        let kernel = Key::of([u32::MAX - 1, 0x0fe0_0000, 0x20001]).unwrap();
        assert_eq!(
            kernel.doer,
            Doer::Kernel {
                device: 0x0fe0_0000
            }
        );
        assert_eq!(kernel.stack, None);
        assert_eq!(Key::of([7, 5, 0x30000]), None);
    }

    #[test]
    fn less_than_nothing_is_nothing() {
        let sum = Sum::of([u64::MAX, 512, 0, 0]);
        assert_eq!((sum.count, sum.amount), (0, 512));
    }

    #[test]
    fn records_of_any_length_are_read_or_refused() {
        let mut bytes = vec![0; 2112];
        bytes[0] = 9;
        bytes[8] = 1;
        bytes[12] = 3;
        bytes[16] = 31;
        bytes[64..67].copy_from_slice(&[1, 2, 3]);
        let Some(Record::Copy {
            key, weight, top, ..
        }) = Record::of(&bytes)
        else {
            panic!("a copy is read")
        };
        assert_eq!((key.doer, key.kind), (Doer::Thread(9), Kind::Call(1)));
        assert_eq!((weight, top), (31, &[1, 2, 3][..]));
        let off = Record::of(&bytes[..24]).unwrap();
        assert_eq!(
            off,
            Record::Return {
                thread: 9,
                off_ns: 31
            }
        );
        for length in 0..bytes.len() {
            // Never outside of what is there.
            Record::of(&bytes[..length]);
        }
        bytes[14] = 1;
        assert_eq!(
            Record::of(&bytes),
            None,
            "more is said to be filled than there is"
        );
    }
}
