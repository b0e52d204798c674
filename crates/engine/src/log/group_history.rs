//! The times at which the last groups of commits were written and became stable.
//!
//! A group is the set of commits that one step of the durable LSN made stable. Its write is that of its last
//! frame; with several writes in flight, the frames before it were written earlier.
//!
//! Invariants:
//! 1. `last` increases from group to group.
//! 2. `launched <= written <= stable`.

use crate::ids::Csn;
use std::collections::VecDeque;
use syncline_instrument::Nanos;

/// How many groups are kept: callers ask when their commit has just become stable.
const GROUPS_MAX: usize = 256;

/// The times of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Its last commit.
    last: Csn,
    /// When its write began.
    pub(crate) launched: Nanos,
    /// When its write had ended and its sync began; if the write is itself a sync, when the write began.
    pub(crate) written: Nanos,
    /// When it became stable.
    pub(crate) stable: Nanos,
}

#[cfg(test)]
impl Group {
    /// A group with the given times, for tests of computations on them.
    pub(crate) fn at(launched: Nanos, written: Nanos, stable: Nanos) -> Group {
        Group { last: Csn::ZERO, launched, written, stable }
    }
}

/// The last groups, oldest first.
#[derive(Debug, Default)]
pub(super) struct GroupHistory {
    groups: VecDeque<Group>,
    /// When the last write began and ended.
    write: (Nanos, Nanos),
}

impl GroupHistory {
    /// A frame was written between these times; `is_sync` if the write was itself a sync.
    pub(super) fn written(&mut self, (began, ended): (Nanos, Nanos), is_sync: bool) {
        self.write = (began, if is_sync { began } else { ended });
    }

    /// The durable LSN has reached `last`.
    pub(super) fn stable(&mut self, last: Csn, now: Nanos) {
        if self.groups.len() == GROUPS_MAX {
            self.groups.pop_front();
        }
        let (launched, written) = self.write;
        self.groups.push_back(Group { last, launched, written, stable: now });
    }

    /// The group of a commit; none if the commit is not stable, or too old.
    pub(super) fn of(&self, csn: Csn) -> Option<Group> {
        let behind = self.groups.partition_point(|group| group.last < csn);
        // Commits before the first kept group are only known to be older.
        let is_forgotten = behind == 0 && self.groups.len() == GROUPS_MAX;
        self.groups.get(behind).copied().filter(|_| !is_forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::{GROUPS_MAX, GroupHistory};
    use crate::ids::Csn;

    #[test]
    fn a_commit_belongs_to_the_first_group_that_reaches_it() {
        let mut groups = GroupHistory::default();
        groups.written((10, 20), false);
        groups.stable(Csn(3), 30);
        groups.written((40, 50), true);
        groups.stable(Csn(7), 60);
        let stable = |csn| groups.of(Csn(csn)).map(|group| group.stable);
        assert_eq!([1, 3, 4, 7, 8].map(stable), [Some(30), Some(30), Some(60), Some(60), None]);
        let synced_by_writing = groups.of(Csn(5)).unwrap();
        assert_eq!((synced_by_writing.launched, synced_by_writing.written), (40, 40));
        assert_eq!(groups.of(Csn(1)).unwrap().written, 20);
    }

    #[test]
    fn a_forgotten_group_is_not_confused_with_a_later_one() {
        let mut groups = GroupHistory::default();
        for csn in 1..=GROUPS_MAX as u64 + 1 {
            groups.stable(Csn(csn), csn);
        }
        assert_eq!(groups.of(Csn(1)), None);
        assert_eq!(groups.of(Csn(3)).unwrap().stable, 3);
    }
}
