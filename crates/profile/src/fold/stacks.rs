//! To whom each stack of a profile is charged.

use crate::cost::{ThreadClass, View};
use crate::map::{Map, Placed};
use crate::metric::Metric;
use crate::profile::{Profile, Sample};
use syncline_metering::Module;

/// Every stack and thread of a profile under a map, looked at once.
#[derive(Debug)]
pub(crate) struct Stacks {
    frames: Vec<Option<Placed>>,
    stacks: Vec<Fate>,
    threads: Vec<(ThreadClass, Option<Module>)>,
}

#[derive(Clone, Copy, Debug)]
struct Fate {
    placed: Option<Placed>,
    /// The stack fits an idle pattern.
    waits: bool,
}

/// To whom a sample is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charged {
    pub(crate) class: ThreadClass,
    pub(crate) module: Option<Module>,
    pub(crate) guess: bool,
}

impl Stacks {
    pub(crate) fn new(profile: &Profile, map: &Map, view: View) -> Stacks {
        let frames: Vec<_> = profile.frames.iter().map(|it| map.place(it)).collect();
        let waits: Vec<_> = profile.frames.iter().map(|it| map.waits(it)).collect();
        let any = map.waits_of_any_caller();
        let stacks = profile.stacks.iter().map(|positions| Fate {
            placed: charged(positions.iter().map(|it| frames[*it as usize]), view),
            waits: waiting(positions.iter().map(|it| waits[*it as usize]), any),
        });
        Stacks {
            stacks: stacks.collect(),
            threads: profile.threads.iter().map(|it| map.class(it)).collect(),
            frames,
        }
    }

    /// To whom a sample is charged.
    pub(crate) fn charged(&self, sample: &Sample) -> Charged {
        let (class, own) = self.threads[sample.thread.0 as usize];
        let fate = self.stacks[sample.stack.0 as usize];
        if fate.waits && is_waiting(sample.metric) {
            return Charged {
                class,
                module: Some(Module::WaitingForRequest),
                guess: false,
            };
        }
        Charged {
            class,
            module: fate.placed.map(|placed| placed.module).or(own),
            guess: fate.placed.is_some_and(|placed| placed.guess),
        }
    }

    /// The class of a sample's thread.
    pub(crate) fn class(&self, sample: &Sample) -> ThreadClass {
        self.threads[sample.thread.0 as usize].0
    }

    /// The module of each frame by itself; none where it belongs to its caller.
    pub(crate) fn modules(&self) -> impl Iterator<Item = Option<Module>> {
        self.frames
            .iter()
            .map(|placed| placed.map(|placed| placed.module))
    }
}

/// True if the metric is of threads that wait.
pub(crate) fn is_waiting(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Wall | Metric::OffCpu | Metric::VoluntarySwitches
    )
}

/// The first frame that belongs to a module, from the innermost outwards; on behalf of whom: the first
/// whose module does not work for its caller, or if there is none, the first of all.
fn charged(frames: impl Iterator<Item = Option<Placed>>, view: View) -> Option<Placed> {
    let mut first = None;
    for placed in frames.flatten() {
        if view == View::Innermost || !placed.outward {
            return Some(placed);
        }
        first = first.or(Some(placed));
    }
    first
}

/// True if a leaf of a wait stands within a caller of the same wait, or needs none.
fn waiting(frames: impl Iterator<Item = (u64, u64)>, any_caller: u64) -> bool {
    let mut within = 0;
    for (leaf, under) in frames {
        if within & under != 0 {
            return true;
        }
        within |= leaf;
    }
    within & any_caller != 0
}
