//! One part of a phase: syncs at a constant rate in one thread, readings of counters in another.
//!
//! A sync is due every hundredth of a second from the start. Those that come due while another is in flight
//! are skipped, so that a stall is followed by no burst.

use super::counters::{Reading, Readings};
use super::stalls::explained;
use crate::Result;
use crate::measure::{Files, filled, histogram};
use crate::plan::LINE_BYTES;
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use syncline_instrument::Nanos;
use syncline_instrument::clock::{self, SECOND};
use syncline_record::Stall;
use syncline_vfs::{AlignedBuffer, DurableWriter, SyncMethod};

/// Syncs per second at most.
pub(crate) const RATE_PER_S: u64 = 100;

/// The method: the one that most products use.
pub(super) const METHOD: SyncMethod = SyncMethod::Fdatasync;

/// The time between two readings of the counters.
const READ_EVERY_NS: Nanos = SECOND / 10;

/// No sync is in flight.
const NONE: Nanos = 0;

/// The parameters of one part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// The name of its phase.
    pub(super) phase: &'a str,
    /// How long it takes.
    pub(super) span_ns: Nanos,
    /// The disk whose counters are read.
    pub(super) disk: Option<&'a str>,
    /// The time above which a sync is a stall; `None` while it is not yet known.
    pub(super) stall_ns: Option<Nanos>,
    /// The start of the directory's probe, on the clock of this process.
    pub(super) began_ns: Nanos,
}

/// The figures of one part.
#[derive(Clone, Debug)]
pub(crate) struct PartFigures {
    /// Its start, on the clock of this process.
    pub(super) start_ns: Nanos,
    /// How long it took.
    pub(super) elapsed_ns: Nanos,
    /// The times of the syncs.
    pub(super) histogram: Histogram<u64>,
    /// Syncs that came due while another was in flight.
    pub(super) skipped: u64,
    /// The stalls.
    pub(super) stalls: Vec<Stall>,
}

/// Shared by the thread that syncs and the one that reads counters.
struct Shared<'a> {
    stop: &'a AtomicBool,
    over: AtomicBool,
    in_flight_since_ns: AtomicU64,
    /// Start and length of stalls that are not yet explained.
    slow: Mutex<Vec<(Nanos, Nanos)>>,
}

/// Runs one part until its end or until `stop` is set.
pub(crate) fn sample(files: &Files, part: &Part<'_>, stop: &AtomicBool) -> Result<PartFigures> {
    let writer = Writer {
        durable: DurableWriter::open(files.written().path(), METHOD)?,
        buffer: filled(LINE_BYTES, 0),
        next: 0,
        end: files.sizes().overwrite,
        count: 0,
    };
    let shared = Shared {
        stop,
        over: AtomicBool::new(false),
        in_flight_since_ns: AtomicU64::new(NONE),
        slow: Mutex::new(Vec::new()),
    };
    let (result, stalls) = std::thread::scope(|scope| {
        let syncing = scope.spawn(|| {
            let result = sync_on(writer, part, &shared);
            shared.over.store(true, Ordering::Release);
            result
        });
        let stalls = watch(part, &shared);
        match syncing.join() {
            Ok(result) => (result, stalls),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let mut figures = result?;
    figures.stalls = stalls;
    Ok(figures)
}

fn sync_on(mut writer: Writer, part: &Part<'_>, shared: &Shared<'_>) -> Result<PartFigures> {
    let period_ns = SECOND / RATE_PER_S;
    let start_ns = clock::now();
    let (mut histogram, mut skipped) = (histogram(), 0);
    let mut due_ns = start_ns;
    loop {
        let now_ns = clock::now();
        if now_ns < due_ns {
            std::thread::sleep(Duration::from_nanos(due_ns - now_ns));
        }
        let begin_ns = clock::now();
        if begin_ns - start_ns >= part.span_ns || shared.stop.load(Ordering::Relaxed) {
            break;
        }
        shared.in_flight_since_ns.store(begin_ns, Ordering::Relaxed);
        let written = writer.once();
        let length_ns = clock::now() - begin_ns;
        if written.is_ok() {
            histogram.record(length_ns.max(1)).expect("a sync takes less than the bound");
            if part.stall_ns.is_some_and(|stall_ns| length_ns > stall_ns) {
                shared.slow.lock().push((begin_ns, length_ns));
            }
        }
        shared.in_flight_since_ns.store(NONE, Ordering::Relaxed);
        written?;
        let missed = (clock::now() - due_ns) / period_ns;
        skipped += missed;
        due_ns += (missed + 1) * period_ns;
    }
    let elapsed_ns = clock::now() - start_ns;
    Ok(PartFigures { start_ns, elapsed_ns, histogram, skipped, stalls: Vec::new() })
}

/// Reads counters until the syncs are over, and explains each stall.
fn watch(part: &Part<'_>, shared: &Shared<'_>) -> Vec<Stall> {
    let mut readings = Readings::default();
    let mut stalls = Vec::new();
    loop {
        let over = shared.over.load(Ordering::Acquire);
        let since_ns = match shared.in_flight_since_ns.load(Ordering::Relaxed) {
            NONE => Nanos::MAX,
            since_ns => since_ns,
        };
        // A stall that ended since is still to be explained, from before its start on.
        let slow = std::mem::take(&mut *shared.slow.lock());
        let oldest_ns = slow.iter().map(|(start_ns, _)| *start_ns).min().unwrap_or(Nanos::MAX);
        readings.push(Reading::now(part.disk), since_ns.min(oldest_ns));
        stalls.extend(slow.into_iter().map(|(start_ns, length_ns)| {
            let around = readings.around(start_ns, start_ns + length_ns);
            let from_begin_ns = start_ns.saturating_sub(part.began_ns);
            explained(part.phase, from_begin_ns, length_ns, &around)
        }));
        if over {
            return stalls;
        }
        std::thread::sleep(Duration::from_nanos(READ_EVERY_NS));
    }
}

struct Writer {
    durable: DurableWriter,
    buffer: AlignedBuffer,
    next: u64,
    end: u64,
    count: u64,
}

impl Writer {
    fn once(&mut self) -> syncline_vfs::Result<()> {
        let bytes = self.buffer.len() as u64;
        if self.next + bytes > self.end {
            self.next = 0;
        }
        // All writes differ, so that no layer below can skip one.
        self.count += 1;
        self.buffer[..8].copy_from_slice(&self.count.to_le_bytes());
        self.durable.write(&self.buffer, self.next)?;
        self.next += bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, sample};
    use crate::measure::{Files, Sizes};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_part_counts_every_sync_as_made_or_skipped_and_lists_its_stalls() {
        let folder = tempfile::tempdir_in(crate::test_folder()).unwrap();
        let files = Files::prepare(folder.path(), Sizes::most(0)).unwrap();
        let part = Part {
            phase: "alone",
            span_ns: 50_000_000,
            disk: None,
            stall_ns: Some(1),
            began_ns: 0,
        };
        let found = sample(&files, &part, &AtomicBool::new(false)).unwrap();
        assert!(found.elapsed_ns >= 50_000_000);
        assert!(!found.histogram.is_empty());
        assert_eq!(found.stalls.len() as u64, found.histogram.len(), "each took above 1 ns");
        assert!(found.stalls.is_sorted_by_key(|stall| stall.start_ns));
        let due = found.elapsed_ns / 10_000_000 + 1;
        assert!(found.histogram.len() + found.skipped <= due, "{found:?}");
        let stopped = sample(&files, &part, &AtomicBool::new(true)).unwrap();
        assert!(stopped.histogram.is_empty());
    }
}
