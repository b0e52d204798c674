//! The kernel's counts for whole processes: totals without stacks, available to every user who may see the
//! process.
//!
//! They are used if no better collector works, and next to samples as an independent count. All are
//! differences between the begin and the end of the window, summed over the process and its descendants:
//!
//! - processor time, in ticks of usually 10 ms per process; a child that has ended and was waited for is
//!   included in its parent's;
//! - switches: for this process, the kernel's own sum, which includes ended threads; for another process, by
//!   thread, and since an ended thread takes its counts with it, the total is unknown if one has ended;
//! - calls of the read and write families (not send and recv), and bytes written to disks on the process's
//!   behalf.

use super::account::{all_missing, missing};
use super::collector::{Collector, OpenResult};
use super::profiler::ProfilerOptions;
use super::subject::Subject;
use std::collections::BTreeMap;
use std::path::Path;
use syncline_host::{Process, own_context_switches, process_tree, read_text, threads};
use syncline_instrument::clock;
use syncline_profile::{Account, Metric, ProfileBuilder, Total};

const COLLECTOR: &str = "totals by /proc";
const WHY: &str = "the kernel counts it for whole processes, not by stack";
const HIDDEN: &str = "the process has ended or this user may not see it; run as root or as the \
                      process's user";
const ENDED: &str = "threads of the store ended in the window and took their counts with them; BPF programs in the \
                     kernel, which require root, count them too";

/// Each metric, and the source of its count.
const METRICS: [(Metric, &str); 6] = [
    (Metric::CpuUser, "utime in /proc/PID/stat, in ticks"),
    (Metric::CpuKernel, "stime in /proc/PID/stat, in ticks"),
    (
        Metric::SystemCalls,
        "syscr and syscw in /proc/PID/io: calls of the read and write families only, not send and recv",
    ),
    (Metric::VoluntarySwitches, "the kernel's count of voluntary switches"),
    (Metric::InvoluntarySwitches, "the kernel's count of involuntary switches"),
    (
        Metric::WrittenBytes,
        "write_bytes in /proc/PID/io: what the process made dirty or wrote past the cache, whichever process \
         wrote it to the disk",
    ),
];

/// The counts at one moment; none where this user may not see them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// User and kernel ticks of the tree.
    ticks: Option<(u64, u64)>,
    /// Reads and writes, and bytes written.
    io: Option<(u64, u64)>,
    switches: Option<Switches>,
}

/// Voluntary and involuntary switches.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Switches {
    /// The sum over all threads that the process ever had.
    Whole((u64, u64)),
    /// The counts of each existing thread.
    Threads(BTreeMap<i32, (u64, u64)>),
}

#[derive(Debug)]
struct Totals {
    process: Process,
    first: Counts,
    last: Counts,
}

/// Opens the totals, of which any user may see some.
#[allow(clippy::unnecessary_wraps, reason = "a collector may be refused; this one never is")]
pub(crate) fn open(subject: &Subject, _: &ProfilerOptions) -> OpenResult {
    Ok(Box::new(Totals {
        process: subject.process,
        first: Counts::default(),
        last: Counts::default(),
    }))
}

impl Collector for Totals {
    fn start(&mut self) -> Result<(), String> {
        self.first = Counts::read(self.process);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), String> {
        self.last = Counts::read(self.process);
        Ok(())
    }

    fn hand_over(self: Box<Self>, profile: &mut ProfileBuilder) {
        for (metric, source) in METRICS {
            let amount = self.last.since(&self.first, metric);
            let ended = self.last.lost_threads(&self.first);
            let switches =
                matches!(metric, Metric::VoluntarySwitches | Metric::InvoluntarySwitches);
            let why_none = if ended && switches { ENDED } else { HIDDEN };
            profile.account(account(metric, source, amount, why_none));
        }
    }

    fn failed(&self, why: &str) -> Vec<Account> {
        all_missing(&METRICS.map(|(metric, _)| metric), COLLECTOR, why)
    }
}

fn account(metric: Metric, source: &str, amount: Option<u64>, why_none: &str) -> Account {
    let why = match amount {
        Some(_) => WHY.to_owned(),
        None => format!("{source}: {why_none}"),
    };
    Account {
        total: amount.map(|amount| Total { amount, source: source.to_owned() }),
        ..missing(metric, COLLECTOR, &why)
    }
}

