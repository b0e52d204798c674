//! The table of functions: where processor time and waits come from, function by function.

use crate::cost::{ThreadClass, View};
use crate::fold::Stacks;
use crate::map::Map;
use crate::metric::Metric;
use crate::profile::{Profile, Sample};
use crate::stack::{Frame, Thread};
use std::collections::BTreeMap;
use syncline_metering::Module;

/// Which frame of a stack a sample is counted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The innermost of all, though it be the kernel's.
    Innermost,
    /// The innermost that is neither the kernel's nor of the C library and its like.
    OutsideSystem,
}

/// A function and who called it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionRow {
    /// The function, as [`Frame::label`] says it; none where the stack has no such frame.
    pub function: Option<String>,
    /// Its file or class.
    pub object: String,
    /// The next function outwards.
    pub caller: Option<String>,
    /// To whom the stack is charged by the view of the innermost.
    pub module: Option<Module>,
    /// Processor time of user and kernel mode, in nanoseconds.
    pub cpu_ns: u64,
    /// By how many looks.
    pub cpu_looks: u64,
    /// Time off the processor, in nanoseconds.
    pub wait_ns: u64,
    /// How often a thread gave its processor up here.
    pub waits: u64,
}

/// The rows of all threads that are wanted: those with most time first, processor and waits together.
pub fn functions(
    profile: &Profile,
    map: &Map,
    depth: Depth,
    wanted: impl Fn(ThreadClass, &Thread) -> bool,
) -> Vec<FunctionRow> {
    let stacks = Stacks::new(profile, map, View::Innermost);
    let mut rows: BTreeMap<Key, FunctionRow> = BTreeMap::new();
    for sample in profile.samples().iter().filter(|it| counts(it.metric)) {
        let charged = stacks.charged(sample);
        if !wanted(charged.class, profile.thread(sample.thread)) {
            continue;
        }
        let key = key(profile, sample, depth, charged.module);
        let row = rows
            .entry(key)
            .or_insert_with_key(|key| empty(profile, key));
        match sample.metric {
            Metric::CpuUser | Metric::CpuKernel => {
                row.cpu_ns += sample.weight;
                row.cpu_looks += sample.count;
            }
            Metric::OffCpu => row.wait_ns += sample.weight,
            _ => row.waits += sample.weight,
        }
    }
    let mut rows: Vec<FunctionRow> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.cpu_ns.saturating_add(row.wait_ns), row.waits)));
    rows
}

/// The frames of function and caller by their position, and the module.
type Key = (Option<u32>, Option<u32>, Option<Module>);

fn counts(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::CpuUser | Metric::CpuKernel | Metric::OffCpu | Metric::VoluntarySwitches
    )
}

fn key(profile: &Profile, sample: &Sample, depth: Depth, module: Option<Module>) -> Key {
    let skipped = |position: &&u32| {
        let frame = &profile.frames[**position as usize];
        depth == Depth::OutsideSystem && frame.is_of_the_system()
    };
    let frames = &profile.stacks[sample.stack.0 as usize];
    let mut outwards = frames.iter().skip_while(skipped).copied();
    (outwards.next(), outwards.next(), module)
}

fn empty(profile: &Profile, (function, caller, module): &Key) -> FunctionRow {
    let frame = |position: &Option<u32>| position.map(|it| &profile.frames[it as usize]);
    FunctionRow {
        function: frame(function).map(Frame::label),
        object: frame(function).map_or_else(String::new, |frame| frame.object.clone()),
        caller: frame(caller).map(Frame::label),
        module: *module,
        cpu_ns: 0,
        cpu_looks: 0,
        wait_ns: 0,
        waits: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{Depth, functions};
    use crate::{Frame, Map, Metric, Name, ProfileBuilder, Space, Thread, ThreadClass};
    use syncline_metering::Module;

    const MAP: &str = r#"
        product = "Store"
        [[module]]
        name = "logging"
        match = [{ symbol = "log_*" }]
        [[thread]]
        class = "connection"
        name = "server"
    "#;

    fn frame(object: &str, function: &str) -> Frame {
        Frame {
            space: match object {
                "kernel" => Space::Kernel,
                _ => Space::Native,
            },
            object: object.to_owned(),
            name: Name::Function(function.to_owned()),
            offset: 0,
        }
    }

    #[test]
    fn waits_are_counted_to_the_function_that_called_the_system() {
        let mut builder = ProfileBuilder::default();
        let thread = |name: &str| Thread {
            name: name.to_owned(),
            title: None,
        };
        let (server, other) = (
            builder.thread(thread("server")),
            builder.thread(thread("x")),
        );
        let stack = builder.stack([
            frame("kernel", "futex"),
            frame("libc.so.6", "pthread_cond_wait"),
            frame("store", "log_flush"),
            frame("store", "commit"),
        ]);
        builder.add(Metric::CpuKernel, server, stack, 7, 1);
        builder.add(Metric::OffCpu, server, stack, 90, 2);
        builder.add(Metric::VoluntarySwitches, server, stack, 2, 2);
        builder.add(Metric::SystemCalls, server, stack, 5, 5);
        builder.add(Metric::CpuUser, other, stack, 1_000, 1);
        let profile = builder.finish(1);
        let map = Map::parse(MAP, "store").unwrap();
        let rows = |depth| {
            let rows = functions(&profile, &map, depth, |class, _| {
                class == ThreadClass::Connection
            });
            assert_eq!(rows.len(), 1);
            rows.into_iter().next().unwrap()
        };
        let row = rows(Depth::OutsideSystem);
        assert_eq!(row.function.as_deref(), Some("log_flush"));
        assert_eq!(row.caller.as_deref(), Some("commit"));
        assert_eq!(row.module, Some(Module::Logging));
        assert_eq!(
            (row.cpu_ns, row.cpu_looks, row.wait_ns, row.waits),
            (7, 1, 90, 2)
        );
        let row = rows(Depth::Innermost);
        assert_eq!(row.function.as_deref(), Some("futex"));
        assert_eq!(row.caller.as_deref(), Some("pthread_cond_wait"));
    }
}
