//! The samples of collectors in one window, and how each metric was measured.
//!
//! Invariants:
//! 1. Stacks, frames and threads are held once each.
//! 2. A sample's stack and thread are of its own profile.
//! 3. A metric without samples and without an account was not requested; one that could not be measured
//!    has an account that says why. Nothing that was not measured is zero.

use crate::histogram::Histogram;
use crate::metric::Metric;
use crate::stack::{Frame, StackId, Thread, ThreadId};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use syncline_instrument::Nanos;

/// The sum of one metric at one stack of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The metric.
    pub metric: Metric,
    /// The thread.
    pub thread: ThreadId,
    /// The stack.
    pub stack: StackId,
    /// The amount in the metric's unit; for a sampled metric scaled up to all events.
    pub weight: u64,
    /// The number of samples or events.
    pub count: u64,
}

/// How a metric was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Every event was counted.
    Exact,
    /// Some events were sampled; the interval in words: "99 samples/s per CPU", "every 512 KiB".
    Sampled(String),
    /// The metric could not be split by stack and has at most a total. The text is the reason and how to make
    /// it attributable.
    NotAttributable(String),
}

/// The sum over the whole store from a counter other than the stacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// In the metric's unit.
    pub amount: u64,
    /// The source of the count: "/proc/PID/stat".
    pub source: String,
}

/// Follows a collector's name if it attributes a metric by sampled stacks; before the half width, in
/// percentage points, of the 95% confidence interval of a share.
pub const ATTRIBUTED: &str = ": attribution by sampled stacks, +-";

/// How one metric was measured, and which part of it is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The metric.
    pub metric: Metric,
    /// The collector: "cpu by perf events".
    pub collector: String,
    /// Exact, sampled or not attributable.
    pub how: Precision,
    /// The number of lost samples or events.
    pub lost: u64,
    /// The sum from another counter, if there is one.
    pub total: Option<Total>,
}

/// The profile of a store's process in one window.
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
    /// The length of the sampling window.
    pub fn window_ns(&self) -> Nanos {
        self.window_ns
    }

    /// One sample for each metric, thread and stack.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// How each metric was measured; a metric may have more than one collector.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// Durations of single events, for the metrics for which a collector measured them.
    pub fn histograms(&self) -> &[Histogram] {
        &self.histograms
    }

    /// A stack's frames, from the innermost outwards.
    pub fn stack(&self, stack: StackId) -> impl DoubleEndedIterator<Item = &Frame> {
        self.stacks[stack.0 as usize].iter().map(|position| &self.frames[*position as usize])
    }

    /// A thread.
    pub fn thread(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread.0 as usize]
    }
}

/// A profile that is being filled. Collectors add in any order.
#[derive(Debug, Default)]
pub struct ProfileBuilder {
    frames: Interner<Frame>,
    stacks: Interner<Vec<u32>>,
    threads: Interner<Thread>,
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
        let positions = frames.into_iter().map(|frame| numbered.number(frame)).collect();
        StackId(self.stacks.number(positions))
    }

    /// Adds a weight, of `count` samples or events, to a stack of a thread and a metric.
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

    /// Adds the account of a metric.
    pub fn account(&mut self, account: Account) {
        self.accounts.push(account);
    }

    /// Adds the durations of a metric's events.
    pub fn histogram(&mut self, histogram: Histogram) {
        self.histograms.push(histogram);
    }

    /// Completes the profile, of a window of that length.
    pub fn finish(self, window_ns: Nanos) -> Profile {
        let mut samples: Vec<Sample> = self
            .sums
            .into_iter()
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

/// Distinct values, numbered in the order of their insertion.
#[derive(Debug)]
struct Interner<T> {
    values: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { values: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interner<T> {
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
        let sums: Vec<_> = profile
            .samples()
            .iter()
            .map(|sample| (sample.weight, sample.count, profile.stack(sample.stack).count()))
            .collect();
        assert_eq!(sums, [(30, 2, 2), (5, 1, 1)]);
        assert_eq!(profile.frames.len(), 2);
    }
}
