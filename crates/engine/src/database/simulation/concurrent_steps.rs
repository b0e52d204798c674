//! The work of another thread during a commit: between any two steps of it, checkpoints move on and the log
//! writes.
//!
//! If that thread would have to wait for the commit, it does something else instead.

use super::episode::checkpoints;
use super::harness::SimulatedEngine;
use crate::planted_bug::{PlantedBug, planted};
use crate::step::Step;
use fastrand::Rng;
use std::sync::Arc;

/// Works at one step in this many, on average.
const ONE_STEP_IN: u8 = 5;

/// How checkpoints run.
#[derive(Clone, Copy)]
pub(super) struct CheckpointPace {
    /// They take long and run during many commits.
    pub(super) is_slow: bool,
    /// None begins before commits are refused.
    pub(super) is_lazy: bool,
}

/// The hook for `step::with`.
pub(super) fn work(
    engine: &Arc<SimulatedEngine>,
    pace: CheckpointPace,
    seed: u64,
) -> Box<dyn FnMut(Step)> {
    let (engine, mut random) = (Arc::clone(engine), Rng::with_seed(seed));
    Box::new(move |step| {
        if step.may_hold_lock() {
            return;
        }
        if random.u8(0..ONE_STEP_IN) == 0 {
            let worked = one_work(&engine, pace, &mut random);
            // A full disk is tried again; any other failure has closed the log, as the commit will report.
            drop(worked);
        }
    })
}

fn one_work(engine: &SimulatedEngine, pace: CheckpointPace, random: &mut Rng) -> crate::Result<()> {
    let core = &engine.core;
    let may_snapshot = core.could_close_gate() || planted(PlantedBug::SnapshotWithoutGate);
    match random.u8(0..6) {
        5 => checkpoints(engine).make_room(core).map(drop),
        0 if may_snapshot && !pace.is_lazy => {
            checkpoints(engine).begin(core, &engine.tree_directory).map(drop)
        }
        0 | 1 => core.log.wait(core.log.ticket(core.log.published())),
        _ if pace.is_slow => Ok(()),
        _ => checkpoints(engine).drive(core).map(drop),
    }
}
