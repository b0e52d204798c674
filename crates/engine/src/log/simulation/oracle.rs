//! What must hold after every recovery, kept beside the log in plain collections.
//!
//! 1. What was acknowledged is there.
//! 2. What an earlier recovery has handed out is there.
//! 3. What is there is a prefix of what was published, in order, each record whole.

use std::collections::BTreeMap;

/// What recovery has handed out: numbers and records.
pub(super) type RecoveredRecords = Vec<(u64, Vec<u8>)>;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Oracle {
    /// Every number published and not lost, with its record; none for a void.
    published: BTreeMap<u64, Option<Vec<u8>>>,
    /// Everything up to here must be found.
    pub(super) promised: u64,
    /// Everything up to here is no longer wanted.
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

    /// Why what recovery handed out is wrong.
    pub(super) fn check(&self, handed: &RecoveredRecords) -> Result<(), String> {
        let wanted = self.published.range(self.released + 1..);
        let mut wanted = wanted.filter_map(|(csn, record)| Some((*csn, record.as_ref()?)));
        for (csn, record) in handed {
            match wanted.next() {
                Some((expected, content)) if expected == *csn => {
                    if content != record {
                        return Err(format!("the record of csn {csn} is not what was published"));
                    }
                }
                expected => {
                    let expected = expected.map(|(csn, _)| csn);
                    return Err(format!("csn {csn} was handed out where {expected:?} follows"));
                }
            }
        }
        match wanted.next() {
            Some((lost, _)) if lost <= self.promised => {
                Err(format!("csn {lost} is lost, though {} was promised", self.promised))
            }
            _ => Ok(()),
        }
    }

    /// The log goes on behind `last`: what came later is lost for good, the rest stays.
    pub(super) fn go_on(&mut self, last: u64) {
        self.published.split_off(&(last + 1));
        self.promised = self.last();
    }
}
