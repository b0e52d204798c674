//! Begins checkpoints when the log has grown, and paces them, on the maintenance thread.
//!
//! The thread wakes twenty times a second. A checkpoint is due when enough records or segments were written
//! since the last one began. It is near when three quarters of that are written: from then on the data file
//! grows to the size that a checkpoint of the pages changed so far would need, so that capturing pages can
//! start right after the snapshot. A file that is smaller than an extent grows so at every tick.
//!
//! A checkpoint's writes are spread over half of the time between the last two beginnings, and the growth of
//! the file before it over an eighth of the time since the last one began. Both go at half that pace while
//! log writes take more than twice as long as before, because each log sync also waits for what the
//! checkpoint has put into the device's cache. A pause lasts until the part of the span has passed that
//! belongs to the bytes written so far, so the span includes the writes themselves.
//!
//! There is no pause while the pool of pre-images is large, or while changed pages fill much of the cache,
//! since writers wait when either is full. There is none either once the segments written since the
//! checkpoint began reach `checkpoint_segment_bytes` again; then commits wait, too. In a log with a cap a
//! quarter of the cap counts, if that is less.

use crate::database::checkpoints::{Checkpoints, Step};
use crate::database::engine::Engine;
use crate::database::maintenance_thread::Maintenance;
use crate::error::Error;
use std::sync::Arc;
use std::time::Duration;
use syncline_instrument::{Nanos, clock};
use syncline_vfs::Disk;

const TICK: Duration = Duration::from_millis(50);

/// A checkpoint is near when this many quarters of the amount that makes it due are written.
const NEAR: u64 = 3;

/// A checkpoint is due when a capped log has written this part of the cap. Commits wait when it has written
/// as much again; the rest of the cap holds the reserve for recovery and the prepared file.
const PARTS_IN_CAP: u64 = 4;

/// Ticks between two collections of old rows: once a second.
const TICKS_PER_SWEEP: u32 = 20;

/// Ticks until the next attempt after the disk was full: a second. The attempt takes a new snapshot.
const TICKS_AFTER_FULL: u32 = 20;

/// The longest pause between two steps, whatever the pace says.
const PAUSE_MAX_NS: Nanos = 100_000_000;

/// What the log had written at some moment since opening.
#[derive(Clone, Copy, Debug, Default)]
struct LogGrowth {
    record_bytes: u64,
    segment_bytes: u64,
    writes: u64,
    write_ns: u64,
}

/// The state of the pacing.
pub(super) struct CheckpointPacing<'m, D: Disk> {
    maintenance: &'m Maintenance<D>,
    engine: Arc<Engine<D>>,
    /// When the last checkpoint began.
    at_last: LogGrowth,
    last_began: Nanos,
    interval_ns: Nanos,
    /// Nanoseconds that a log write took while no checkpoint ran.
    base_write_ns: u64,
    before: LogGrowth,
    /// Log writes at the last tick.
    at_last_tick: u64,
    /// Ticks until the next checkpoint may begin, after the disk was full.
    ticks_until_next: u32,
}

