//! The processor time of a JVM's process and of its garbage collector threads, as counted by the kernel.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use syncline_host::read_text;
use syncline_instrument::{Nanos, clock};

/// The prefixes of the names of `HotSpot`'s collector threads, as long as the kernel keeps them: parallel,
/// G1, both generations of Z, Shenandoah. The serial collector has none: it works in the VM thread.
const COLLECTORS: [&str; 14] = [
    "GC Thread#",
    "ParGC Thread",
    "Gang worker",
    "G1 ",
    "Concurrent Mark",
    "ZDirector",
    "ZDriver",
    "ZWorker",
    "ZStat",
    "ZUn",
    "XDriver",
    "XWorker",
    "XDirector",
    "Shenandoah",
];

/// The processor time used up to a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuUsage {
    pub(super) user_ns: Nanos,
    pub(super) kernel_ns: Nanos,
    /// Name and time of each garbage collector thread.
    collectors: HashMap<u32, (String, Nanos)>,
}

impl CpuUsage {
    /// None if the process does not exist.
    pub(super) fn by(pid: u32) -> Option<CpuUsage> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let (user_ns, kernel_ns) = process(&read_text(&folder.join("stat"))?)?;
        let tasks = fs::read_dir(folder.join("task")).ok()?;
        let collector = |task: &Path| {
            let name = read_text(&task.join("comm"))?;
            let name = name.trim_end();
            let is_one = COLLECTORS.iter().any(|begins| name.starts_with(begins));
            let used = is_one.then(|| read_text(&task.join("schedstat")))??;
            let ns = used.split_whitespace().next()?.parse().ok()?;
            let tid = task.file_name()?.to_str()?.parse().ok()?;
            Some((tid, (name.to_owned(), ns)))
        };
        Some(CpuUsage {
            user_ns,
            kernel_ns,
            collectors: tasks.flatten().filter_map(|task| collector(&task.path())).collect(),
        })
    }

    pub(super) fn has_collectors(&self) -> bool {
        !self.collectors.is_empty()
    }

    /// User and kernel time since an earlier moment.
    pub(super) fn since(&self, earlier: &CpuUsage) -> (Nanos, Nanos) {
        (
            self.user_ns.saturating_sub(earlier.user_ns),
            self.kernel_ns.saturating_sub(earlier.kernel_ns),
        )
    }

    /// The time of each collector thread since an earlier moment, by name.
    pub(super) fn collecting_since(&self, earlier: &CpuUsage) -> Vec<(String, Nanos)> {
        let since = |(tid, (name, ns)): (&u32, &(String, Nanos))| {
            let before = earlier.collectors.get(tid).map_or(0, |(_, ns)| *ns);
            (name.clone(), ns.saturating_sub(before))
        };
        let mut used: Vec<_> = self.collectors.iter().map(since).collect();
        used.sort_unstable();
        used
    }
}

fn process(stat: &str) -> Option<(Nanos, Nanos)> {
    // The name may contain anything, including parentheses: the fields begin after the last one.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut ticks = rest.split_whitespace().skip(11);
    let tick_ns = clock::SECOND.checked_div(rustix::param::clock_ticks_per_second())?;
    let mut next_ns = || Some(ticks.next()?.parse::<u64>().ok()? * tick_ns);
    Some((next_ns()?, next_ns()?))
}

#[cfg(test)]
mod tests {
    use super::{CpuUsage, process};

    #[test]
    fn user_and_kernel_time_follow_the_name() {
        let stat = "7 (a) b) S 1 1 1 0 -1 0 1 2 3 4 250 50 7 8 20 0 5";
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        assert_eq!(process(stat), Some((250 * tick_ns, 50 * tick_ns)));
    }

    #[test]
    fn only_collector_threads_and_their_time_since_are_kept() {
        let used = |ns| CpuUsage {
            collectors: [(7, ("GC Thread#0".to_owned(), ns))].into(),
            ..CpuUsage::default()
        };
        let since = used(50).collecting_since(&used(20));
        assert_eq!(since, [("GC Thread#0".to_owned(), 30)]);
        assert!(!CpuUsage::by(std::process::id()).unwrap().has_collectors());
    }
}
