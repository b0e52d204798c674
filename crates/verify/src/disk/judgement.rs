//! Blocks held against promises.
//!
//! Let P be the last block promised and H the newest that is there. A block is begun only when the sync
//! of the one before it has returned; so all up to max(P, H - 1) had been synced, and at most one, behind
//! max(P, H), was under way. In each slot the latest block up to max(P, H) must stand, whole; in the slot
//! of the one under way, that or anything torn.

use super::block::{Found, Role};
use super::cut_kind::Kind;
use super::slot_sequence::SlotSequence;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// What may have become of a block that had been synced, other than it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Nothing stands in its place.
    Lost,
    /// An older block does.
    Stale,
    /// Bytes that are no whole block, or not those that were promised.
    Torn,
    /// A block that belongs elsewhere.
    Misplaced,
    /// The device refuses to read it.
    Unreadable,
}

impl Class {
    /// The word in reports.
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

/// What has become of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// What cut it off.
    pub kind: Kind,
    /// Blocks that were promised.
    pub promised: u64,
    /// Of them and those synced behind them, the ones that no later block replaced: these were looked at.
    pub looked: u64,
    /// Those that are not as they were synced, by what they are.
    pub bad: BTreeMap<Class, u64>,
    /// Bad ones that are older than a block that is there: the device did not keep the order.
    pub reordered: u64,
    /// Controls, which were never synced, that were looked at.
    pub controls: u64,
    /// Of them, those that are gone: the cut took something.
    pub controls_gone: u64,
    /// The first bad one, in words.
    pub example: Option<String>,
}

impl Judgement {
    /// Blocks that are not as they were synced.
    pub fn bad(&self) -> u64 {
        self.bad.values().sum()
    }

    /// True if it may be counted as a cut that was survived: something was promised, it was cut off, and
    /// where a cut must take what was not synced, it did.
    pub fn counts(&self) -> bool {
        self.bad() == 0
            && self.promised > 0
            && self.kind.is_cut()
            && (!self.kind.takes_memory() || self.controls_gone > 0)
    }
}

/// What a run's blocks are held against.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) run: u128,
    pub(super) walk: SlotSequence,
    pub(super) block_bytes: u32,
    /// How many promises.
    pub(super) promised: u64,
    /// Checksums of the latest.
    pub(super) checksums: HashMap<u64, u32>,
}

