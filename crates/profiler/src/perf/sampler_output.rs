//! What a sampler has seen, and its way into a profile.

use super::event_source::Kind;
use super::stack_counts::{StackSample, Stacks};
use crate::symbols::{Symbols, ThreadNames};
use std::collections::{BTreeMap, HashMap};
use syncline_profile::{Metric, ProfileBuilder};

/// What a sampler has seen.
#[derive(Debug)]
pub(super) struct SamplerOutput {
    pub stacks: Stacks,
    pub symbols: Symbols,
    pub threads: ThreadNames,
    /// Samples that were dropped, by kind.
    pub lost: BTreeMap<Kind, u64>,
    /// Samples of others, by kind.
    pub foreign: BTreeMap<Kind, u64>,
}

impl SamplerOutput {
    /// Samples of a kind that were dropped.
    pub(super) fn lost(&self, kind: Kind) -> u64 {
        self.lost.get(&kind).copied().unwrap_or(0)
    }

    /// By how much a sample of a kind counts for more than itself because others were dropped. Those
    /// may have been anybody's, so that they are spread over everybody's.
    pub(super) fn scale(&self, kind: Kind) -> f64 {
        let foreign = self.foreign.get(&kind).copied().unwrap_or(0);
        let taken = self.stacks.samples(kind) + foreign;
        if taken == 0 {
            return 1.0;
        }
        (taken + self.lost(kind)) as f64 / taken as f64
    }

    /// Puts what was seen into a profile: each sample at the metric and weight that `worth` gives it.
    pub(super) fn put(
        &mut self,
        profile: &mut ProfileBuilder,
        worth: impl Fn(&StackSample) -> Option<(Metric, f64)>,
    ) {
        let mut numbers = HashMap::new();
        let mut threads = HashMap::new();
        for (seen, count) in self.stacks.counts() {
            let Some((metric, weight)) = worth(&seen) else {
                continue;
            };
            let thread = *threads
                .entry((seen.pid, seen.tid))
                .or_insert_with(|| profile.thread(self.threads.of(seen.pid, seen.tid)));
            let stack = *numbers.entry(seen.stack).or_insert_with(|| {
                let mut frames = Vec::new();
                for place in self.stacks.places(seen.stack) {
                    frames.extend(self.symbols.frames(place).iter().cloned());
                }
                profile.stack(frames)
            });
            let weight = (weight * count as f64).round() as u64;
            profile.add(metric, thread, stack, weight, count);
        }
    }
}
