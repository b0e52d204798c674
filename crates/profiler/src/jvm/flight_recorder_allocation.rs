//! Clips the allocation samples of a JVM's own recorder to the window.
//!
//! A sample reports the bytes that its thread has allocated since its previous sample; the first one of a
//! recording covers the thread's whole lifetime. So the recording begins before the window, and of the
//! samples that cross the window's begin and end a part counts, by time. A thread's first sample does not
//! count unless the thread started during the recording, since the begin of its time is unknown.

use super::jfr::{Chunk, Event};
use std::collections::HashMap;
use syncline_instrument::Nanos;

/// The window, in nanoseconds of wall clock time.
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

    /// The share of the time from one moment to another that is inside the window.
    fn part(self, from: Nanos, to: Nanos) -> f64 {
        let within = to.min(self.end).saturating_sub(from.max(self.begin));
        within as f64 / to.saturating_sub(from).max(1) as f64
    }
}

/// The begin of the time that each sample of a recording covers.
#[derive(Debug, Default)]
pub(super) struct ThreadAllocations {
    /// By thread and time of the sample.
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

    /// The bytes of a sample that were allocated in the window; none for a sample whose begin is unknown.
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
    fn samples_across_the_window_s_bounds_count_in_part() {
        let moments = vec![(7, 2_400), (7, 900), (7, 1_100), (7, 1_900), (7, 500)];
        let allocated = ThreadAllocations::between(&HashMap::new(), moments);
        let of = |at| allocated.part_of(WINDOW, 7, at, 1_000);
        assert_eq!(of(900), 0, "it was before");
        assert_eq!(of(1_100), 500);
        assert_eq!(of(1_900), 1_000);
        assert_eq!(of(2_400), 200);
    }

    #[test]
    fn a_thread_s_first_sample_counts_only_if_the_thread_started_in_the_recording() {
        let begun = HashMap::from([(8, 1_200)]);
        let allocated = ThreadAllocations::between(&begun, vec![(7, 1_500), (8, 1_500)]);
        assert_eq!(allocated.part_of(WINDOW, 7, 1_500, 1 << 30), 0);
        assert_eq!(allocated.part_of(WINDOW, 8, 1_500, 1_000), 1_000);
    }
}
