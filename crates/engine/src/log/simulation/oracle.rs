//! The conditions that must hold after every recovery, tracked next to the log in plain collections.
//!
//! 1. Acknowledged commits are recovered.
//! 2. Commits that an earlier recovery delivered are recovered.
//! 3. The recovered commits are a prefix of the published ones, in order, each record whole.

use std::collections::BTreeMap;

/// The commits that recovery delivered: numbers and records.
pub(super) type RecoveredRecords = Vec<(u64, Vec<u8>)>;

/// The expected state of a log.
#[derive(Clone, Debug, Default)]
pub(super) struct Oracle {
    /// Every number published and not lost, with its record; none for a void.
    published: BTreeMap<u64, Option<Vec<u8>>>,
    /// Every commit up to here must be recovered.
    pub(super) promised: u64,
    /// Commits up to here are no longer needed.
    pub(super) released: u64,
}

impl Oracle {
    pub(super) fn publish(&mut self, csn: u64, record: Option<Vec<u8>>) {
        self.published.insert(csn, record);
    }

    /// Everything up to `csn` was acknowledged.
    pub(super) fn promise(&mut self, csn: u64) {
        let last = self.last();
        self.promised = self.promised.max(csn.min(last));
    }

    pub(super) fn last(&self) -> u64 {
        self.published.keys().next_back().copied().unwrap_or(0)
    }

    /// Checks the recovered commits; the error says what is wrong.
    pub(super) fn check(&self, recovered: &RecoveredRecords) -> Result<(), String> {
        self.check_from(self.released, recovered)
    }

    /// The same for all commits after `released`.
    pub(super) fn check_from(
        &self,
        released: u64,
        recovered: &RecoveredRecords,
    ) -> Result<(), String> {
        let expected = self.published.range(released + 1..);
        let mut expected = expected.filter_map(|(csn, record)| Some((*csn, record.as_ref()?)));
        for (csn, record) in recovered {
            match expected.next() {
                Some((expected, content)) if expected == *csn => {
                    if content != record {
                        return Err(format!(
                            "the record of csn {csn} differs from the published one"
                        ));
                    }
                }
                expected => {
                    let expected = expected.map(|(csn, _)| csn);
                    return Err(format!(
                        "csn {csn} was recovered where {expected:?} should follow"
                    ));
                }
            }
        }
        match expected.next() {
            Some((lost, _)) if lost <= self.promised => {
                Err(format!("csn {lost} is lost, though {} was promised", self.promised))
            }
            _ => Ok(()),
        }
    }

    /// The log continues after `last`: later commits are lost for good, the others stay.
    pub(super) fn go_on(&mut self, last: u64) {
        self.published.split_off(&(last + 1));
        self.promised = self.last();
    }
}
