//! Parses the records of a ring.
//!
//! A record begins with its type (4 bytes), flags (2) and length in bytes (2), which includes these eight.
//! Numbers are in the machine's byte order. Records that are shorter than their type requires are ignored,
//! and so are types that this crate does not use.

use super::event_source::{Kind, Source};
use super::registers::{self, Registers};
use perf_event_open_sys::bindings::{
    PERF_RECORD_COMM, PERF_RECORD_EXIT, PERF_RECORD_FORK, PERF_RECORD_LOST,
    PERF_RECORD_MISC_COMM_EXEC, PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_KERNEL,
    PERF_RECORD_MMAP, PERF_RECORD_MMAP2, PERF_RECORD_SAMPLE,
};

/// Values of a call chain from here on are context marks: the kernel's or the user's addresses follow.
const MARKS: u64 = -4095_i64 as u64;
const KERNEL_FOLLOWS: u64 = -128_i64 as u64;
const USER_FOLLOWS: u64 = -512_i64 as u64;
/// The registers of a 64-bit program.
const ABI_64: u64 = 2;

/// One record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record<'a> {
    /// A sample or an event.
    Sample(Sample<'a>),
    /// A process started another process, or a thread of its own, at a time of the kernel's clock.
    Fork { pid: u32, parent: u32, at: u64 },
    /// A thread ended. Equal numbers mean the first thread of a process, which has ended or will soon.
    Exit { pid: u32, tid: u32 },
    /// A process mapped code, or executed another program.
    Mapped { pid: u32 },
    /// Samples of an event that were dropped.
    Lost { event: u64, samples: u64 },
}

/// A sample of a thread.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    pub kind: Kind,
    /// True if it was taken in the kernel.
    pub in_kernel: bool,
    pub pid: u32,
    pub tid: u32,
    /// Addresses in the kernel, innermost first; all except the first are return addresses.
    pub kernel: Vec<u64>,
    /// The user's call chain by frame pointers, in the same form.
    pub user: Vec<u64>,
    /// The tracepoint's own bytes.
    pub raw: &'a [u8],
    /// None if the thread has no 64-bit user side.
    pub registers: Option<Registers>,
    /// The top of the user stack, from the stack pointer upwards.
    pub stack: &'a [u8],
}

/// The records in bytes drained from a ring. `kind` maps event ids.
pub(super) fn records(
    mut bytes: &[u8],
    kind: impl Fn(u64) -> Option<Kind>,
) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        loop {
            let mut header = Reader(bytes);
            let kind_of_record = header.u32()?;
            let marks = u32::from(header.u16()?);
            let length = usize::from(header.u16()?);
            // The kernel writes no record shorter than its header; the `max` keeps corrupt bytes from
            // looping.
            let (record, rest) = bytes.split_at_checked(length.max(8))?;
            bytes = rest;
            let body = Reader(&record[8..]);
            if let Some(record) = parse(kind_of_record, marks, body, &kind) {
                return Some(record);
            }
        }
    })
}

fn parse<'a>(
    kind_of_record: u32,
    marks: u32,
    mut body: Reader<'a>,
    kind: &impl Fn(u64) -> Option<Kind>,
) -> Option<Record<'a>> {
    match kind_of_record {
        PERF_RECORD_SAMPLE => sample(marks, body, kind).map(Record::Sample),
        PERF_RECORD_FORK => {
            let (pid, parent, _threads) = (body.u32()?, body.u32()?, body.u64()?);
            let at = body.u64()?;
            Some(Record::Fork { pid, parent, at })
        }
        PERF_RECORD_EXIT => {
            let (pid, _parent, tid) = (body.u32()?, body.u32()?, body.u32()?);
            Some(Record::Exit { pid, tid })
        }
        PERF_RECORD_MMAP | PERF_RECORD_MMAP2 => Some(Record::Mapped { pid: body.u32()? }),
        PERF_RECORD_COMM if marks & PERF_RECORD_MISC_COMM_EXEC != 0 => {
            Some(Record::Mapped { pid: body.u32()? })
        }
        PERF_RECORD_LOST => {
            let (event, samples) = (body.u64()?, body.u64()?);
            Some(Record::Lost { event, samples })
        }
        _ => None,
    }
}

