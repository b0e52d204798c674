//! Counts the sync system calls of another process and of its descendants, without being in their way.
//!
//! An event that belongs to a task goes on and off a processor with it. Of a server whose workers wait for
//! each request that was a twentieth of the processor time of a whole select, and more beside a client of
//! one thread. So here each processor has events of its own, which write into a ring who called a sync. A
//! thread takes the rings ten times a second and counts the calls of the family. What is left is the
//! kernel's longer way into each system call while any is traced.
//!
//! 1. Who is forked by one of the family belongs to it: forks stand in the same rings. The family that is
//!    there already is listed after the events were switched on, so that nobody is missed.
//! 2. Forks are heeded before the calls that were taken with them, whichever processor wrote them.
//! 3. What the kernel dropped may have been theirs: from then on the count is not known.

use crate::online_cpus::online_cpus;
use crate::perf_event::{PerfEvent, task_is_gone};
use crate::perf_ring_buffer::PerfRingBuffer;
use crate::proc::process_tree;
use crate::sync_points::SyncPoint;
use parking_lot::Mutex;
use perf_event_open_sys::bindings::{
    PERF_RECORD_FORK, PERF_RECORD_LOST, PERF_RECORD_SAMPLE, PERF_SAMPLE_TID, PERF_TYPE_TRACEPOINT,
    perf_event_attr,
};
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Pages of a ring: some 60,000 syncs of a processor between two looks.
const PAGES: usize = 256;
/// Between two looks into the rings.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The header of a record: type, marks, length.
const HEADER_BYTES: usize = 8;

/// A running count.
#[derive(Debug)]
pub(crate) struct ForeignSyncs {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    watch: Mutex<Watch>,
    ending: AtomicBool,
}

#[derive(Debug)]
struct Watch {
    rings: Vec<PerfRingBuffer>,
    /// All of a processor write into its ring.
    _events: Vec<PerfEvent>,
    /// What was taken of each ring; memory that is used again.
    drained: Vec<Vec<u8>>,
    count: Count,
}

impl ForeignSyncs {
    /// Starts counting the passes of the family of `pid` through any of those tracepoints.
    pub(crate) fn open(points: &[SyncPoint], pid: u32) -> io::Result<ForeignSyncs> {
        let (mut rings, mut events) = (Vec::new(), Vec::new());
        for cpu in online_cpus() {
            match events_of(cpu, points) {
                Ok((ring, of_cpu)) => {
                    rings.push(ring);
                    events.extend(of_cpu);
                }
                Err(error) if task_is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let family = process_tree(pid, Path::new("/"));
        if family.is_empty() || rings.is_empty() {
            return Err(rustix::io::Errno::SRCH.into());
        }
        let drained = rings.iter().map(|_| Vec::new()).collect();
        let shared = Arc::new(Shared {
            watch: Mutex::new(Watch { rings, _events: events, drained, count: Count::of(family) }),
            ending: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&shared);
        let body = move || {
            while !theirs.ending.load(Ordering::Acquire) {
                theirs.look();
                thread::park_timeout(POLL_INTERVAL);
            }
        };
        let thread = thread::Builder::new().name("sync calls".to_owned());
        Ok(ForeignSyncs { thread: Some(thread.spawn(body)?), shared })
    }

    /// The count so far; none if the kernel has dropped some.
    pub(crate) fn read(&self) -> Option<u64> {
        self.shared.look()
    }
}

impl Drop for ForeignSyncs {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic there has been told by the thread itself.
            if thread.join().is_err() {}
        }
    }
}

impl Shared {
    /// Takes what stands in the rings.
    fn look(&self) -> Option<u64> {
        let mut watch = self.watch.lock();
        let Watch { rings, drained, count, .. } = &mut *watch;
        for (ring, bytes) in rings.iter_mut().zip(&mut *drained) {
            bytes.clear();
            ring.drain(bytes);
        }
        count.take(drained);
        count.syncs()
    }
}

/// The events of a processor, switched on, and the ring that they share.
fn events_of(cpu: i32, points: &[SyncPoint]) -> io::Result<(PerfRingBuffer, Vec<PerfEvent>)> {
    let mut events: Vec<PerfEvent> = Vec::with_capacity(points.len());
    let mut ring = None;
    for point in points {
        let tells_forks = events.is_empty();
        let event = PerfEvent::open_as(attributes(point.number, tells_forks), -1, cpu)?;
        if let Some(filter) = &point.filter {
            event.filter(filter)?;
        }
        match events.first() {
            None => ring = Some(PerfRingBuffer::map_at_most(&event, PAGES)?),
            Some(first) => event.write_with(first)?,
        }
        event.enable()?;
        events.push(event);
    }
    Ok((ring.expect("sync calls pass some tracepoint"), events))
}

/// An event of a processor: everybody's passes, and everybody's forks if it tells them.
fn attributes(tracepoint: u64, tells_forks: bool) -> perf_event_attr {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_TRACEPOINT,
        config: tracepoint,
        sample_type: PERF_SAMPLE_TID.into(),
        ..perf_event_attr::default()
    };
    attributes.__bindgen_anon_1.sample_period = 1;
    attributes.set_task(tells_forks.into());
    attributes.set_disabled(1);
    attributes
}