impl Expected {
    /// Judges what was found in each slot, of blocks and of controls.
    pub(super) fn judge(&self, kind: Kind, blocks: &[Found], controls: &[Found]) -> Judgement {
        let mut judgement = Judgement {
            kind,
            promised: self.promised,
            looked: 0,
            bad: BTreeMap::new(),
            reordered: 0,
            controls: 0,
            controls_gone: 0,
            example: None,
        };
        let newest = self.newest(blocks);
        if let Some(last) = self.last_promised().max(newest) {
            let under_way = self.walk.slot(last + 1);
            for (slot, sequence) in self.slots(last) {
                let found = blocks[slot as usize];
                judgement.looked += 1;
                let torn_by_the_cut = slot == under_way && found == Found::Torn;
                let bad = self.bad(slot, sequence, found);
                let bad = bad.filter(|_| !torn_by_the_cut);
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

    fn newest(&self, blocks: &[Found]) -> Option<u64> {
        let own = |(slot, found): (usize, &Found)| self.own(slot as u64, Role::Tested, *found);
        let there = blocks.iter().enumerate().filter_map(own);
        there.map(|(sequence, _)| sequence).max()
    }

    fn slots(&self, last: u64) -> impl Iterator<Item = (u64, u64)> {
        let latest = self.walk.latest(last).into_iter();
        (0..).zip(latest).filter_map(|(slot, latest)| Some((slot, latest?)))
    }

    /// Sequence and checksum of a block of this run that stands where it belongs.
    fn own(&self, slot: u64, role: Role, found: Found) -> Option<(u64, u32)> {
        match found {
            Found::Whole(label, checksum)
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

    /// Why what was found is not this block, if it is not.
    fn bad(&self, slot: u64, sequence: u64, found: Found) -> Option<(Class, String)> {
        if let Some((there, checksum)) = self.own(slot, Role::Tested, found) {
            let promised = self.checksums.get(&sequence);
            return match (there == sequence, promised) {
                (false, _) => Some((Class::Stale, format!("block {there} is there"))),
                (true, Some(promised)) if *promised != checksum => {
                    Some((Class::Torn, "it holds other bytes than were promised".to_owned()))
                }
                (true, _) => None,
            };
        }
        Some(match found {
            Found::Nothing => (Class::Lost, "nothing is there".to_owned()),
            Found::Torn => (Class::Torn, "what is there is not a whole block".to_owned()),
            Found::Unreadable => (Class::Unreadable, "it cannot be read".to_owned()),
            Found::Whole(label, _) if label.run != self.run => {
                (Class::Stale, "a block of an earlier run is there".to_owned())
            }
            Found::Whole(label, _) => (
                Class::Misplaced,
                format!(
                    "block {} is there, which belongs at offset {}{}",
                    label.sequence,
                    label.offset,
                    match label.role {
                        Role::Tested => "",
                        Role::Control => " of the controls",
                    }
                ),
            ),
        })
    }

    fn words(&self, sequence: u64, slot: u64, what: &str, newest: Option<u64>) -> String {
        let offset = slot * u64::from(self.block_bytes);
        let known = match newest {
            _ if sequence < self.promised => "was promised".to_owned(),
            Some(newest) => format!("was synced before block {newest}, which is there"),
            None => "was synced".to_owned(),
        };
        format!("block {sequence} at offset {offset} {known}, and {what}")
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
    use crate::disk::block::{Found, Label, Role};
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

    fn whole(sequence: u64, role: Role) -> Found {
        let slot = SlotSequence::over(8).unwrap().slot(sequence);
        let label = Label { run: 7, sequence, offset: slot * 512, time_ns: 0, role };
        Found::Whole(label, 1)
    }

    /// A file in which these were written one after another.
    fn file(blocks: impl Iterator<Item = u64>, role: Role) -> Vec<Found> {
        let mut file = vec![Found::Nothing; 8];
        for sequence in blocks {
            file[SlotSequence::over(8).unwrap().slot(sequence) as usize] = whole(sequence, role);
        }
        file
    }

    fn judged(promised: u64, blocks: &[Found]) -> Judgement {
        let controls = file(0..promised, Role::Control);
        expected(promised).judge(Kind::PlugPull, blocks, &controls)
    }

    fn of(class: Class, count: u64) -> BTreeMap<Class, u64> {
        BTreeMap::from([(class, count)])
    }

    #[test]
    fn what_was_written_is_right_whatever_was_under_way() {
        let walk = SlotSequence::over(8).unwrap();
        for promised in 0..40 {
            for ahead in 0..3 {
                let mut blocks = file(0..promised + ahead, Role::Tested);
                let right = judged(promised, &blocks);
                assert_eq!(right.bad(), 0, "{promised} {ahead}: {right:?}");
                assert_eq!(right.looked, 8.min(promised + ahead));
                blocks[walk.slot(promised + ahead) as usize] = Found::Torn;
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
        blocks[at(18)] = Found::Torn;
        let torn = judged(20, &blocks);
        assert_eq!((torn.bad.clone(), torn.reordered), (of(Class::Torn, 1), 1));
        let words = torn.example.unwrap();
        assert!(words.contains("block 18 at offset") && words.contains("not a whole block"));
        assert_eq!(torn.controls_gone, 0);

        let mut old = file(0..19, Role::Tested);
        let stale = judged(20, &old);
        assert_eq!((stale.bad.clone(), stale.reordered), (of(Class::Stale, 1), 0));
        assert!(!stale.counts());

        old[at(15)] = Found::Nothing;
        let lost = judged(19, &old);
        assert_eq!((lost.bad.clone(), lost.reordered), (of(Class::Lost, 1), 1));

        old[at(15)] = whole(14, Role::Tested);
        assert_eq!(judged(19, &old).bad, of(Class::Misplaced, 1));
        old[at(15)] = Found::Unreadable;
        assert_eq!(judged(19, &old).bad, of(Class::Unreadable, 1));
        let Found::Whole(mut label, checksum) = whole(15, Role::Tested) else {
            panic!("a whole block");
        };
        label.run = 6;
        old[at(15)] = Found::Whole(label, checksum);
        assert_eq!(judged(19, &old).bad, of(Class::Stale, 1));
        old[at(15)] = whole(15, Role::Control);
        assert_eq!(judged(19, &old).bad, of(Class::Misplaced, 1));
    }

    #[test]
    fn what_came_before_a_block_that_is_there_had_been_synced_though_never_promised() {
        let mut blocks = file(0..7, Role::Tested);
        blocks[4] = Found::Nothing;
        let found = judged(3, &blocks);
        assert_eq!((found.bad.clone(), found.reordered), (of(Class::Lost, 1), 1));
        let words = found.example.unwrap();
        assert!(words.contains("synced before block 6, which is there"), "{words}");
    }

    #[test]
    fn other_bytes_than_were_promised_are_torn() {
        let blocks = file(0..4, Role::Tested);
        let mut expected = expected(4);
        expected.checksums.insert(2, 99);
        let found = expected.judge(Kind::PlugPull, &blocks, &blocks);
        assert_eq!(found.bad, of(Class::Torn, 1));
    }

    #[test]
    fn a_cut_that_took_nothing_does_not_count_where_it_must() {
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