impl Counts {
    fn read(process: Process) -> Counts {
        let (processes, with_children) = match process {
            Process::Own => (vec![std::process::id()], false),
            Process::Other(pid) => (process_tree(pid, Path::new("/")), true),
        };
        if processes.is_empty() {
            return Counts::default();
        }
        let ticks = processes.iter().map(|pid| ticks(*pid, with_children));
        let io = processes.iter().map(|pid| io(*pid));
        Counts {
            ticks: sum(ticks),
            io: sum(io),
            switches: match process {
                Process::Own => own_context_switches().map(Switches::Whole),
                Process::Other(_) => Some(Switches::of_threads(&processes)),
            },
        }
    }

    /// The growth of a metric, in its unit.
    fn since(&self, first: &Counts, metric: Metric) -> Option<u64> {
        let grown = |pair: fn(&Counts) -> Option<(u64, u64)>, second: bool| {
            let (now, then) = (pair(self)?, pair(first)?);
            let (now, then) = if second { (now.1, then.1) } else { (now.0, then.0) };
            Some(now.saturating_sub(then))
        };
        match metric {
            Metric::CpuUser => grown(|counts| counts.ticks, false).map(nanoseconds),
            Metric::CpuKernel => grown(|counts| counts.ticks, true).map(nanoseconds),
            Metric::SystemCalls => grown(|counts| counts.io, false),
            Metric::WrittenBytes => grown(|counts| counts.io, true),
            Metric::VoluntarySwitches => self.switches_since(first, |both| both.0),
            Metric::InvoluntarySwitches => self.switches_since(first, |both| both.1),
            _ => None,
        }
    }

    fn switches_since(&self, first: &Counts, of: fn(&(u64, u64)) -> u64) -> Option<u64> {
        let (now, then) = (self.switches.as_ref()?, first.switches.as_ref()?);
        now.since(then, of)
    }

    /// True if a thread that existed at first has ended since, with its counts.
    fn lost_threads(&self, first: &Counts) -> bool {
        match (&self.switches, &first.switches) {
            (Some(Switches::Threads(now)), Some(Switches::Threads(then))) => {
                then.keys().any(|tid| !now.contains_key(tid))
            }
            _ => false,
        }
    }
}

impl Switches {
    fn of_threads(processes: &[u32]) -> Switches {
        let threads = processes.iter().flat_map(|pid| threads(*pid));
        let counted = threads.filter_map(|tid| Some((tid, thread_switches(tid)?)));
        Switches::Threads(counted.collect())
    }

    /// The growth of all counts. A thread that started in between counts in full; none if one has ended.
    fn since(&self, first: &Switches, of: fn(&(u64, u64)) -> u64) -> Option<u64> {
        match (self, first) {
            (Switches::Whole(now), Switches::Whole(then)) => Some(of(now).saturating_sub(of(then))),
            (Switches::Threads(now), Switches::Threads(then)) => {
                let all_there = then.keys().all(|tid| now.contains_key(tid));
                let grown = now.iter().map(|(tid, both)| {
                    let before = then.get(tid).map_or(0, of);
                    of(both).saturating_sub(before)
                });
                all_there.then(|| grown.sum())
            }
            _ => None,
        }
    }
}

fn nanoseconds(ticks: u64) -> u64 {
    let ticks_per_s = rustix::param::clock_ticks_per_second().max(1);
    ticks * (clock::SECOND / ticks_per_s)
}

/// None if every pair is none. A process that ended between the listing and the reading has passed its counts
/// to its parent, if that waited for it.
fn sum(pairs: impl Iterator<Item = Option<(u64, u64)>>) -> Option<(u64, u64)> {
    let known = pairs.flatten();
    known.reduce(|sum, pair| (sum.0 + pair.0, sum.1 + pair.1))
}

/// User and kernel ticks: fields 11 and 12 after the name in parentheses; 13 and 14 are those of waited-for
/// children.
fn ticks(pid: u32, with_children: bool) -> Option<(u64, u64)> {
    let text = read_text(Path::new(&format!("/proc/{pid}/stat")))?;
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<u64> =
        rest.split_whitespace().skip(11).take(4).filter_map(|field| field.parse().ok()).collect();
    let [user, kernel, user_of_children, kernel_of_children] = fields.try_into().ok()?;
    if with_children {
        Some((user + user_of_children, kernel + kernel_of_children))
    } else {
        Some((user, kernel))
    }
}

fn io(pid: u32) -> Option<(u64, u64)> {
    let text = read_text(Path::new(&format!("/proc/{pid}/io")))?;
    let calls = value(&text, "syscr:")? + value(&text, "syscw:")?;
    Some((calls, value(&text, "write_bytes:")?))
}