fn sample<'a>(
    marks: u32,
    mut body: Reader<'a>,
    kind: &impl Fn(u64) -> Option<Kind>,
) -> Option<Sample<'a>> {
    let kind = kind(body.u64()?)?;
    let _instruction = body.u64()?;
    let (pid, tid) = (body.u32()?, body.u32()?);
    let (kernel, user) = chains(&mut body)?;
    let raw = if Source::has_raw(kind) {
        let bytes = body.u32()?;
        body.bytes(bytes as usize)?
    } else {
        &[]
    };
    let registers = match body.u64()? {
        0 => None,
        abi => {
            let mut values = [0; registers::COUNT];
            for value in &mut values {
                *value = body.u64()?;
            }
            (abi == ABI_64).then(|| registers::from_sample(values))
        }
    };
    let copied = body.u64()?;
    let mut stack: &[u8] = &[];
    if copied > 0 {
        let copy = body.bytes(usize::try_from(copied).ok()?)?;
        let filled = usize::try_from(body.u64()?).ok()?;
        stack = copy.get(..filled).unwrap_or(copy);
    }
    Some(Sample {
        kind,
        in_kernel: marks & PERF_RECORD_MISC_CPUMODE_MASK == PERF_RECORD_MISC_KERNEL,
        pid,
        tid,
        kernel,
        user,
        raw,
        registers,
        stack,
    })
}

/// The kernel's call chain and the user's.
fn chains(body: &mut Reader<'_>) -> Option<(Vec<u64>, Vec<u64>)> {
    let (mut kernel, mut user, mut other) = (Vec::new(), Vec::new(), Vec::new());
    let mut into = &mut other;
    for _ in 0..body.u64()? {
        match body.u64()? {
            KERNEL_FOLLOWS => into = &mut kernel,
            USER_FOLLOWS => into = &mut user,
            MARKS.. => into = &mut other,
            address => into.push(address),
        }
    }
    Some((kernel, user))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        self.bytes(COUNT)?.try_into().ok()
    }

    #[allow(clippy::host_endian_bytes, reason = "the kernel writes in the machine's order")]
    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_ne_bytes)
    }

    #[allow(clippy::host_endian_bytes, reason = "the kernel writes in the machine's order")]
    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    #[allow(clippy::host_endian_bytes, reason = "the kernel writes in the machine's order")]
    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::{KERNEL_FOLLOWS, Record, USER_FOLLOWS, records};
    use crate::perf::event_source::Kind;
    use perf_event_open_sys::bindings::{
        PERF_RECORD_FORK, PERF_RECORD_LOST, PERF_RECORD_MISC_KERNEL, PERF_RECORD_SAMPLE,
    };

    fn record(kind: u32, marks: u32, body: &[u64]) -> Vec<u8> {
        let length = 8 + body.len() * 8;
        let head = u64::from(kind) | u64::from(marks) << 32 | (length as u64) << 48;
        let words = std::iter::once(&head).chain(body);
        words.flat_map(|word| word.to_le_bytes()).collect()
    }

    fn known(event: u64) -> Option<Kind> {
        (event == 5).then_some(Kind::Clock)
    }

    #[test]
    fn a_sample_and_the_records_around_it_are_read() {
        let pair = |low: u64, high: u64| low | high << 32;
        let thread = pair(70, 71);
        let mut bytes = record(PERF_RECORD_FORK, 0, &[pair(80, 70), pair(80, 70), 1]);
        bytes.extend(record(999, 0, &[1, 2, 3]));
        let chain = [KERNEL_FOLLOWS, 11, 12, USER_FOLLOWS, 21, 22];
        let mut body = vec![5, 11, thread, chain.len() as u64];
        body.extend(chain);
        body.extend([2].iter().chain(&[7; super::registers::COUNT]));
        body.extend([16, 1, 2, 8]);
        bytes.extend(record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, &body));
        bytes.extend(record(PERF_RECORD_LOST, 0, &[5, 9]));
        let mut found = records(&bytes, known);
        assert_eq!(found.next(), Some(Record::Fork { pid: 80, parent: 70, at: 1 }));
        let Some(Record::Sample(sample)) = found.next() else {
            panic!("a sample follows");
        };
        assert!(sample.in_kernel && sample.kind == Kind::Clock && sample.raw.is_empty());
        assert_eq!((sample.pid, sample.tid), (70, 71));
        assert_eq!((sample.kernel, sample.user), (vec![11, 12], vec![21, 22]));
        assert_eq!(sample.stack, 1_u64.to_le_bytes());
        assert_eq!(sample.registers.unwrap().stack, 7);
        assert_eq!(found.next(), Some(Record::Lost { event: 5, samples: 9 }));
        assert_eq!(found.next(), None);
    }

    #[test]
    fn any_bytes_are_read_to_their_end() {
        let mut random = 7_u64;
        let mut seen = 0;
        for round in 0..2000_u32 {
            let mut bytes = Vec::new();
            for _ in 0..round % 64 {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(99);
                bytes.extend((random >> (random & 63)).to_le_bytes());
            }
            // Half of them begin with the header of a known record.
            if let Some(first) = bytes.first_mut().filter(|_| round % 2 == 0) {
                *first = PERF_RECORD_SAMPLE as u8;
            }
            seen += records(&bytes, |_| Some(Kind::Call)).count();
        }
        assert!(seen < 2000 * 64);
    }
}
