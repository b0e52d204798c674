//! The order of writes and syncs, as a state machine without I/O.
//!
//! Its driver (a caller, the writer thread, a simulation) reports launches and completions, in any order; the
//! pipeline answers what may be launched, what must be synced, and how far the durable LSN has moved.
//!
//! A flight is one frame on its way to the disk. Its states and transitions:
//!
//! ```text
//! launch -> Writing --write_done--> Written --begin_sync--> Syncing --sync_done--> Stable
//!                    \--write_done, where a write is itself a sync, or nothing is--> Stable
//! ```
//!
//! Invariants:
//! 1. At most `writes_max` flights at a time; their frame numbers are consecutive.
//! 2. A sync covers the flights that were Written when it began, and no others; one at a time.
//! 3. `stable` and `durable_lsn` follow the oldest flight: a stable flight behind an unstable one does not
//!    move them.
//! 4. After any failure nothing is launched or moved again: the pipeline is poisoned.
//! 5. The log leaves a segment only when nothing is in flight; so its successor's header may state that
//!    everything before it is stable.

use crate::ids::{Csn, FrameNumber};
use crate::planted_bug::{PlantedBug, planted};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Writing,
    Written,
    Syncing,
    Stable,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    number: FrameNumber,
    /// The last commit that is whole once this frame and all before it are stable.
    last: Csn,
    stage: Stage,
}

/// The flights of a log, oldest first, and the end of the stable prefix.
#[derive(Debug)]
pub(super) struct Pipeline {
    writes_max: usize,
    sync_follows: bool,
    flights: VecDeque<Flight>,
    next: FrameNumber,
    stable: FrameNumber,
    durable_lsn: Csn,
    poisoned: bool,
}

impl Pipeline {
    /// Nothing in flight; everything up to `stable` and `durable_lsn` is stable.
    pub(super) fn new(
        writes_max: usize,
        sync_follows: bool,
        stable: FrameNumber,
        durable_lsn: Csn,
    ) -> Pipeline {
        Pipeline {
            writes_max,
            sync_follows,
            flights: VecDeque::with_capacity(writes_max),
            next: stable.next(),
            stable,
            durable_lsn,
            poisoned: false,
        }
    }

    /// True if another frame may be launched now.
    pub(super) fn may_launch(&self) -> bool {
        !self.poisoned && self.flights.len() < self.writes_max
    }