/// The voluntary and involuntary switches so far of each thread of a process and its descendants.
pub(crate) fn switches(process: Process) -> BTreeMap<u32, (u64, u64)> {
    let processes = match process {
        Process::Own => vec![std::process::id()],
        Process::Other(pid) => process_tree(pid, Path::new("/")),
    };
    let threads = processes.iter().flat_map(|pid| threads(*pid));
    threads
        .filter_map(|thread| Some((u32::try_from(thread).ok()?, thread_switches(thread)?)))
        .collect()
}

fn thread_switches(tid: i32) -> Option<(u64, u64)> {
    // A thread is found by its number even though no listing shows it.
    let text = read_text(Path::new(&format!("/proc/{tid}/status")))?;
    let voluntary = value(&text, "voluntary_ctxt_switches:")?;
    Some((voluntary, value(&text, "nonvoluntary_ctxt_switches:")?))
}

fn value(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Counts, HIDDEN, METRICS, Switches, account, open};
    use crate::{ProfilerOptions, Subject};
    use std::fs::File;
    use std::io::Write;
    use std::time::Duration;
    use syncline_host::Process;
    use syncline_instrument::clock;
    use syncline_profile::{Metric, ProfileBuilder};

    #[test]
    fn work_of_this_process_is_in_its_totals() {
        let subject = Subject::of(Process::Own);
        let mut totals = open(&subject, &ProfilerOptions::default()).unwrap();
        totals.start().unwrap();
        let begun = clock::thread_cpu();
        let folder = tempfile::tempdir().unwrap();
        let mut file = File::create(folder.path().join("file")).unwrap();
        let mut written = 0;
        while clock::thread_cpu() < begun + 100_000_000 {
            file.write_all(&[7; 4096]).unwrap();
            written += 1;
        }
        std::thread::yield_now();
        totals.stop().unwrap();
        let mut profile = ProfileBuilder::default();
        totals.hand_over(&mut profile);
        let profile = profile.finish(1);
        let total = |metric| {
            let mut accounts = profile.accounts().iter();
            let account = accounts.find(|account| account.metric == metric).unwrap();
            account.total.as_ref().unwrap().amount
        };
        assert!(total(Metric::SystemCalls) >= written);
        assert!(total(Metric::WrittenBytes) >= written * 4096 / 2);
        let cpu = total(Metric::CpuUser) + total(Metric::CpuKernel);
        assert!(cpu >= 80_000_000, "{cpu} ns of at least 100 ms less a tick for each kind");
        assert_eq!(profile.accounts().len(), METRICS.len());
    }

    #[test]
    fn new_threads_count_in_full() {
        let counts = |threads: &[(i32, (u64, u64))]| Counts {
            switches: Some(Switches::Threads(threads.iter().copied().collect())),
            ..Counts::default()
        };
        let first = counts(&[(1, (10, 100))]);
        let last = counts(&[(1, (11, 120)), (3, (4, 3))]);
        assert!(!last.lost_threads(&first));
        assert_eq!(last.since(&first, Metric::VoluntarySwitches), Some(1 + 4));
        assert_eq!(last.since(&first, Metric::InvoluntarySwitches), Some(20 + 3));
        let more = counts(&[(1, (10, 100)), (2, (5, 5))]);
        assert!(last.lost_threads(&more), "thread 2 has ended with its counts");
        assert_eq!(last.since(&more, Metric::VoluntarySwitches), None);
    }

    #[test]
    fn the_sum_includes_switches_of_ended_threads() {
        const WAITS: u64 = 300;
        let subject = Subject::of(Process::Own);
        let mut totals = open(&subject, &ProfilerOptions::default()).unwrap();
        totals.start().unwrap();
        let waiter = std::thread::spawn(|| {
            for _ in 0..WAITS {
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        waiter.join().unwrap();
        totals.stop().unwrap();
        let mut profile = ProfileBuilder::default();
        totals.hand_over(&mut profile);
        let profile = profile.finish(1);
        let mut accounts = profile.accounts().iter();
        let voluntary = accounts.find(|one| one.metric == Metric::VoluntarySwitches);
        let amount = voluntary.unwrap().total.as_ref().unwrap().amount;
        assert!(amount >= WAITS, "{amount} of at least {WAITS}");
    }

    #[test]
    fn invisible_counts_are_not_zero() {
        let none = Counts::read(Process::Other(u32::MAX));
        for (metric, source) in METRICS {
            let amount = none.since(&none, metric);
            assert_eq!(amount, None);
            let account = account(metric, source, amount, HIDDEN);
            assert!(format!("{:?}", account.how).contains("run as root"));
        }
    }
}
