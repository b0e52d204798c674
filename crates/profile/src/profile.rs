//! What collectors saw in one window, and how each metric was taken.
//!
//! Invariants:
//! 1. Stacks, frames and threads are each held once.
//! 2. A sample's stack and thread are of its own profile.
//! 3. A metric without samples and without an account was not asked for; one that could not be taken
//!    has an account that says why. Nothing that was not measured is zero.

use crate::histogram::Histogram;
use crate::metric::Metric;
use crate::stack::{Frame, StackId, Thread, ThreadId};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use syncline_instrument::Nanos;

/// The sum of what was seen of one metric at one stack of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// What was measured.
    pub metric: Metric,
    /// In which thread.
    pub thread: ThreadId,
    /// Where.
    pub stack: StackId,
    /// How much, in the metric's unit. Of a sampled metric: scaled up to all that happened.
    pub weight: u64,
    /// By how many looks or events.
    pub count: u64,
}

/// How a metric was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Every event was seen.
    Exact,
    /// Some were, at this distance, in words: "99 looks a second", "every 512 KiB".
    Sampled(String),
    /// It could not be split by stack; the total, if there is one, is all there is. Why, and what
    /// opens the way.
    NotAttributable(String),
}

/// The sum over the whole store, counted apart from the stacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// In the metric's unit.
    pub amount: u64,
    /// Who counted it: "/proc/PID/stat".
    pub source: String,
}

/// What follows a collector's name where it attributes a metric by sampled stacks: the half width, in points
/// of a hundred, within which a share lies 95 times of 100.
pub const ATTRIBUTED: &str = ": attribution by sampled stacks, +-";

/// How one metric was taken, and what is missing from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The metric.
    pub metric: Metric,
    /// The collector: "cpu by perf events".
    pub collector: String,
    /// Exact, sampled or not to be had.
    pub how: Precision,
    /// Looks or events that were lost.
    pub lost: u64,
    /// The sum by another count, where there is one.
    pub total: Option<Total>,
}

/// What was seen of a store's process in one window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    pub(crate) window_ns: Nanos,
    pub(crate) frames: Vec<Frame>,
    /// Frames of each stack, by their position in `frames`, from the innermost outwards.
    pub(crate) stacks: Vec<Vec<u32>>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) accounts: Vec<Account>,
    pub(crate) histograms: Vec<Histogram>,
}

impl Profile {
    /// How long was looked.
    pub fn window_ns(&self) -> Nanos {
        self.window_ns
    }

    /// All that was seen: one sample for each metric, thread and stack.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// How each metric was taken; a metric may have more than one collector.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// How long single events took, of the metrics for which a collector saw it.
    pub fn histograms(&self) -> &[Histogram] {
        &self.histograms
    }

    /// A stack's frames, from the innermost outwards.
    pub fn stack(&self, stack: StackId) -> impl DoubleEndedIterator<Item = &Frame> {
        let positions = self.stacks[stack.0 as usize].iter();
        positions.map(|position| &self.frames[*position as usize])
    }

    /// A thread.
    pub fn thread(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread.0 as usize]
    }
}

/// A profile that is being filled. Collectors add in any order.
#[derive(Debug, Default)]
pub struct ProfileBuilder {
    frames: Numbered<Frame>,
    stacks: Numbered<Vec<u32>>,
    threads: Numbered<Thread>,
    sums: HashMap<(Metric, ThreadId, StackId), (u64, u64)>,
    accounts: Vec<Account>,
    histograms: Vec<Histogram>,
}

impl ProfileBuilder {
    /// The number of a thread.
    pub fn thread(&mut self, thread: Thread) -> ThreadId {
        ThreadId(self.threads.number(thread))
    }

    /// The number of a stack, given from the innermost frame outwards; may be empty.
    pub fn stack(&mut self, frames: impl IntoIterator<Item = Frame>) -> StackId {
        let numbered = &mut self.frames;
        let positions = frames.into_iter().map(|frame| numbered.number(frame));
        let positions = positions.collect();
        StackId(self.stacks.number(positions))
    }

    /// Adds a weight, of so many looks or events, to what a stack of a thread has of a metric.
    pub fn add(
        &mut self,
        metric: Metric,
        thread: ThreadId,
        stack: StackId,
        weight: u64,
        count: u64,
    ) {
        let sum = self.sums.entry((metric, thread, stack)).or_default();
        sum.0 += weight;
        sum.1 += count;
    }

    /// Says how a metric was taken.
    pub fn account(&mut self, account: Account) {
        self.accounts.push(account);
    }

    /// Says how long the events of a metric took.
    pub fn histogram(&mut self, histogram: Histogram) {
        self.histograms.push(histogram);
    }

    /// The profile of a window of that length.
    pub fn finish(self, window_ns: Nanos) -> Profile {
        let sums = self.sums.into_iter();
        let mut samples: Vec<Sample> = sums
            .map(|((metric, thread, stack), (weight, count))| Sample {
                metric,
                thread,
                stack,
                weight,
                count,
            })
            .collect();
        samples.sort_unstable_by_key(|sample| (sample.metric, sample.thread, sample.stack));
        Profile {
            window_ns,
            frames: self.frames.values,
            stacks: self.stacks.values,
            threads: self.threads.values,
            samples,
            accounts: self.accounts,
            histograms: self.histograms,
        }
    }
}

/// Values, each once, by the order in which they came.
#[derive(Debug)]
struct Numbered<T> {
    values: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { values: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Numbered<T> {
    fn number(&mut self, value: T) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let number = u32::try_from(self.values.len()).expect("a profile has few distinct values");
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::ProfileBuilder;
    use crate::{Frame, Metric, Name, Space, Thread};

    fn frame(function: &str) -> Frame {
        Frame {
            space: Space::Native,
            object: "store".to_owned(),
            name: Name::Function(function.to_owned()),
            offset: 16,
            inlined: false,
        }
    }

    #[test]
    fn equal_stacks_of_equal_threads_are_one_sample() {
        let mut builder = ProfileBuilder::default();
        for weight in [10, 20] {
            let thread = builder.thread(Thread::default());
            let stack = builder.stack([frame("write"), frame("commit")]);
            builder.add(Metric::CpuUser, thread, stack, weight, 1);
        }
        let thread = builder.thread(Thread::default());
        let other = builder.stack([frame("commit")]);
        builder.add(Metric::CpuUser, thread, other, 5, 1);
        let profile = builder.finish(1_000);
        let seen: Vec<_> = profile
            .samples()
            .iter()
            .map(|sample| (sample.weight, sample.count, profile.stack(sample.stack).count()))
            .collect();
        assert_eq!(seen, [(30, 2, 2), (5, 1, 1)]);
        assert_eq!(profile.frames.len(), 2);
    }
}
