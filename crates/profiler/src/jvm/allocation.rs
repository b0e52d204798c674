//! What a JVM's own recorder tells of allocation, cut to the window that was looked at.
//!
//! A sample tells what its thread has allocated since the sample before it, whenever that was: the first one
//! of a recording tells of all the thread's life before it. So the recording begins before the window, and of
//! the sample that leads into the window and the one that leads out of it a part counts, by time. Of a
//! thread's first sample nothing counts, unless the thread was started in the recording: since when it tells
//! is not known.

use super::jfr::{Chunk, Event};
use std::collections::HashMap;
use syncline_instrument::Nanos;

/// The window, by the time of day in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) begin: Nanos,
    pub(super) end: Nanos,
}

impl Window {
    /// True if an event ended in it.
    pub(super) fn holds(self, event: &Event<'_>) -> bool {
        let ended = event.ended_ns();
        ended.is_some_and(|ended| (self.begin..=self.end).contains(&ended))
    }

    /// Which part of what was done from one moment to another was done in it.
    fn part(self, from: Nanos, to: Nanos) -> f64 {
        let within = to.min(self.end).saturating_sub(from.max(self.begin));
        within as f64 / to.saturating_sub(from).max(1) as f64
    }
}

/// Since when each sample of a recording tells.
#[derive(Debug, Default)]
pub(super) struct ThreadAllocations {
    /// By thread and the sample's moment.
    since: HashMap<(i64, Nanos), Nanos>,
}

impl ThreadAllocations {
    /// Reads all samples of a recording.
    pub(super) fn of(chunks: &[Chunk<'_>], samples: &str) -> Result<ThreadAllocations, String> {
        let (mut begun, mut moments) = (HashMap::new(), Vec::new());
        for chunk in chunks {
            for event in chunk.events("jdk.ThreadStart") {
                let event = event?;
                if let (Some(thread), Some(at)) = (thread(&event, "thread"), event.ended_ns()) {
                    begun.insert(thread, at);
                }
            }
            for event in chunk.events(samples) {
                let event = event?;
                if let (Some(thread), Some(at)) = (thread(&event, "eventThread"), event.ended_ns())
                {
                    moments.push((thread, at));
                }
            }
        }
        Ok(ThreadAllocations::between(&begun, moments))
    }

    fn between(begun: &HashMap<i64, Nanos>, mut moments: Vec<(i64, Nanos)>) -> ThreadAllocations {
        moments.sort_unstable();
        let mut since = HashMap::new();
        let mut last = None;
        for (thread, at) in moments {
            let before = match last {
                Some((same, before)) if same == thread => Some(before),
                _ => begun.get(&thread).copied(),
            };
            if let Some(before) = before {
                since.entry((thread, at)).or_insert(before);
            }
            last = Some((thread, at));
        }
        ThreadAllocations { since }
    }

    /// How much of a sample's bytes was allocated in the window; none of one that tells since nobody knows
    /// when.
    pub(super) fn within(&self, window: Window, sample: &Event<'_>, bytes: u64) -> u64 {
        let known = thread(sample, "eventThread").zip(sample.ended_ns());
        known.map_or(0, |(thread, at)| self.part_of(window, thread, at, bytes))
    }

    fn part_of(&self, window: Window, thread: i64, at: Nanos, bytes: u64) -> u64 {
        let since = self.since.get(&(thread, at));
        since.map_or(0, |since| (bytes as f64 * window.part(*since, at)).round() as u64)
    }
}

fn thread(event: &Event<'_>, field: &str) -> Option<i64> {
    event.whole_at(&[field, "javaThreadId"])
}

#[cfg(test)]
mod tests {
    use super::{ThreadAllocations, Window};
    use std::collections::HashMap;

    const WINDOW: Window = Window { begin: 1_000, end: 2_000 };

    #[test]
    fn what_leads_into_the_window_and_out_of_it_counts_in_part() {
        let moments = vec![(7, 2_400), (7, 900), (7, 1_100), (7, 1_900), (7, 500)];
        let allocated = ThreadAllocations::between(&HashMap::new(), moments);
        let of = |at| allocated.part_of(WINDOW, 7, at, 1_000);
        assert_eq!(of(900), 0, "it was before");
        assert_eq!(of(1_100), 500);
        assert_eq!(of(1_900), 1_000);
        assert_eq!(of(2_400), 200);
    }

    #[test]
    fn a_threads_first_sample_tells_of_its_life_before_and_counts_if_that_began_in_the_recording() {
        let begun = HashMap::from([(8, 1_200)]);
        let allocated = ThreadAllocations::between(&begun, vec![(7, 1_500), (8, 1_500)]);
        assert_eq!(allocated.part_of(WINDOW, 7, 1_500, 1 << 30), 0);
        assert_eq!(allocated.part_of(WINDOW, 8, 1_500, 1_000), 1_000);
    }
}
