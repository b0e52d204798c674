//! The path of a commit from its begin to its acknowledgement, step by step, for sampled transactions.
//!
//! The session records the times up to the published record, the log those of the group, and the last one is
//! recorded by the thread that learns that the commit is stable. The collection keeps a fair sample of all
//! timed commits, and the slowest of them. Only commits that write and become stable by a group count.

use crate::ids::Csn;
use crate::log::Group;
use crate::sync::rank::PATHS;
use crate::sync::ranked::StdMutex;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use syncline_instrument::Nanos;

/// Size of the sample; all timed commits have the same chance.
const SAMPLE_MAX: usize = 8192;

/// Number of slowest commits kept.
const SLOWEST_MAX: usize = 32;

/// A step of a commit's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// The begin: registering the read point.
    Begin,
    /// Reads and writes, and the client's work between them.
    Execute,
    /// Room in the log, locks on the rows, the number, validation.
    Validate,
    /// Applying the rows, and publishing the record into the log's ring.
    Stage,
    /// Until the group's write begins: other commits join, the previous group is being written.
    WaitForGroup,
    /// The group's write; zero if the write is itself a sync.
    Write,
    /// The group's sync, or its write if that is one.
    Sync,
    /// Until the client knows.
    Wake,
}

impl PathStep {
    /// All steps in their order.
    pub const ALL: [PathStep; 8] = [
        PathStep::Begin,
        PathStep::Execute,
        PathStep::Validate,
        PathStep::Stage,
        PathStep::WaitForGroup,
        PathStep::Write,
        PathStep::Sync,
        PathStep::Wake,
    ];

    /// The step's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            PathStep::Begin => "begin",
            PathStep::Execute => "execute",
            PathStep::Validate => "validate",
            PathStep::Stage => "stage",
            PathStep::WaitForGroup => "wait for group",
            PathStep::Write => "write",
            PathStep::Sync => "sync",
            PathStep::Wake => "wake",
        }
    }
}

/// How long each step of one commit took, in nanoseconds, in the order of [`PathStep::ALL`]. Their sum is the
/// time from begin to acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitPath {
    /// The steps.
    pub step_ns: [Nanos; 8],
}

impl CommitPath {
    /// From begin to acknowledgement.
    pub fn total_ns(&self) -> Nanos {
        self.step_ns.iter().sum()
    }
}

/// Collected commit paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitPaths {
    /// Timed commits, sampled or not.
    pub timed: u64,
    /// A fair sample of them.
    pub sample: Vec<CommitPath>,
    /// The slowest timed commits, slowest first.
    pub slowest: Vec<CommitPath>,
}

/// Times of a timed transaction, up to its published record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    pub(super) begin: Nanos,
    pub(super) begun: Nanos,
    pub(super) called: Nanos,
    pub(super) validated: Nanos,
    pub(super) staged: Nanos,
}

/// A timed commit that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct StagedCommit {
    pub(super) csn: Csn,
    pub(super) marks: Marks,
}

impl StagedCommit {
    /// The whole path. Each time is made no earlier than the one before: a group's write may begin while the
    /// committer is still returning from publishing.
    pub(super) fn path(&self, group: Group, acknowledged: Nanos) -> CommitPath {
        let moments = [
            self.marks.begun,
            self.marks.called,
            self.marks.validated,
            self.marks.staged,
            group.launched,
            group.written,
            group.stable,
            acknowledged,
        ];
        let mut last = self.marks.begin;
        CommitPath {
            step_ns: moments.map(|moment| {
                let step = moment.saturating_sub(last);
                last = last.max(moment);
                step
            }),
        }
    }
}

/// The paths of all sessions.
#[derive(Debug, Default)]
pub(super) struct SharedPaths(StdMutex<Collected, PATHS>);

#[derive(Debug, Default)]
struct Collected {
    timed: u64,
    sample: Vec<CommitPath>,
    slowest: BinaryHeap<Reverse<(Nanos, [Nanos; 8])>>,
}

impl SharedPaths {
    pub(super) fn add(&self, path: CommitPath) {
        let mut collected = self.0.lock();
        collected.add(path);
    }

    /// The paths since the last call.
    pub(super) fn take(&self) -> CommitPaths {
        let mut collected = self.0.lock();
        let collected = std::mem::take(&mut *collected);
        let slowest = collected.slowest.into_sorted_vec().into_iter();
        CommitPaths {
            timed: collected.timed,
            sample: collected.sample,
            slowest: slowest.map(|Reverse((_, step_ns))| CommitPath { step_ns }).collect(),
        }
    }
}

impl Collected {
    /// Reservoir sampling: replaces a random one of the earlier paths, so that all have the same chance.
    fn add(&mut self, path: CommitPath) {
        self.timed += 1;
        if self.sample.len() < SAMPLE_MAX {
            self.sample.push(path);
        } else {
            let index = (scrambled(self.timed) % self.timed) as usize;
            if let Some(collected) = self.sample.get_mut(index) {
                *collected = path;
            }
        }
        self.slowest.push(Reverse((path.total_ns(), path.step_ns)));
        if self.slowest.len() > SLOWEST_MAX {
            self.slowest.pop();
        }
    }
}

/// A pseudorandom number (the finalizer of `SplitMix64`).
fn scrambled(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::{CommitPath, Marks, SAMPLE_MAX, SLOWEST_MAX, SharedPaths, StagedCommit};
    use crate::ids::Csn;
    use crate::log::Group;

    #[test]
    fn steps_sum_to_the_whole_path_even_if_times_overtake_each_other() {
        let staged = StagedCommit {
            csn: Csn(1),
            marks: Marks { begin: 100, begun: 110, called: 150, validated: 170, staged: 200 },
        };
        let path = staged.path(Group::at(190, 260, 400), 450);
        assert_eq!(path.step_ns, [10, 40, 20, 30, 0, 60, 140, 50]);
        assert_eq!(path.total_ns(), 350);
    }

    #[test]
    fn the_slowest_are_collected_however_many_are_timed() {
        let paths = SharedPaths::default();
        let count = SAMPLE_MAX as u64 * 4;
        for number in 0..count {
            let mut path = CommitPath::default();
            path.step_ns[6] = (number * 7919) % count;
            paths.add(path);
        }
        let collected = paths.take();
        assert_eq!((collected.timed, collected.sample.len()), (count, SAMPLE_MAX));
        let slowest: Vec<u64> = collected.slowest.iter().map(CommitPath::total_ns).collect();
        let most: Vec<u64> = (0..SLOWEST_MAX as u64).map(|less| count - 1 - less).collect();
        assert_eq!(slowest, most);
        let mean =
            collected.sample.iter().map(CommitPath::total_ns).sum::<u64>() / SAMPLE_MAX as u64;
        assert!(mean.abs_diff(count / 2) < count / 20, "{mean} of {count}");
        assert_eq!(paths.take().timed, 0);
    }
}
