//! Counts the sync system calls of another process and its descendants without slowing them down.
//!
//! A perf event that belongs to a task is switched on and off with it. For a server whose workers wait for
//! each request, this cost a twentieth of the processor time of a whole select, and more with a
//! single-threaded client. So each processor has its own events instead, which record in a ring buffer the
//! process that called a sync. A thread drains the rings ten times a second and counts the calls of the
//! process tree. The remaining cost is the kernel's slower system call entry while any call is traced.
//!
//! 1. A child forked by a member of the tree belongs to it; the same rings record the forks. The existing
//!    members are listed after the events are switched on, so that none is missed.
//! 2. All forks of a drain are processed before its calls, whichever processor recorded them.
//! 3. If the kernel drops records, they may have been calls of the tree: from then on the count is unknown.

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

/// Pages of a ring: about 60,000 syncs of one processor between two drains.
const PAGES: usize = 256;
/// The time between two drains of the rings.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The header of a record: type, marks, length.
const HEADER_BYTES: usize = 8;

/// A running count.
#[derive(Debug)]
pub(crate) struct PerCpuSyncCounter {
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
    /// Held open: all events of a processor write into its ring.
    _events: Vec<PerfEvent>,
    /// The records drained from each ring; the buffers are reused.
    drained: Vec<Vec<u8>>,
    count: Count,
}

impl PerCpuSyncCounter {
    /// Starts counting how often process `pid` and its descendants pass any of the tracepoints.
    pub(crate) fn open(points: &[SyncPoint], pid: u32) -> io::Result<PerCpuSyncCounter> {
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
        let tree = process_tree(pid, Path::new("/"));
        if tree.is_empty() || rings.is_empty() {
            return Err(rustix::io::Errno::SRCH.into());
        }
        let drained = rings.iter().map(|_| Vec::new()).collect();
        let shared = Arc::new(Shared {
            watch: Mutex::new(Watch { rings, _events: events, drained, count: Count::of(tree) }),
            ending: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&shared);
        let body = move || {
            while !theirs.ending.load(Ordering::Acquire) {
                theirs.drain();
                thread::park_timeout(POLL_INTERVAL);
            }
        };
        let thread = thread::Builder::new().name("sync calls".to_owned());
        Ok(PerCpuSyncCounter { thread: Some(thread.spawn(body)?), shared })
    }

    /// The count so far; none if the kernel has dropped records.
    pub(crate) fn read(&self) -> Option<u64> {
        self.shared.drain()
    }
}

impl Drop for PerCpuSyncCounter {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread itself has reported its panic.
            if thread.join().is_err() {}
        }
    }
}

impl Shared {
    /// Drains the rings and counts.
    fn drain(&self) -> Option<u64> {
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

/// The events of a processor, enabled, and the ring that they share.
fn events_of(cpu: i32, points: &[SyncPoint]) -> io::Result<(PerfRingBuffer, Vec<PerfEvent>)> {
    let mut events: Vec<PerfEvent> = Vec::with_capacity(points.len());
    let mut ring = None;
    for point in points {
        let records_forks = events.is_empty();
        let event = PerfEvent::open_as(attributes(point.number, records_forks), -1, cpu)?;
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

/// The attributes of a per-processor event for all processes, which also records forks if `records_forks`.
fn attributes(tracepoint: u64, records_forks: bool) -> perf_event_attr {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_TRACEPOINT,
        config: tracepoint,
        sample_type: PERF_SAMPLE_TID.into(),
        ..perf_event_attr::default()
    };
    attributes.__bindgen_anon_1.sample_period = 1;
    attributes.set_task(records_forks.into());
    attributes.set_disabled(1);
    attributes
}

/// The process tree, and the number of its syncs.
#[derive(Debug)]
struct Count {
    tree: HashSet<u32>,
    calls: u64,
    dropped: bool,
}

impl Count {
    fn of(tree: impl IntoIterator<Item = u32>) -> Count {
        Count { tree: tree.into_iter().collect(), calls: 0, dropped: false }
    }

    fn syncs(&self) -> Option<u64> {
        (!self.dropped).then_some(self.calls)
    }

    /// Counts what one drain of all rings returned.
    fn take(&mut self, drained: &[Vec<u8>]) {
        while self.adopt(drained) {}
        for record in drained.iter().flat_map(|bytes| records(bytes)) {
            match record {
                Record::Call { pid } => self.calls += u64::from(self.tree.contains(&pid)),
                Record::Dropped => self.dropped = true,
                // A process number of the tree was reused by an unrelated process.
                Record::Fork { pid, parent } if !self.tree.contains(&parent) => {
                    self.tree.remove(&pid);
                }
                Record::Fork { .. } => {}
            }
        }
    }

    /// Adds forked processes; true if any was added, since its children may be in a ring already processed.
    fn adopt(&mut self, drained: &[Vec<u8>]) -> bool {
        let mut grown = false;
        for record in drained.iter().flat_map(|bytes| records(bytes)) {
            if let Record::Fork { pid, parent } = record
                && self.tree.contains(&parent)
            {
                grown |= self.tree.insert(pid);
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

/// The records in the bytes drained from a ring, without those of other types.
fn records(mut bytes: &[u8]) -> impl Iterator<Item = Record> {
    std::iter::from_fn(move || {
        loop {
            let kind = number(bytes, 0)?;
            let length = usize::from(half(bytes, 6)?);
            // The kernel writes no record shorter than its header; the `max` keeps corrupt bytes from
            // looping.
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
    fn calls_of_the_tree_count_whichever_ring_holds_its_forks() {
        let mut count = Count::of([10, 11]);
        // A grandchild's fork is in an earlier ring than its parent's, and its call is before both.
        let first = [call(13), fork(12, 13), call(99)].concat();
        let second = [fork(10, 12), call(12), call(10), fork(99, 100)].concat();
        count.take(&[first, second]);
        assert_eq!(count.syncs(), Some(3));
        count.take(&[[call(13), call(100)].concat(), Vec::new()]);
        assert_eq!(count.syncs(), Some(4));
    }

    #[test]
    fn a_process_number_reused_by_an_unrelated_process_is_removed() {
        let mut count = Count::of([10, 11]);
        count.take(&[fork(99, 11)]);
        count.take(&[call(11)]);
        assert_eq!(count.syncs(), Some(0));
    }

    #[test]
    fn dropped_records_make_the_count_unknown_and_broken_ones_end_the_drain() {
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
