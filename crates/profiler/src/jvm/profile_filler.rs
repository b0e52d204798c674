//! Puts the events of a recording into a profile.

use super::jfr::{Chunk, Event};
use super::jfr_frames::{self, Writer};
use std::collections::HashMap;
use syncline_profile::{Metric, ProfileBuilder, StackId};

/// The weight of one event in each of its metrics.
pub(super) type Weights = Vec<(Metric, u64)>;

/// Puts events into a profile, and converts each stack of a chunk once.
pub(super) struct ProfileFiller<'p, 'c> {
    profile: &'p mut ProfileBuilder,
    chunk: &'c Chunk<'c>,
    writer: Writer,
    stacks: HashMap<i64, (Option<u64>, StackId)>,
}

impl<'p, 'c> ProfileFiller<'p, 'c> {
    pub(super) fn new(
        profile: &'p mut ProfileBuilder,
        chunk: &'c Chunk<'c>,
        writer: Writer,
    ) -> ProfileFiller<'p, 'c> {
        ProfileFiller { profile, chunk, writer, stacks: HashMap::new() }
    }

    /// Adds every event of a name. `weights_of` receives the address of the interrupted instruction, if it is
    /// known, and returns the event's weights and its number of samples. Returns the number of events.
    pub(super) fn events(
        &mut self,
        name: &str,
        mut weights_of: impl FnMut(&Event<'_>, Option<u64>) -> (Weights, u64),
    ) -> Result<u64, String> {
        let mut count = 0;
        for event in self.chunk.events(name) {
            let event = event?;
            let (address, stack) = self.stack(&event);
            let (weights, samples) = weights_of(&event, address);
            if weights.is_empty() {
                continue;
            }
            let thread = self.profile.thread(jfr_frames::thread(&event));
            for (metric, weight) in weights {
                self.profile.add(metric, thread, stack, weight, samples);
            }
            count += 1;
        }
        Ok(count)
    }

    fn stack(&mut self, event: &Event<'_>) -> (Option<u64>, StackId) {
        let number = event.stack_number();
        if let Some(known) = number.and_then(|number| self.stacks.get(&number)) {
            return *known;
        }
        let (address, frames) = jfr_frames::stack(event, self.writer);
        let found = (address, self.profile.stack(frames));
        if let Some(number) = number {
            self.stacks.insert(number, found);
        }
        found
    }
}
