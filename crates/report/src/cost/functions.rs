//! Functions by their processor time, alone and with all callees, or by their waits.
//!
//! 1. Processor time belongs to the innermost function outside of the kernel: kernel time is charged to the
//!    function that entered the kernel.
//! 2. A wait belongs to the innermost function of the store, since the frames below it are libraries in which
//!    every program waits. If no frame is the store's, it belongs to the innermost outside of the kernel.
//! 3. A function that is on a stack several times is counted once.

use super::{CLASSES, CostThreads};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use syncline_profile::Module;
use syncline_profile::{
    ChargedProfile, ChargedSample, Frame, Metric, Name, Precision, Profile, Space, ThreadClass,
    View,
};
use syncline_record::{Stacks, class_word};

/// The order of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionsBy {
    /// Processor time, user and kernel.
    Cpu,
    /// Time off the processor.
    WaitTime,
    /// The number of times that a thread gave up its processor.
    WaitCount,
}

/// The figures of one function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FunctionRow {
    /// Its name, or the names of its two neighbours.
    pub(crate) function: String,
    /// The file or class.
    pub(crate) object: String,
    /// The module that it was charged to.
    pub(crate) module: Option<Module>,
    /// By itself, in the metric's unit: in user mode, and in the kernel.
    pub(crate) own: (u64, u64),
    /// With all callees; for waits the same as by itself.
    pub(crate) with_callees: u64,
    /// The number of samples or events.
    pub(crate) count: u64,
}

/// Functions in the order of their own amounts, and the sum of all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Functions {
    pub(crate) rows: Vec<FunctionRow>,
    pub(crate) all: u64,
    /// The metrics that could be split; of processor time possibly only user or kernel time.
    pub(crate) metrics: Vec<Metric>,
}

/// The threads of `--threads`: a class, `all`, or a pattern of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ThreadFilter {
    Classes(Vec<&'static str>),
    NamePattern(glob::Pattern),
}

impl ThreadFilter {
    /// The default is the threads that serve clients, if the map knows any.
    pub(crate) fn of(threads: &CostThreads, profile: &ChargedProfile<'_>) -> Result<ThreadFilter> {
        let all = || CLASSES.to_vec();
        Ok(match threads {
            CostThreads::All => ThreadFilter::Classes(all()),
            CostThreads::Class(word) => {
                match CLASSES.iter().find(|class| *class == word) {
                    Some(class) => ThreadFilter::Classes(vec![class]),
                    None => ThreadFilter::NamePattern(glob::Pattern::new(word).map_err(|why| {
                        Error::Pattern { text: word.clone(), why: why.to_string() }
                    })?),
                }
            }
            CostThreads::Serving => {
                let serving = |sample: ChargedSample<'_>| {
                    matches!(sample.class, ThreadClass::Connection | ThreadClass::Client)
                };
                if profile.samples().any(serving) {
                    ThreadFilter::Classes(vec!["connection", "client"])
                } else {
                    ThreadFilter::Classes(all())
                }
            }
        })
    }

    pub(crate) fn contains(&self, sample: &ChargedSample<'_>) -> bool {
        match self {
            ThreadFilter::Classes(classes) => classes.contains(&class_word(sample.class)),
            ThreadFilter::NamePattern(pattern) => {
                let title = sample.thread.title.as_deref();
                pattern.matches(&sample.thread.name)
                    || title.is_some_and(|title| pattern.matches(title))
            }
        }
    }
}

/// The functions of a run's stacks.
pub(crate) fn functions(
    stacks: &Stacks,
    by: FunctionsBy,
    view: View,
    threads: &CostThreads,
) -> Result<Functions> {
    let profile = ChargedProfile::new(&stacks.profile, &stacks.map, view);
    let filter = ThreadFilter::of(threads, &profile)?;
    let metrics = metrics(&stacks.profile, &profile, by);
    let mut rows: BTreeMap<(String, String, Option<Module>), FunctionRow> = BTreeMap::new();
    let mut all = 0;
    for sample in profile.samples() {
        if !metrics.contains(&sample.metric) || !filter.contains(&sample) {
            continue;
        }
        all += sample.weight;
        let own = own_frame(&sample, by)
            .map_or_else(|| ("nothing known".to_owned(), String::new()), function_and_object);
        let row = entry(&mut rows, own.clone(), sample.module);
        match sample.metric {
            Metric::CpuKernel => row.own.1 += sample.weight,
            _ => row.own.0 += sample.weight,
        }
        row.count += sample.count;
        row.with_callees += sample.weight;
        if by == FunctionsBy::Cpu {
            let callers: BTreeSet<(String, String, Option<Module>)> = sample
                .frames()
                .filter(|(frame, _)| frame.space != Space::Kernel)
                .map(|(frame, module)| {
                    let (function, object) = function_and_object(frame);
                    (function, object, module)
                })
                .filter(|(function, object, _)| (function, object) != (&own.0, &own.1))
                .collect();
            for (function, object, module) in callers {
                let row = entry(&mut rows, (function, object), module);
                row.with_callees += sample.weight;
            }
        }
    }
    let mut rows: Vec<FunctionRow> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.own.0 + row.own.1, row.with_callees)));
    Ok(Functions { rows, all, metrics })
}

