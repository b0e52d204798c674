//! Every sample with to whom it is charged and whose each of its frames is: what tables of functions
//! and drawings of stacks are made from.

use super::charged_stacks::Stacks;
use crate::cost::{ThreadClass, View};
use crate::map::Map;
use crate::metric::Metric;
use crate::profile::{Profile, Sample};
use crate::stack::{Frame, Thread};
use syncline_instrument::Module;

/// A profile under a map.
#[derive(Debug)]
pub struct ChargedProfile<'p> {
    profile: &'p Profile,
    stacks: Stacks<'p>,
}

/// One sample.
#[derive(Clone, Copy, Debug)]
pub struct ChargedSample<'s> {
    /// What was measured.
    pub metric: Metric,
    /// How much, in the metric's unit.
    pub weight: u64,
    /// By how many looks or events.
    pub count: u64,
    /// In which thread.
    pub thread: &'s Thread,
    /// What the thread is for.
    pub class: ThreadClass,
    /// To whom it is charged; none if no frame belongs to any module.
    pub module: Option<Module>,
    seen: &'s ChargedProfile<'s>,
    sample: &'s Sample,
}

impl<'p> ChargedProfile<'p> {
    /// A profile, looked at through a map.
    pub fn new(profile: &'p Profile, map: &'p Map, view: View) -> ChargedProfile<'p> {
        ChargedProfile { profile, stacks: Stacks::new(profile, map, view) }
    }

    /// Every sample.
    pub fn samples(&self) -> impl Iterator<Item = ChargedSample<'_>> {
        self.profile.samples().iter().map(|sample| {
            let charged = self.stacks.charged(sample);
            ChargedSample {
                metric: sample.metric,
                weight: sample.weight,
                count: sample.count,
                thread: self.profile.thread(sample.thread),
                class: charged.class,
                module: charged.module,
                seen: self,
                sample,
            }
        })
    }
}

impl<'s> ChargedSample<'s> {
    /// Its frames from the innermost outwards, each with its own module; none where it belongs to its
    /// caller.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = (&'s Frame, Option<Module>)> + use<'s> {
        let seen = self.seen;
        let positions = seen.profile.stacks[self.sample.stack.0 as usize].iter();
        positions.map(move |position| {
            let frame = &seen.profile.frames[*position as usize];
            (frame, seen.stacks.module(*position))
        })
    }
}
