//! The number of samples of each thread at each stack.

use super::event_source::Kind;
use crate::symbols::CodeLocation;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The number of a distinct stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct StackNumber(u32);

/// The key of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct StackSample {
    pub kind: Kind,
    pub detail: Detail,
    pub pid: u32,
    pub tid: u32,
    pub stack: StackNumber,
}

/// What a sample contains besides its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Detail {
    /// The program was running.
    User,
    /// The kernel was running for it.
    Kernel,
    /// The number of a system call.
    Call(i64),
    /// A thread left its processor: true if it had to wait, false if it was preempted.
    Voluntary(bool),
}

/// The counts of samples by stack.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    all: Vec<Arc<[CodeLocation]>>,
    numbers: HashMap<Arc<[CodeLocation]>, StackNumber>,
    counts: BTreeMap<StackSample, u64>,
}

impl Stacks {
    /// The number of a stack, innermost frame first.
    pub(super) fn number(&mut self, stack: Vec<CodeLocation>) -> StackNumber {
        if let Some(number) = self.numbers.get(stack.as_slice()) {
            return *number;
        }
        let stack: Arc<[CodeLocation]> = stack.into();
        let number = u32::try_from(self.all.len()).expect("fewer stacks than samples of a run");
        self.all.push(Arc::clone(&stack));
        self.numbers.insert(stack, StackNumber(number));
        StackNumber(number)
    }

    /// Adds a sample.
    pub(super) fn add(&mut self, seen: StackSample) {
        *self.counts.entry(seen).or_default() += 1;
    }

    /// All keys with their counts.
    pub(super) fn counts(&self) -> impl Iterator<Item = (StackSample, u64)> {
        self.counts.iter().map(|(seen, count)| (*seen, *count))
    }

    /// The number of samples of a kind.
    pub(super) fn samples(&self, kind: Kind) -> u64 {
        let of_kind = self.counts().filter(|(seen, _)| seen.kind == kind);
        of_kind.map(|(_, count)| count).sum()
    }

    /// A stack's code locations, innermost first.
    pub(super) fn places(&self, stack: StackNumber) -> &[CodeLocation] {
        &self.all[stack.0 as usize]
    }
}
