//! Charges each stack of a profile to a module.

use crate::cost::{ThreadClass, View};
use crate::map::{FrameRoles, Map, ModuleMatch};
use crate::metric::Metric;
use crate::profile::{Profile, Sample};
use crate::stack::StackId;
use syncline_instrument::Module;

/// The result for every stack and thread of a profile under a map, computed once.
#[derive(Debug)]
pub(crate) struct Stacks<'a> {
    map: &'a Map,
    frames: Vec<Option<ModuleMatch>>,
    charges: Vec<StackCharge>,
    /// For each thread, the thread rules that its names fit.
    threads: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct StackCharge {
    module: Option<ModuleMatch>,
    /// The stack fits an idle pattern.
    waits: bool,
    /// The thread rules that the stack does not exclude.
    threads: u64,
}

/// The result for a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleCharge {
    pub(crate) class: ThreadClass,
    pub(crate) module: Option<Module>,
    pub(crate) guess: bool,
}

impl Stacks<'_> {
    pub(crate) fn new<'a>(profile: &Profile, map: &'a Map, view: View) -> Stacks<'a> {
        let frames: Vec<_> = profile.frames.iter().map(|it| map.module_of(it)).collect();
        let marks: Vec<_> = profile.frames.iter().map(|it| map.roles_of(it)).collect();
        let any = map.waits_of_any_caller();
        let frameless = map.frameless_rules();
        let charges = profile.stacks.iter().map(|positions| {
            let marked = || positions.iter().map(|it| marks[*it as usize]);
            StackCharge {
                module: module_of(positions.iter().map(|it| frames[*it as usize]), view),
                waits: waits(marked(), any),
                threads: marked().fold(frameless, |all, it| all | it.threads),
            }
        });
        Stacks {
            map,
            charges: charges.collect(),
            threads: profile.threads.iter().map(|it| map.thread_rules(it)).collect(),
            frames,
        }
    }

    /// The module to which a sample is charged.
    pub(crate) fn charge_of(&self, sample: &Sample) -> SampleCharge {
        let stack_charge = self.stack_charge(sample.stack);
        let (class, own) = self.thread(sample);
        if stack_charge.waits && is_waiting(sample.metric) {
            return SampleCharge { class, module: Some(Module::WaitingForRequest), guess: false };
        }
        SampleCharge {
            class,
            module: stack_charge.module.map(|found| found.module).or(own),
            guess: stack_charge.module.is_some_and(|found| found.guess),
        }
    }

    /// The module of each frame taken alone; `None` if it belongs to its caller.
    pub(crate) fn module(&self, frame: u32) -> Option<Module> {
        self.frames[frame as usize].map(|found| found.module)
    }

    fn thread(&self, sample: &Sample) -> (ThreadClass, Option<Module>) {
        let rules = self.threads[sample.thread.0 as usize];
        self.map.class(rules & self.stack_charge(sample.stack).threads)
    }

    fn stack_charge(&self, stack: StackId) -> StackCharge {
        self.charges[stack.0 as usize]
    }
}

/// True if the metric counts waiting threads.
fn is_waiting(metric: Metric) -> bool {
    matches!(metric, Metric::Wall | Metric::OffCpu | Metric::VoluntarySwitches)
}

/// The first frame that belongs to a module, from the innermost outwards. In the view "on behalf of": the
/// first whose module is not charged outwards, or if there is none, the first of all.
fn module_of(frames: impl Iterator<Item = Option<ModuleMatch>>, view: View) -> Option<ModuleMatch> {
    let mut first = None;
    for found in frames.flatten() {
        if view == View::Innermost || !found.outward {
            return Some(found);
        }
        first = first.or(Some(found));
    }
    first
}

/// True if the leaf of a wait is below a caller of the same wait, or the wait needs no caller.
fn waits(frames: impl Iterator<Item = FrameRoles>, any_caller: u64) -> bool {
    let mut within = 0;
    for frame in frames {
        if within & frame.under != 0 {
            return true;
        }
        within |= frame.leaf;
    }
    within & any_caller != 0
}
