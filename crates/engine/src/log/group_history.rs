//! When the last groups of commits went out: the moments between a published record and a stable one.
//!
//! A group is what one step of the durable LSN made stable. Its write is that of the last frame in it; with
//! several writes in flight, the frames before it were written earlier.
//!
//! Invariants:
//! 1. `last` grows from group to group.
//! 2. `written <= stable`, and `launched <= written`.

use crate::ids::Csn;
use std::collections::VecDeque;
use syncline_instrument::Nanos;

/// So many groups are remembered: whoever asks does so when its commit has just become stable.
const GROUPS_MAX: usize = 256;

/// One group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Its last commit.
    last: Csn,
    /// When its write began.
    pub(crate) launched: Nanos,
    /// When its write had ended and its sync began; where the write is itself a sync, when it began.
    pub(crate) written: Nanos,
    /// When it was stable.
    pub(crate) stable: Nanos,
}

#[cfg(test)]
impl Group {
    /// A group of those moments, for tests of what is computed from them.
    pub(crate) fn at(launched: Nanos, written: Nanos, stable: Nanos) -> Group {
        Group { last: Csn::ZERO, launched, written, stable }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct GroupHistory {
    groups: VecDeque<Group>,
    /// When the last write began and ended.
    write: (Nanos, Nanos),
}

impl GroupHistory {
    /// A frame was written between these moments, perhaps by a write that is itself a sync.
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

    /// The group of a commit; none if it is not stable, or forgotten.
    pub(super) fn of(&self, csn: Csn) -> Option<Group> {
        let behind = self.groups.partition_point(|group| group.last < csn);
        // All that is known of commits before the first group is that they are older.
        let is_forgotten = behind == 0 && self.groups.len() == GROUPS_MAX;
        self.groups.get(behind).copied().filter(|_| !is_forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::{GROUPS_MAX, GroupHistory};
    use crate::ids::Csn;

    #[test]
    fn a_commit_is_of_the_first_group_that_reaches_it() {
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
    fn what_is_forgotten_is_not_taken_for_what_came_after() {
        let mut groups = GroupHistory::default();
        for csn in 1..=GROUPS_MAX as u64 + 1 {
            groups.stable(Csn(csn), csn);
        }
        assert_eq!(groups.of(Csn(1)), None);
        assert_eq!(groups.of(Csn(3)).unwrap().stable, 3);
    }
}
