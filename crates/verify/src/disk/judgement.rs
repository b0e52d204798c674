//! Compares blocks with promises.
//!
//! Let P be the last promised block and H the newest block in the file. A block is begun only after the sync
//! of the previous one has returned. So all blocks up to max(P, H - 1) were synced, and at most one, after
//! max(P, H), was in flight. Each slot must hold the latest block up to max(P, H), whole; the slot of the
//! block in flight may hold that block or torn bytes.

use super::block::{BlockState, Role};
use super::cut_kind::Kind;
use super::slot_sequence::SlotSequence;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// What is wrong with a synced block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Its place is empty.
    Lost,
    /// An older block is in its place.
    Stale,
    /// Bytes that are not a whole block, or not the promised block.
    Torn,
    /// A block that belongs to another place.
    Misplaced,
    /// The device failed the read.
    Unreadable,
}

impl Class {
    /// The name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Class::Lost => "lost",
            Class::Stale => "stale",
            Class::Torn => "torn",
            Class::Misplaced => "misplaced",
            Class::Unreadable => "unreadable",
        }
    }
}

/// The judgement of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// How the run ended.
    pub kind: Kind,
    /// Number of promised blocks.
    pub promised: u64,
    /// Blocks checked: those promised or certainly synced that no later block replaced.
    #[serde(rename = "looked")]
    pub inspected: u64,
    /// Bad blocks by class.
    pub bad: BTreeMap<Class, u64>,
    /// Bad blocks that are older than the newest block in the file: the device reordered writes.
    pub reordered: u64,
    /// Control blocks checked; they were never synced.
    pub controls: u64,
    /// Control blocks that are gone: evidence that the cut lost data.
    pub controls_gone: u64,
    /// A description of the first bad block.
    pub example: Option<String>,
}

impl Judgement {
    /// The number of bad blocks.
    pub fn bad(&self) -> u64 {
        self.bad.values().sum()
    }

    /// True if the run counts as a survived cut: blocks were promised, the run was interrupted, nothing was
    /// lost, and if this kind of cut must lose unsynced data, it did.
    pub fn counts(&self) -> bool {
        self.bad() == 0
            && self.promised > 0
            && self.kind.is_cut()
            && (!self.kind.takes_memory() || self.controls_gone > 0)
    }
}

/// The expectation that a run's blocks are checked against.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) run: u128,
    pub(super) walk: SlotSequence,
    pub(super) block_bytes: u32,
    /// Number of promises.
    pub(super) promised: u64,
    /// Checksums of the latest promises.
    pub(super) checksums: HashMap<u64, u32>,
}

impl Expected {
    /// Judges the state of each slot, of blocks and of controls.
    pub(super) fn judge(
        &self,
        kind: Kind,
        blocks: &[BlockState],
        controls: &[BlockState],
    ) -> Judgement {
        let mut judgement = Judgement {
            kind,
            promised: self.promised,
            inspected: 0,
            bad: BTreeMap::new(),
            reordered: 0,
            controls: 0,
            controls_gone: 0,
            example: None,
        };
        let newest = self.newest(blocks);
        if let Some(last) = self.last_promised().max(newest) {
            let in_flight = self.walk.slot(last + 1);
            for (slot, sequence) in self.slots(last) {
                let found = blocks[slot as usize];
                judgement.inspected += 1;
                let is_torn_in_flight = slot == in_flight && found == BlockState::Torn;
                let bad = self.bad(slot, sequence, found);
                let bad = bad.filter(|_| !is_torn_in_flight);
                if let Some((class, what)) = bad {
                    let reordered = newest.is_some_and(|newest| sequence < newest);
                    judgement.add(class, reordered, || self.words(sequence, slot, &what, newest));
                }
            }
        }
        if let Some(last) = self.last_promised() {
            for (slot, sequence) in self.slots(last) {
                judgement.controls += 1;
                let found = controls[slot as usize];
                let is_there = self
                    .own(slot, Role::Control, found)
                    .is_some_and(|(there, _)| there >= sequence);
                judgement.controls_gone += u64::from(!is_there);
            }
        }
        judgement
    }

    fn last_promised(&self) -> Option<u64> {
        self.promised.checked_sub(1)
    }