fn entry(
    rows: &mut BTreeMap<(String, String, Option<Module>), FunctionRow>,
    (function, object): (String, String),
    module: Option<Module>,
) -> &mut FunctionRow {
    let key = (function.clone(), object.clone(), module);
    rows.entry(key).or_insert_with(|| FunctionRow {
        function,
        object,
        module,
        own: (0, 0),
        with_callees: 0,
        count: 0,
    })
}

/// The first choice of metrics that has any samples, without the metrics that could not be split, whose
/// amounts are not known.
fn metrics(profile: &Profile, charged: &ChargedProfile<'_>, by: FunctionsBy) -> Vec<Metric> {
    let choices: &[&[Metric]] = match by {
        FunctionsBy::Cpu => &[&[Metric::CpuUser, Metric::CpuKernel]],
        FunctionsBy::WaitTime => &[&[Metric::OffCpu], &[Metric::ContentionWait]],
        FunctionsBy::WaitCount => &[&[Metric::VoluntarySwitches], &[Metric::Contentions]],
    };
    let any =
        |metrics: &&&[Metric]| charged.samples().any(|sample| metrics.contains(&sample.metric));
    let was_split = |metric: &Metric| {
        let mut accounts = profile.accounts().iter();
        let split = |how: &Precision| !matches!(how, Precision::NotAttributable(_));
        let mut samples = charged.samples();
        accounts.any(|account| account.metric == *metric && split(&account.how))
            || samples.any(|sample| sample.metric == *metric)
    };
    choices
        .iter()
        .find(any)
        .into_iter()
        .flat_map(|metrics| metrics.iter().copied())
        .filter(was_split)
        .collect()
}

fn own_frame<'s>(sample: &ChargedSample<'s>, by: FunctionsBy) -> Option<&'s Frame> {
    let outside = || sample.frames().find(|(frame, _)| frame.space != Space::Kernel);
    let of_the_store = || sample.frames().find(|(_, module)| module.is_some());
    let found = match by {
        FunctionsBy::Cpu => outside(),
        FunctionsBy::WaitTime | FunctionsBy::WaitCount => of_the_store().or_else(outside),
    };
    let innermost = || sample.frames().next();
    found.or_else(innermost).map(|(frame, _)| frame)
}

/// The text for a frame's function and object.
pub(crate) fn function_and_object(frame: &Frame) -> (String, String) {
    let function = match &frame.name {
        Name::Function(name) => name.clone(),
        Name::Between { before, after } => between_neighbours(before.as_deref(), after.as_deref()),
        Name::Unknown if frame.offset > 0 => format!("at {:#x}", frame.offset),
        Name::Unknown => "no name".to_owned(),
    };
    (function, frame.object.clone())
}

/// The text for a function without a name, from its neighbours. A symbol may be the path of a source file
/// instead of a function's name: what follows it is a part of that file.
fn between_neighbours(before: Option<&str>, after: Option<&str>) -> String {
    if let Some(file) = before.and_then(source_file) {
        return format!("in {file}, no name");
    }
    let side = |name: Option<&str>| match name {
        Some(name) => source_file(name).unwrap_or(name).to_owned(),
        None => "?".to_owned(),
    };
    format!("between {} and {}", side(before), side(after))
}

/// The file name in the path of a C or C++ source; `None` if `name` is not such a path.
fn source_file(name: &str) -> Option<&str> {
    let (_, file) = name.rsplit_once('/')?;
    let (_, ending) = file.rsplit_once('.')?;
    let is_source = matches!(ending, "c" | "cc" | "cpp" | "cxx");
    (is_source && !name.contains([' ', '(', '<'])).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::between_neighbours;

    #[test]
    fn the_path_of_a_source_file_is_not_the_name_of_a_function() {
        let path = Some("./build/../src/backend/access/transam/xlog.c");
        assert_eq!(between_neighbours(path, Some("XLogFlush")), "in xlog.c, no name");
        assert_eq!(between_neighbours(path, path), "in xlog.c, no name");
        assert_eq!(between_neighbours(Some("XLogFlush"), path), "between XLogFlush and xlog.c");
        let plain = between_neighbours(Some("operator/(int)"), None);
        assert_eq!(plain, "between operator/(int) and ?");
    }
}
