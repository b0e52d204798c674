//! The output of a sampler, and its conversion to a profile.

use super::event_source::Kind;
use super::stack_counts::{StackSample, Stacks};
use crate::symbols::{Symbols, ThreadNames};
use std::collections::{BTreeMap, HashMap};
use syncline_profile::{Metric, ProfileBuilder};

/// The output of a sampler.
#[derive(Debug)]
pub(super) struct SamplerOutput {
    pub stacks: Stacks,
    pub symbols: Symbols,
    pub threads: ThreadNames,
    /// Dropped samples, by kind.
    pub lost: BTreeMap<Kind, u64>,
    /// Samples of unrelated processes, by kind.
    pub unrelated: BTreeMap<Kind, u64>,
}

impl SamplerOutput {
    /// The number of dropped samples of a kind.
    pub(super) fn lost(&self, kind: Kind) -> u64 {
        self.lost.get(&kind).copied().unwrap_or(0)
    }

    /// The factor by which a sample of a kind is scaled up for dropped samples. Those may have been of any
    /// process, so they are distributed over all.
    pub(super) fn scale(&self, kind: Kind) -> f64 {
        let unrelated = self.unrelated.get(&kind).copied().unwrap_or(0);
        let taken = self.stacks.samples(kind) + unrelated;
        if taken == 0 {
            return 1.0;
        }
        (taken + self.lost(kind)) as f64 / taken as f64
    }

    /// Adds all samples to a profile: each with the metric and weight that `worth` returns.
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