    fn newest(&self, blocks: &[BlockState]) -> Option<u64> {
        let own = |(slot, found): (usize, &BlockState)| self.own(slot as u64, Role::Tested, *found);
        let there = blocks.iter().enumerate().filter_map(own);
        there.map(|(sequence, _)| sequence).max()
    }

    fn slots(&self, last: u64) -> impl Iterator<Item = (u64, u64)> {
        let latest = self.walk.latest(last).into_iter();
        (0..).zip(latest).filter_map(|(slot, latest)| Some((slot, latest?)))
    }

    /// Sequence and checksum of a block of this run in the place where it belongs.
    fn own(&self, slot: u64, role: Role, found: BlockState) -> Option<(u64, u32)> {
        match found {
            BlockState::Whole(label, checksum)
                if label.run == self.run
                    && label.role == role
                    && label.offset == slot * u64::from(self.block_bytes)
                    && self.walk.slot(label.sequence) == slot =>
            {
                Some((label.sequence, checksum))
            }
            _ => None,
        }
    }

    /// Why the slot does not hold this block, if it does not.
    fn bad(&self, slot: u64, sequence: u64, found: BlockState) -> Option<(Class, String)> {
        if let Some((there, checksum)) = self.own(slot, Role::Tested, found) {
            let promised = self.checksums.get(&sequence);
            return match (there == sequence, promised) {
                (false, _) => Some((Class::Stale, format!("its place holds block {there}"))),
                (true, Some(promised)) if *promised != checksum => {
                    Some((Class::Torn, "its bytes differ from the promised ones".to_owned()))
                }
                (true, _) => None,
            };
        }
        Some(match found {
            BlockState::Nothing => (Class::Lost, "its place is empty".to_owned()),
            BlockState::Torn => (Class::Torn, "its place does not hold a whole block".to_owned()),
            BlockState::Unreadable => (Class::Unreadable, "it cannot be read".to_owned()),
            BlockState::Whole(label, _) if label.run != self.run => {
                (Class::Stale, "its place holds a block of an earlier run".to_owned())
            }
            BlockState::Whole(label, _) => (
                Class::Misplaced,
                format!(
                    "its place holds block {}, which belongs at offset {}{}",
                    label.sequence,
                    label.offset,
                    match label.role {
                        Role::Tested => "",
                        Role::Control => " of the control file",
                    }
                ),
            ),
        })
    }

    fn words(&self, sequence: u64, slot: u64, what: &str, newest: Option<u64>) -> String {
        let offset = slot * u64::from(self.block_bytes);
        let known = match newest {
            _ if sequence < self.promised => "was promised".to_owned(),
            Some(newest) => format!("was synced before block {newest}, which is present"),
            None => "was synced".to_owned(),
        };
        format!("block {sequence} at offset {offset} {known}, but {what}")
    }
}

impl Judgement {
    fn add(&mut self, class: Class, reordered: bool, words: impl FnOnce() -> String) {
        *self.bad.entry(class).or_default() += 1;
        self.reordered += u64::from(reordered);
        self.example.get_or_insert_with(words);
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Expected, Judgement};
    use crate::disk::block::{BlockState, Label, Role};
    use crate::disk::cut_kind::Kind;
    use crate::disk::slot_sequence::SlotSequence;
    use std::collections::BTreeMap;

    fn expected(promised: u64) -> Expected {
        Expected {
            run: 7,
            walk: SlotSequence::over(8).unwrap(),
            block_bytes: 512,
            promised,
            checksums: (0..promised).map(|sequence| (sequence, 1)).collect(),
        }
    }

    fn whole(sequence: u64, role: Role) -> BlockState {
        let slot = SlotSequence::over(8).unwrap().slot(sequence);
        let label = Label { run: 7, sequence, offset: slot * 512, time_ns: 0, role };
        BlockState::Whole(label, 1)
    }

    /// A file to which these blocks were written in order.
    fn file(blocks: impl Iterator<Item = u64>, role: Role) -> Vec<BlockState> {
        let mut file = vec![BlockState::Nothing; 8];
        for sequence in blocks {
            file[SlotSequence::over(8).unwrap().slot(sequence) as usize] = whole(sequence, role);
        }
        file
    }