    /// True if no frame is in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.flights.is_empty()
    }

    /// The number of the next frame.
    pub(super) fn next_number(&self) -> FrameNumber {
        self.next
    }

    /// The last frame of the contiguous stable prefix.
    pub(super) fn stable(&self) -> FrameNumber {
        self.stable
    }

    /// The last commit of the contiguous stable prefix.
    pub(super) fn durable_lsn(&self) -> Csn {
        self.durable_lsn
    }

    /// Launches a frame whose last whole commit is `last`.
    pub(super) fn launch(&mut self, last: Csn) -> FrameNumber {
        assert!(self.may_launch(), "a launch needs a free slot");
        let newest = self.flights.back().map_or(self.durable_lsn, |flight| flight.last);
        assert!(last >= newest, "frames hold commits in order");
        let number = self.next;
        self.next = number.next();
        let stage = Stage::Writing;
        self.flights.push_back(Flight { number, last, stage });
        if planted(PlantedBug::AcknowledgeBeforeSync) {
            self.durable_lsn = last;
        }
        number
    }

    /// A frame's write has succeeded.
    pub(super) fn write_done(&mut self, number: FrameNumber) {
        let stage = if self.sync_follows { Stage::Written } else { Stage::Stable };
        let flight = self.flights.iter_mut().find(|one| one.number == number);
        let flight = flight.expect("a write that ended was in flight");
        assert!(flight.stage == Stage::Writing, "a write ends once");
        flight.stage = stage;
        self.advance();
    }

    /// True if a written frame waits for a sync and no sync is under way.
    pub(super) fn wants_sync(&self) -> bool {
        let any = |stage| self.flights.iter().any(|flight| flight.stage == stage);
        !self.poisoned && any(Stage::Written) && !any(Stage::Syncing)
    }

    /// Begins a sync of everything written by now.
    pub(super) fn begin_sync(&mut self) {
        assert!(self.wants_sync(), "a sync may begin only when a frame waits for one");
        for flight in &mut self.flights {
            if flight.stage == Stage::Written {
                flight.stage = Stage::Syncing;
            }
        }
    }

    /// The sync has succeeded.
    pub(super) fn sync_done(&mut self) {
        for flight in &mut self.flights {
            if flight.stage == Stage::Syncing {
                flight.stage = Stage::Stable;
            }
        }
        self.advance();
    }

    /// A write or a sync has failed.
    pub(super) fn poison(&mut self) {
        self.poisoned = true;
    }

    fn advance(&mut self) {
        if self.poisoned {
            return;
        }
        if planted(PlantedBug::DurablePastGap)
            && let Some(newest) = self.flights.iter().rfind(|one| one.stage == Stage::Stable)
        {
            self.durable_lsn = self.durable_lsn.max(newest.last);
        }
        while let Some(oldest) = self.flights.front()
            && oldest.stage == Stage::Stable
        {
            self.stable = oldest.number;
            self.durable_lsn = oldest.last;
            self.flights.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pipeline;
    use crate::ids::{Csn, FrameNumber};

    /// Replays every order of events up to a depth against an independent statement of the invariants.
    #[derive(Clone, Debug, Default)]
    struct Model {
        launched: Vec<u64>,
        written: Vec<bool>,
        synced: Vec<bool>,
        syncing: Option<Vec<usize>>,
    }

    impl Model {
        fn stable(&self, sync_follows: bool) -> usize {
            let done = if sync_follows { &self.synced } else { &self.written };
            done.iter().take_while(|&&done| done).count()
        }
    }

    fn replay(events: &[usize], writes_max: usize, sync_follows: bool) -> Option<()> {
        let mut pipeline = Pipeline::new(writes_max, sync_follows, FrameNumber(7), Csn(100));
        let mut model = Model::default();
        for &event in events {
            let stable = model.stable(sync_follows);
            let in_flight = model.launched.len() - stable;
            match event {
                0 => {
                    assert_eq!(pipeline.may_launch(), in_flight < writes_max);
                    if in_flight == writes_max {
                        return None;
                    }
                    let last = 100 + 10 * (model.launched.len() as u64 + 1);
                    let number = pipeline.launch(Csn(last));
                    assert_eq!(number, FrameNumber(8 + model.launched.len() as u64));
                    model.launched.push(last);
                    model.written.push(false);
                    model.synced.push(false);
                }
                1 => {
                    let waits: Vec<usize> = (0..model.launched.len())
                        .filter(|&i| model.written[i] && !model.synced[i])
                        .collect();
                    let may_sync = sync_follows && !waits.is_empty() && model.syncing.is_none();
                    assert_eq!(pipeline.wants_sync(), may_sync);
                    if !may_sync {
                        return None;
                    }
                    pipeline.begin_sync();
                    model.syncing = Some(waits);
                }
                2 => {
                    for index in model.syncing.take()? {
                        model.synced[index] = true;
                    }
                    pipeline.sync_done();
                }
                nth => {
                    let open: Vec<usize> =
                        (0..model.launched.len()).filter(|&i| !model.written[i]).collect();
                    let index = *open.get(nth - 3)?;
                    model.written[index] = true;
                    pipeline.write_done(FrameNumber(8 + index as u64));
                }
            }
            let stable = model.stable(sync_follows);
            let durable_lsn = stable.checked_sub(1).map_or(100, |i| model.launched[i]);
            assert_eq!(pipeline.durable_lsn(), Csn(durable_lsn), "{events:?}");
            assert_eq!(pipeline.stable(), FrameNumber(7 + stable as u64));
            assert_eq!(pipeline.is_idle(), stable == model.launched.len());
        }
        Some(())
    }

    fn explore(events: &mut Vec<usize>, depth: usize, writes_max: usize, sync: bool) -> u64 {
        if replay(events, writes_max, sync).is_none() {
            return 0;
        }
        if depth == 0 {
            return 1;
        }
        let mut runs = 1;
        for event in 0..6 {
            events.push(event);
            runs += explore(events, depth - 1, writes_max, sync);
            events.pop();
        }
        runs
    }

    #[test]
    fn every_short_order_of_events_keeps_the_invariants() {
        let mut runs = 0;
        for writes_max in 1..=3 {
            for sync in [false, true] {
                runs += explore(&mut Vec::new(), 9, writes_max, sync);
            }
        }
        assert!(runs > 2_000, "only {runs} orders were possible");
    }

    #[test]
    fn after_a_failure_nothing_is_launched_or_moved() {
        let mut pipeline = Pipeline::new(2, false, FrameNumber(0), Csn(0));
        let first = pipeline.launch(Csn(1));
        let second = pipeline.launch(Csn(2));
        pipeline.write_done(second);
        pipeline.poison();
        pipeline.write_done(first);
        assert_eq!(pipeline.durable_lsn(), Csn(0));
        assert!(!pipeline.may_launch() && !pipeline.wants_sync());
    }
}