impl<'m, D: Disk> CheckpointPacing<'m, D> {
    pub(super) fn new(maintenance: &'m Maintenance<D>) -> CheckpointPacing<'m, D> {
        CheckpointPacing {
            maintenance,
            engine: Arc::clone(&maintenance.engine),
            at_last: LogGrowth::default(),
            last_began: clock::now(),
            interval_ns: 0,
            base_write_ns: u64::MAX,
            before: LogGrowth::default(),
            at_last_tick: 0,
            ticks_until_next: 0,
        }
    }

    /// Runs checkpoints until the thread must end.
    pub(super) fn run(&mut self) {
        let mut ticks = 0_u32;
        while !self.pause(TICK) {
            let grown = self.grown();
            self.update_base(grown);
            ticks += 1;
            if ticks.is_multiple_of(TICKS_PER_SWEEP) {
                // Commits collect old rows bit by bit; when commits cease, some are left.
                self.engine.sweep();
            }
            self.ticks_until_next = self.ticks_until_next.saturating_sub(1);
            if self.ticks_until_next > 0 {
                continue;
            }
            let is_due = self.has_written(4, grown) || self.engine.core.buffer.wants_checkpoint();
            if is_due || self.is_running() {
                self.checkpoint(grown);
            } else if self.has_written(NEAR, grown) || self.is_file_small(grown) {
                self.make_room();
            }
        }
    }

    fn pause(&self, span: Duration) -> bool {
        self.maintenance.pause(span)
    }

    fn grown(&self) -> LogGrowth {
        let stats = self.engine.core.log.stats();
        LogGrowth {
            record_bytes: stats.record_bytes,
            segment_bytes: stats.write_bytes.sum,
            writes: stats.write_ns.count,
            write_ns: stats.write_ns.sum,
        }
    }

    /// Updates the usual duration of a log write without a checkpoint.
    fn update_base(&mut self, grown: LogGrowth) {
        if let Some(mean) = self.write_ns_since_last_tick(grown) {
            // The base rises slowly, so that an exceptionally fast phase is forgotten.
            let risen = self.base_write_ns.saturating_add(self.base_write_ns / 64);
            self.base_write_ns = mean.min(risen);
        }
    }

    fn write_ns_since_last_tick(&mut self, grown: LogGrowth) -> Option<u64> {
        let before = std::mem::replace(&mut self.before, grown);
        let writes = grown.writes - before.writes;
        (writes > 0).then(|| (grown.write_ns - before.write_ns) / writes)
    }

    /// True if this many quarters of the amount that makes a checkpoint due are written.
    fn has_written(&self, quarters: u64, grown: LogGrowth) -> bool {
        let options = &self.engine.options;
        let records = grown.record_bytes - self.at_last.record_bytes;
        let segments = grown.segment_bytes - self.at_last.segment_bytes;
        reaches(records, quarters, options.checkpoint_log_bytes)
            || reaches(segments, quarters, self.segment_bytes_due())
    }

    /// True if the data file is so small that what was written since the last tick may not fit into it: with
    /// room for it, deletes and a checkpoint work even if the disk is full from now on.
    fn is_file_small(&mut self, grown: LogGrowth) -> bool {
        let is_changed = self.at_last_tick != grown.writes;
        self.at_last_tick = grown.writes;
        let file_bytes = self.engine.checkpoints.as_ref().and_then(Checkpoints::file_bytes);
        is_changed && file_bytes.is_some_and(|bytes| bytes < self.engine.options.extent_bytes)
    }

    /// True if a writer that lacked room has begun a checkpoint: writers move it on only until they have
    /// room.
    fn is_running(&self) -> bool {
        self.engine.checkpoints.as_ref().is_some_and(Checkpoints::is_running)
    }

    /// True if commits must wait for the checkpoint that is running.
    fn is_past_deadline(&self, grown: LogGrowth) -> bool {
        let segments = grown.segment_bytes - self.at_last.segment_bytes;
        segments >= self.segment_bytes_due()
    }

    /// Bytes of log writes that make a checkpoint due: well before a capped log is full.
    fn segment_bytes_due(&self) -> u64 {
        let options = &self.engine.options;
        let part = options.log.log_bytes_max.map_or(u64::MAX, |bytes_max| bytes_max / PARTS_IN_CAP);
        options.checkpoint_segment_bytes.min(part)
    }

    /// Lets the data file grow while a checkpoint is near.
    fn make_room(&mut self) {
        let engine = Arc::clone(&self.engine);
        let Some(checkpoints) = &engine.checkpoints else {
            return;
        };
        let began = clock::now();
        let spread_ns = began.saturating_sub(self.last_began) / 8;
        let mut all_bytes = 0;
        // The failure has closed the log, so the commits that it concerns report it.
        while let Ok(Step::Worked { bytes, left_bytes }) = checkpoints.make_room(&engine.core) {
            all_bytes = all_bytes.max(bytes + left_bytes);
            let grown = self.grown();
            let share_ns = self.share_ns(spread_ns, (all_bytes - left_bytes, all_bytes), grown);
            let pause_ns = pause_until(began + share_ns);
            if self.has_written(4, grown) || self.pause(Duration::from_nanos(pause_ns)) {
                return;
            }
        }
    }

    fn checkpoint(&mut self, grown: LogGrowth) {
        let engine = Arc::clone(&self.engine);
        let Some(checkpoints) = &engine.checkpoints else {
            // Nothing is stored, so nothing in the log is needed either.
            engine.core.log.release(engine.core.log.durable_lsn());
            self.at_last = grown;
            return;
        };
        let now = clock::now();
        // If a checkpoint is running already, this thread moves it on. The failure has closed the log, so the
        // commits that it concerns report it.
        if checkpoints.begin(&engine.core, &engine.tree_directory).is_err() {
            return;
        }
        self.interval_ns = now.saturating_sub(self.last_began);
        self.last_began = now;
        let at_last = std::mem::replace(&mut self.at_last, grown);
        let mut all_bytes = 0;
        loop {
            match checkpoints.drive(&engine.core) {
                Ok(Step::Worked { bytes, left_bytes }) => {
                    all_bytes = all_bytes.max(bytes + left_bytes);
                    let pause_ns = self.pause_ns(all_bytes - left_bytes, all_bytes);
                    if self.pause(Duration::from_nanos(pause_ns)) {
                        return;
                    }
                }
                // The checkpoint was abandoned, so another one is due. A full log refuses commits, too.
                Err(Error::Full { .. }) => {
                    self.at_last = at_last;
                    self.ticks_until_next = TICKS_AFTER_FULL;
                    break;
                }
                Ok(Step::Idle | Step::Finished(_)) | Err(_) => break,
            }
        }
        engine.core.set_pressed(false);
    }

    fn pause_ns(&mut self, done_bytes: u64, all_bytes: u64) -> Nanos {
        let grown = self.grown();
        let pressed = self.is_past_deadline(grown);
        self.engine.core.set_pressed(pressed);
        let buffer = &self.engine.core.buffer;
        if pressed || buffer.pre_images_press() || buffer.changed_pages_press() {
            return 0;
        }
        let share_ns = self.share_ns(self.interval_ns / 2, (done_bytes, all_bytes), grown);
        pause_until(self.last_began + share_ns)
    }

    /// The part of a span that belongs to the bytes done so far; twice that while log writes are slow.
    fn share_ns(
        &mut self,
        spread_ns: Nanos,
        (done_bytes, all_bytes): (u64, u64),
        grown: LogGrowth,
    ) -> Nanos {
        let mean = self.write_ns_since_last_tick(grown);
        let slow = mean.is_some_and(|mean| mean / 2 > self.base_write_ns);
        let spread_ns = spread_ns * if slow { 2 } else { 1 };
        let share = u128::from(spread_ns) * u128::from(done_bytes) / u128::from(all_bytes.max(1));
        u64::try_from(share).unwrap_or(u64::MAX / 2)
    }
}

/// The pause until that time, if it has not passed.
fn pause_until(time: Nanos) -> Nanos {
    PAUSE_MAX_NS.min(time.saturating_sub(clock::now()))
}

/// True if `bytes` are at least this many quarters of a limit.
fn reaches(bytes: u64, quarters: u64, limit: u64) -> bool {
    bytes >= limit - limit / 4 * (4 - quarters)
}

#[cfg(test)]
mod tests {
    use super::{NEAR, reaches};

    #[test]
    fn near_comes_before_due_at_limits_of_any_size() {
        for limit in [0, 1, 3, 4, 1 << 30, u64::MAX] {
            assert!(reaches(limit, 4, limit));
            assert!(limit == 0 || !reaches(limit - 1, 4, limit));
            assert!(reaches(limit - limit / 4, NEAR, limit));
            assert!(limit == 0 || !reaches(limit - limit / 4 - 1, NEAR, limit));
        }
    }
}
