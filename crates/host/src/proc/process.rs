//! The processor time and page faults of a process, optionally with its children.
//!
//! Fields of `/proc/PID/stat` after the name in parentheses, from 0: 1 parent, 7 minor faults, 8 those
//! of waited-for children, 9 major faults, 10 those of children, 11 user ticks, 12 system ticks, 13 and
//! 14 those of children. A child that ends adds its figures to its parent's, so the sum over a tree never
//! falls unless the kernel reaps a child without adding them.

use crate::files::read_text;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syncline_instrument::{Nanos, clock};

/// The resources that a process, or a tree of processes, has used since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Processor time, user and kernel, in nanoseconds; counted in ticks of usually 10 ms for other
    /// processes.
    pub cpu_ns: Nanos,
    /// Page faults, minor and major.
    pub page_faults: u64,
}

struct Stat {
    parent: u32,
    used: ProcessUsage,
}

impl ProcessUsage {
    /// This process, without its children: exact processor time.
    pub fn own() -> Option<ProcessUsage> {
        let text = read_text(Path::new("/proc/self/stat"))?;
        let page_faults = Stat::parse(&text, 1, false)?.used.page_faults;
        Some(ProcessUsage { cpu_ns: clock::process_cpu(), page_faults })
    }

    /// A process and all its descendants; none if it does not exist. `root` is `/` except in tests.
    pub fn tree(pid: u32, root: &Path) -> Option<ProcessUsage> {
        let all = read_all(root)?;
        let mut sum = all.get(&pid)?.used;
        for descendant in descendants(pid, &all) {
            let used = all[&descendant].used;
            sum.cpu_ns += used.cpu_ns;
            sum.page_faults += used.page_faults;
        }
        Some(sum)
    }
}

/// The processes that now descend from `pid`, itself first; empty if it does not exist.
pub fn process_tree(pid: u32, root: &Path) -> Vec<u32> {
    let Some(all) = read_all(root).filter(|all| all.contains_key(&pid)) else {
        return Vec::new();
    };
    let mut tree = vec![pid];
    tree.extend(descendants(pid, &all));
    tree
}

/// The threads of a process.
pub fn threads(pid: u32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).collect()
}

impl Stat {
    fn parse(text: &str, ticks_per_s: u64, children: bool) -> Option<Stat> {
        // The name may contain anything, including parentheses: the fields begin after the last one.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let with = |own: usize, of_children: usize| {
            let more = if children { number(of_children)? } else { 0 };
            Some(number(own)? + more)
        };
        let ticks = with(11, 13)? + with(12, 14)?;
        Some(Stat {
            parent: fields.get(1)?.parse().ok()?,
            used: ProcessUsage {
                cpu_ns: ticks * clock::SECOND.checked_div(ticks_per_s)?,
                page_faults: with(7, 8)? + with(9, 10)?,
            },
        })
    }
}

fn read_all(root: &Path) -> Option<BTreeMap<u32, Stat>> {
    let ticks_per_s = rustix::param::clock_ticks_per_second();
    let entries = fs::read_dir(root.join("proc")).ok()?;
    let stats = entries.flatten().filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let text = read_text(&entry.path().join("stat"))?;
        Some((pid, Stat::parse(&text, ticks_per_s, true)?))
    });
    Some(stats.collect())
}

fn descendants(pid: u32, all: &BTreeMap<u32, Stat>) -> Vec<u32> {
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|(_, stat)| stat.parent == parent);
        let children: Vec<u32> = children.map(|(child, _)| *child).collect();
        found.extend(&children);
        parents.extend(children);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{ProcessUsage, process_tree};
    use std::fs;
    use std::path::Path;

    fn put(root: &Path, pid: u32, parent: u32, ticks: u64, faults: u64) {
        let folder = root.join(format!("proc/{pid}"));
        fs::create_dir_all(&folder).unwrap();
        let stat = format!(
            "{pid} (a) name) S {parent} 1 1 0 -1 0 {faults} 1 2 0 {ticks} 1 1 0 20 0 1 0 5\n"
        );
        fs::write(folder.join("stat"), stat).unwrap();
    }

    #[test]
    fn a_tree_is_summed_without_unrelated_processes() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), 10, 1, 100, 1_000);
        put(root.path(), 11, 10, 10, 100);
        put(root.path(), 12, 11, 1, 10);
        put(root.path(), 20, 1, 5_000, 5_000);
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let sum = ProcessUsage::tree(10, root.path()).unwrap();
        assert_eq!(sum.cpu_ns, (111 + 3 * 2) * tick_ns);
        assert_eq!(sum.page_faults, 1_110 + 3 * 3);
        assert_eq!(process_tree(10, root.path()), [10, 11, 12]);
        assert_eq!(ProcessUsage::tree(99, root.path()), None);
    }

    #[test]
    fn this_process_has_used_something() {
        let used = ProcessUsage::own().unwrap();
        assert!(used.cpu_ns > 0 && used.page_faults > 0);
    }
}
