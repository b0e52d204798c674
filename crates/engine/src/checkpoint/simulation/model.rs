//! The states that may be found when the data file is opened, in plain collections.
//!
//! 1. A checkpoint reported done is found, until a later checkpoint is.
//! 2. A checkpoint may be found once its root may have been written; never before the log is stable up to its
//!    commit.
//! 3. A state that an opening has reported stays, as if its checkpoint had been reported done.

use super::harness::Failure;
use crate::buffer::page;
use crate::checkpoint::{DataFile, Root, Work};
use crate::ids::{Csn, PageId, TreeId};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use syncline_vfs::SimulatedDisk;

/// The state at one checkpoint: page ids with the seeds of their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) number: u64,
    pub(super) csn: Csn,
    pub(super) next_page: PageId,
    pub(super) pages: BTreeMap<PageId, u64>,
    pub(super) meta: Vec<u8>,
}

/// The possible states of a data file.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// The last known state, and the next one if its root may have been written.
    pub(super) candidates: Vec<State>,
    /// The state before the last known one.
    pub(super) previous: Option<State>,
}

impl State {
    /// The state of a new data file.
    pub(super) fn first() -> State {
        State { number: 1, next_page: PageId(1), ..State::default() }
    }

    /// Random changes: the state after them, and the work that leads to it.
    pub(super) fn next(
        &self,
        random: &mut Rng,
        (pages_max, page_bytes): (u64, u32),
    ) -> (State, Work) {
        let mut next = self.clone();
        next.number += 1;
        next.csn = Csn(self.csn.0 + random.u64(0..5));
        next.next_page = PageId(self.next_page.0 + random.u64(0..4).pow(3));
        let (mut dirty, mut freed) = (Vec::new(), Vec::new());
        let (change, free) = (random.u8(1..7), random.u8(0..3));
        for page in (1..next.next_page.0).map(PageId) {
            let is_full = next.pages.len() as u64 >= pages_max;
            match random.u8(0..8) {
                draw if draw < free || (is_full && draw == 7) => {
                    freed.push(page);
                    next.pages.remove(&page);
                }
                draw if draw < change && !is_full => {
                    dirty.push(page);
                    next.pages.insert(page, random.u64(..));
                }
                _ => {}
            }
        }
        if random.u8(0..3) == 0 {
            next.meta = vec![random.u8(..); random.usize(0..1_500)];
        }
        random.shuffle(&mut dirty);
        let length = |page: &PageId| image_bytes(next.pages[page], page_bytes);
        let long = dirty.iter().map(|page| (*page, length(page)));
        let long = long.filter(|(_, bytes)| *bytes > page_bytes).collect();
        let work = Work {
            csn: next.csn,
            dirty,
            long,
            freed,
            next_page: next.next_page,
            meta: next.meta.clone(),
        };
        (next, work)
    }

    /// Replaces a buffer of a page by the unsealed image of a page.
    pub(super) fn capture(&self, page: PageId, out: &mut Vec<u8>) {
        let page_bytes = out.len() as u32;
        fill(page, self.pages[&page], page_bytes, out);
    }

    /// Fails if the file does not hold this state. A problem found by the file's own check counts unless
    /// reads may fail now.
    pub(super) fn check(
        &self,
        file: &DataFile<SimulatedDisk>,
        reads_fail: bool,
    ) -> Result<(), Failure> {
        let root: &Root = file.root();
        let broken = |what| Err(Failure::Broken(format!("checkpoint {} {what}", self.number)));
        if (root.csn, root.next_page) != (self.csn, self.next_page) || root.meta != self.meta {
            return broken("has another root");
        }
        let mut found = BTreeSet::new();
        let mut expected = Vec::new();
        let mut wrong = None;
        file.load(&mut |page, image| {
            if let Some(seed) = self.pages.get(&page) {
                fill(page, *seed, root.page_bytes, &mut expected);
                if image[page::HEADER_BYTES..] != expected[page::HEADER_BYTES..] {
                    wrong = Some(format!("{page} differs from the captured image"));
                }
            }
            found.insert(page);
            Ok(())
        })?;
        if let Some(wrong) = wrong {
            return Err(Failure::Broken(wrong));
        }
        if !found.iter().eq(self.pages.keys()) {
            return broken("has other pages");
        }
        match file.check()?.pop() {
            Some(complaint) if !reads_fail => Err(Failure::Broken(complaint)),
            _ => Ok(()),
        }
    }
}

impl Model {
    pub(super) fn new() -> Model {
        Model { candidates: vec![State::first()], previous: None }
    }

    /// The state that an open file holds, or why it is wrong.
    pub(super) fn find(
        &self,
        file: &DataFile<SimulatedDisk>,
        reads_fail: bool,
    ) -> Result<State, Failure> {
        let number = file.root().number;
        let found = self.candidates.iter().find(|state| state.number == number);
        let Some(state) = found else {
            let allowed: Vec<u64> = self.candidates.iter().map(|state| state.number).collect();
            return Err(Failure::Broken(format!(
                "checkpoint {number} was found, not one of {allowed:?}"
            )));
        };
        state.check(file, reads_fail)?;
        Ok(state.clone())
    }

    /// Records that this state was reported.
    pub(super) fn install(&mut self, state: State) {
        if self.candidates[0].number < state.number {
            self.previous = Some(self.candidates[0].clone());
        }
        self.candidates = vec![state];
    }
}

/// The length of the image with that seed: some fill their page, some are as short as possible, some are as
/// long as several pages, most are in between.
fn image_bytes(seed: u64, page_bytes: u32) -> u32 {
    let mut random = Rng::with_seed(seed);
    match random.u8(0..10) {
        0..2 => page_bytes,
        2 => page::HEADER_BYTES as u32,
        3 | 4 => random.u32(page_bytes + 1..=4 * page_bytes),
        _ => random.u32(page::HEADER_BYTES as u32..=page_bytes),
    }
}

fn fill(page: PageId, seed: u64, page_bytes: u32, out: &mut Vec<u8>) {
    let bytes = image_bytes(seed, page_bytes);
    let kind = if bytes > page_bytes { page::Kind::Extent } else { page::Kind::Leaf };
    out.clear();
    out.resize(bytes as usize, 0);
    page::label(out, page, TreeId(7), kind, 0);
    Rng::with_seed(!seed).fill(&mut out[page::HEADER_BYTES..]);
}