/// Whose calls count, and how many there were.
#[derive(Debug)]
struct Count {
    family: HashSet<u32>,
    calls: u64,
    dropped: bool,
}

impl Count {
    fn of(family: impl IntoIterator<Item = u32>) -> Count {
        Count { family: family.into_iter().collect(), calls: 0, dropped: false }
    }

    fn syncs(&self) -> Option<u64> {
        (!self.dropped).then_some(self.calls)
    }

    /// Takes what stood in the rings at one time.
    fn take(&mut self, drained: &[Vec<u8>]) {
        while self.adopt(drained) {}
        for record in drained.iter().flat_map(|bytes| records(bytes)) {
            match record {
                Record::Call { pid } => self.calls += u64::from(self.family.contains(&pid)),
                Record::Dropped => self.dropped = true,
                // A number that was one of theirs is a stranger's now.
                Record::Fork { pid, parent } if !self.family.contains(&parent) => {
                    self.family.remove(&pid);
                }
                Record::Fork { .. } => {}
            }
        }
    }

    /// True if somebody was added, whose own children may stand in a ring that was looked at before.
    fn adopt(&mut self, drained: &[Vec<u8>]) -> bool {
        let mut grown = false;
        for record in drained.iter().flat_map(|bytes| records(bytes)) {
            if let Record::Fork { pid, parent } = record
                && self.family.contains(&parent)
            {
                grown |= self.family.insert(pid);
            }
        }
        grown
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Record {
    Call { pid: u32 },
    Fork { pid: u32, parent: u32 },
    Dropped,
}

/// The records in what was drained of a ring; those that nobody asks for are left out.
fn records(mut bytes: &[u8]) -> impl Iterator<Item = Record> {
    std::iter::from_fn(move || {
        loop {
            let kind = number(bytes, 0)?;
            let length = usize::from(half(bytes, 6)?);
            // By the kernel's word no record is shorter than its header; without this, it might never end.
            let (record, rest) = bytes.split_at_checked(length.max(HEADER_BYTES))?;
            bytes = rest;
            let body = &record[HEADER_BYTES..];
            match kind {
                PERF_RECORD_SAMPLE => {
                    let pid = number(body, 0)?;
                    return Some(Record::Call { pid });
                }
                PERF_RECORD_FORK => {
                    let (pid, parent) = (number(body, 0)?, number(body, 4)?);
                    return Some(Record::Fork { pid, parent });
                }
                PERF_RECORD_LOST => return Some(Record::Dropped),
                _ => {}
            }
        }
    })
}

#[allow(clippy::host_endian_bytes, reason = "the kernel writes in the machine's order")]
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*four))
}

#[allow(clippy::host_endian_bytes, reason = "the kernel writes in the machine's order")]
fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*two))
}

#[cfg(test)]
#[allow(clippy::host_endian_bytes, reason = "the kernel writes in the machine's order")]
mod tests {
    use super::{Count, HEADER_BYTES};
    use perf_event_open_sys::bindings::{
        PERF_RECORD_EXIT, PERF_RECORD_FORK, PERF_RECORD_LOST, PERF_RECORD_SAMPLE,
    };

    fn record(kind: u32, body: &[u32]) -> Vec<u8> {
        let length = (HEADER_BYTES + body.len() * 4) as u16;
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend([0, 0]);
        bytes.extend(length.to_ne_bytes());
        bytes.extend(body.iter().flat_map(|number| number.to_ne_bytes()));
        bytes
    }

    fn call(pid: u32) -> Vec<u8> {
        record(PERF_RECORD_SAMPLE, &[pid, pid])
    }

    fn fork(parent: u32, pid: u32) -> Vec<u8> {
        record(PERF_RECORD_FORK, &[pid, parent, pid, parent, 0, 0])
    }

    #[test]
    fn calls_of_the_family_count_wherever_its_forks_were_written() {
        let mut count = Count::of([10, 11]);
        // A grandchild's fork stands in a ring before its parent's, and its call before both.
        let first = [call(13), fork(12, 13), call(99)].concat();
        let second = [fork(10, 12), call(12), call(10), fork(99, 100)].concat();
        count.take(&[first, second]);
        assert_eq!(count.syncs(), Some(3));
        count.take(&[[call(13), call(100)].concat(), Vec::new()]);
        assert_eq!(count.syncs(), Some(4));
    }

    #[test]
    fn a_number_that_a_stranger_has_now_is_forgotten() {
        let mut count = Count::of([10, 11]);
        count.take(&[fork(99, 11)]);
        count.take(&[call(11)]);
        assert_eq!(count.syncs(), Some(0));
    }

    #[test]
    fn dropped_records_leave_nothing_known_and_broken_ones_end_what_was_taken() {
        let mut count = Count::of([10]);
        let exit = record(PERF_RECORD_EXIT, &[10, 1, 10, 1, 0, 0]);
        count.take(&[[exit, call(10)].concat()]);
        assert_eq!(count.syncs(), Some(1));
        let whole = [call(10), fork(10, 11)].concat();
        for cut in 0..whole.len() {
            count.take(&[whole[..cut].to_vec()]);
        }
        count.take(&[record(PERF_RECORD_LOST, &[0, 0, 7, 0])]);
        assert_eq!(count.syncs(), None);
    }
}
