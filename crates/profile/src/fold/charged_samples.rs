//! Every sample with the module to which it is charged, and the module of each of its frames: the input of
//! tables of functions and of drawings of stacks.

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
    /// The metric.
    pub metric: Metric,
    /// The amount in the metric's unit.
    pub weight: u64,
    /// The number of samples or events.
    pub count: u64,
    /// The thread.
    pub thread: &'s Thread,
    /// The task of the thread.
    pub class: ThreadClass,
    /// The module to which it is charged; `None` if no frame belongs to a module.
    pub module: Option<Module>,
    profile: &'s ChargedProfile<'s>,
    sample: &'s Sample,
}

impl<'p> ChargedProfile<'p> {
    /// Applies a map to a profile.
    pub fn new(profile: &'p Profile, map: &'p Map, view: View) -> ChargedProfile<'p> {
        ChargedProfile { profile, stacks: Stacks::new(profile, map, view) }
    }

    /// Every sample.
    pub fn samples(&self) -> impl Iterator<Item = ChargedSample<'_>> {
        self.profile.samples().iter().map(|sample| {
            let charge = self.stacks.charge_of(sample);
            ChargedSample {
                metric: sample.metric,
                weight: sample.weight,
                count: sample.count,
                thread: self.profile.thread(sample.thread),
                class: charge.class,
                module: charge.module,
                profile: self,
                sample,
            }
        })
    }
}

impl<'s> ChargedSample<'s> {
    /// Its frames from the innermost outwards, each with its own module; `None` if the frame belongs to its
    /// caller.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = (&'s Frame, Option<Module>)> + use<'s> {
        let charged = self.profile;
        let positions = charged.profile.stacks[self.sample.stack.0 as usize].iter();
        positions.map(move |position| {
            let frame = &charged.profile.frames[*position as usize];
            (frame, charged.stacks.module(*position))
        })
    }
}