    fn judged(promised: u64, blocks: &[BlockState]) -> Judgement {
        let controls = file(0..promised, Role::Control);
        expected(promised).judge(Kind::PlugPull, blocks, &controls)
    }

    fn of(class: Class, count: u64) -> BTreeMap<Class, u64> {
        BTreeMap::from([(class, count)])
    }

    #[test]
    fn synced_blocks_are_good_whatever_was_in_flight() {
        let walk = SlotSequence::over(8).unwrap();
        for promised in 0..40 {
            for ahead in 0..3 {
                let mut blocks = file(0..promised + ahead, Role::Tested);
                let right = judged(promised, &blocks);
                assert_eq!(right.bad(), 0, "{promised} {ahead}: {right:?}");
                assert_eq!(right.inspected, 8.min(promised + ahead));
                blocks[walk.slot(promised + ahead) as usize] = BlockState::Torn;
                let torn = judged(promised, &blocks);
                assert_eq!(torn.bad(), 0, "{promised} {ahead}: {torn:?}");
            }
        }
    }

    #[test]
    fn each_kind_of_loss_is_named() {
        let walk = SlotSequence::over(8).unwrap();
        let at = |sequence| walk.slot(sequence) as usize;
        let mut blocks = file(0..20, Role::Tested);
        blocks[at(18)] = BlockState::Torn;
        let torn = judged(20, &blocks);
        assert_eq!((torn.bad.clone(), torn.reordered), (of(Class::Torn, 1), 1));
        let words = torn.example.unwrap();
        assert!(
            words.contains("block 18 at offset") && words.contains("does not hold a whole block")
        );
        assert_eq!(torn.controls_gone, 0);

        let mut old = file(0..19, Role::Tested);
        let stale = judged(20, &old);
        assert_eq!((stale.bad.clone(), stale.reordered), (of(Class::Stale, 1), 0));
        assert!(!stale.counts());

        old[at(15)] = BlockState::Nothing;
        let lost = judged(19, &old);
        assert_eq!((lost.bad.clone(), lost.reordered), (of(Class::Lost, 1), 1));

        old[at(15)] = whole(14, Role::Tested);
        assert_eq!(judged(19, &old).bad, of(Class::Misplaced, 1));
        old[at(15)] = BlockState::Unreadable;
        assert_eq!(judged(19, &old).bad, of(Class::Unreadable, 1));
        let BlockState::Whole(mut label, checksum) = whole(15, Role::Tested) else {
            panic!("expected a whole block");
        };
        label.run = 6;
        old[at(15)] = BlockState::Whole(label, checksum);
        assert_eq!(judged(19, &old).bad, of(Class::Stale, 1));
        old[at(15)] = whole(15, Role::Control);
        assert_eq!(judged(19, &old).bad, of(Class::Misplaced, 1));
    }

    #[test]
    fn a_block_before_a_present_one_counts_as_synced_without_a_promise() {
        let mut blocks = file(0..7, Role::Tested);
        blocks[4] = BlockState::Nothing;
        let found = judged(3, &blocks);
        assert_eq!((found.bad.clone(), found.reordered), (of(Class::Lost, 1), 1));
        let words = found.example.unwrap();
        assert!(words.contains("synced before block 6, which is present"), "{words}");
    }

    #[test]
    fn bytes_that_differ_from_the_promise_are_torn() {
        let blocks = file(0..4, Role::Tested);
        let mut expected = expected(4);
        expected.checksums.insert(2, 99);
        let found = expected.judge(Kind::PlugPull, &blocks, &blocks);
        assert_eq!(found.bad, of(Class::Torn, 1));
    }

    #[test]
    fn a_cut_that_must_lose_data_and_lost_none_does_not_count() {
        let blocks = file(0..6, Role::Tested);
        let counts = |kind, controls| {
            let controls = file(0..controls, Role::Control);
            expected(6).judge(kind, &blocks, &controls).counts()
        };
        assert!(counts(Kind::PlugPull, 5) && counts(Kind::MachineKill, 0));
        assert!(!counts(Kind::PlugPull, 6) && !counts(Kind::MachineKill, 6));
        assert!(counts(Kind::ProcessKill, 6));
        assert!(!counts(Kind::Restart, 3) && !counts(Kind::NoCut, 6));
    }
}
