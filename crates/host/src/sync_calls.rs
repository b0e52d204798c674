//! Counts the sync system calls of a process, and all system calls of this process, from outside.
//!
//! Perf events on the tracepoint that every system call passes, filtered by call number, also count threads
//! and children that the process starts later. Each thread of this process has its own events, which cost it
//! about 170 ns per system call (measured: 150 ns without, 321 ns with them). Another process is a server,
//! and such events would slow its workers at each switch: its syncs are counted by per-processor events
//! (`per_cpu_sync_counter.rs`) on the tracepoints of sync calls alone (`sync_points.rs`), and its other calls
//! are not counted. Only if the user may not open per-processor events do its threads have their own.
//!
//! Not counted: syncs submitted through `io_uring`, and writes that are themselves syncs (`O_SYNC`,
//! `O_DSYNC`, `RWF_DSYNC`): the tracepoint shows neither the file's flags nor the ring.

use crate::files::read_line;
use crate::per_cpu_sync_counter::PerCpuSyncCounter;
use crate::perf_event::{PerfEvent, task_is_gone};
use crate::proc::{process_tree, threads};
use crate::sync_points::{ALL_CALLS, sync_points};
use crate::tracepoint;
use std::fmt::Write;
use std::io;
use std::path::Path;

/// Which process is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// This process: its current threads, and those they start.
    Own,
    /// Another process: its current threads and descendants, and those they start.
    Other(u32),
}

/// Counts since the counter was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncCounts {
    /// `fsync`, `fdatasync`, `msync` and `syncfs`.
    pub syncs: u64,
    /// System calls of every kind, including syncs; none if only syncs are counted.
    pub system_calls: Option<u64>,
}

/// A running counter.
#[derive(Debug)]
pub struct SyncCounter {
    counters: Counters,
}

#[derive(Debug)]
enum Counters {
    /// Events of each thread.
    Threads { syncs: Vec<PerfEvent>, system_calls: Vec<PerfEvent> },
    /// Events of each processor.
    Processors(PerCpuSyncCounter),
}

/// What [`SyncCounts::syncs`] includes and excludes, for the record.
pub const SYNCS_SOURCE: &str = "fsync, fdatasync, msync and syncfs calls counted by perf event; \
    syncs through io_uring and synchronous writes are not included";

/// What [`SyncCounts::system_calls`] includes, for the record.
pub const SYSTEM_CALLS_SOURCE: &str = "system calls of the store's process counted by perf event";

/// Why the system calls of another process are not counted, for the record.
pub const SYSTEM_CALLS_REFUSAL: &str = "of another process only syncs are counted, since events at its \
    threads would slow each of their switches; --meter counts all its calls";

const GONE: &str = "system calls cannot be counted: the process has ended";

impl SyncCounter {
    /// Starts counting. The error is a sentence that says how to permit it.
    pub fn open(watched: Process) -> Result<SyncCounter, String> {
        if let Process::Other(pid) = watched {
            match PerCpuSyncCounter::open(&sync_points()?, pid) {
                Ok(counter) => {
                    let counters = Counters::Processors(counter);
                    return Ok(SyncCounter { counters });
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) if task_is_gone(&error) => return Err(GONE.to_owned()),
                Err(error) => return Err(refusal(&error)),
            }
        }
        let syncs = sync_filter()?;
        let tracepoint = tracepoint::number(ALL_CALLS)?;
        let tasks = tasks(watched)?;
        let count = |filter: Option<&str>| {
            count_of_each(&tasks, |task| PerfEvent::open(tracepoint, task, filter))
        };
        let counters =
            Counters::Threads { syncs: count(Some(&syncs))?, system_calls: count(None)? };
        Ok(SyncCounter { counters })
    }

    /// The counts so far; none if a counter cannot be read or the kernel has dropped records.
    pub fn read(&self) -> Option<SyncCounts> {
        let sum = |events: &[PerfEvent]| -> Option<u64> {
            events.iter().map(|event| event.read().ok()).sum()
        };
        Some(match &self.counters {
            Counters::Threads { syncs, system_calls } => {
                SyncCounts { syncs: sum(syncs)?, system_calls: Some(sum(system_calls)?) }
            }
            Counters::Processors(counter) => {
                SyncCounts { syncs: counter.read()?, system_calls: None }
            }
        })
    }
}

/// A counter of each task, except those that ended after they were listed, as a server's workers may. The
/// error is a sentence.
fn count_of_each<C>(tasks: &[i32], open: impl Fn(i32) -> io::Result<C>) -> Result<Vec<C>, String> {
    let mut counters = Vec::new();
    for task in tasks {
        match open(*task) {
            Ok(counter) => counters.push(counter),
            Err(error) if task_is_gone(&error) => {}
            Err(error) => return Err(refusal(&error)),
        }
    }
    if counters.is_empty() {
        return Err(GONE.to_owned());
    }
    Ok(counters)
}

/// The tracepoint filter that passes only sync calls; the error is a sentence.
pub fn sync_filter() -> Result<String, String> {
    Ok(any_of(&sync_call_numbers()?))
}

/// The numbers of the sync calls (fsync, fdatasync, msync, syncfs) on this architecture, where they never
/// change; the error is a sentence.
pub fn sync_call_numbers() -> Result<[u32; 4], String> {
    if cfg!(target_arch = "x86_64") {
        Ok([74, 75, 26, 306])
    } else if cfg!(any(
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64"
    )) {
        Ok([82, 83, 227, 267])
    } else {
        let architecture = std::env::consts::ARCH;
        Err(format!("the system call numbers of {architecture} are not known here"))
    }
}

fn any_of(numbers: &[u32]) -> String {
    let mut filter = String::new();
    for number in numbers {
        let or = if filter.is_empty() { "" } else { " || " };
        write!(filter, "{or}id == {number}").expect("writing to a string does not fail");
    }
    filter
}

fn tasks(watched: Process) -> Result<Vec<i32>, String> {
    let processes = match watched {
        Process::Own => vec![std::process::id()],
        Process::Other(pid) => process_tree(pid, Path::new("/")),
    };
    let threads = processes.iter().flat_map(|pid| threads(*pid));
    let tasks: Vec<i32> = threads.collect();
    if tasks.is_empty() {
        return Err(format!("{watched:?} has no visible threads: has the process ended?"));
    }
    Ok(tasks)
}

fn refusal(error: &io::Error) -> String {
    let paranoid = read_line(Path::new("/proc/sys/kernel/perf_event_paranoid"));
    let paranoid = paranoid
        .map_or_else(String::new, |value| format!(" (kernel.perf_event_paranoid is {value})"));
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "the kernel does not let this user count system calls{paranoid}: run as root, or as root: \
             sysctl kernel.perf_event_paranoid=-1"
        ),
        _ => format!("system calls cannot be counted: {error}{paranoid}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{any_of, count_of_each};
    use rustix::io::Errno;

    #[test]
    fn a_task_that_has_ended_does_not_stop_the_others_from_being_counted() {
        let all_but = |gone: i32| {
            move |task: i32| match task {
                task if task == gone => Err(Errno::SRCH.into()),
                task => Ok(task),
            }
        };
        assert_eq!(count_of_each(&[1, 2, 3], all_but(2)), Ok(vec![1, 3]));
        let none_left = count_of_each(&[2], all_but(2));
        assert!(none_left.unwrap_err().contains("has ended"));
        let refused = count_of_each(&[1, 2], |_| Err::<i32, _>(Errno::PERM.into()));
        assert!(refused.unwrap_err().contains("perf_event_paranoid"));
    }

    #[test]
    fn filters_name_each_number() {
        assert_eq!(any_of(&[74, 75]), "id == 74 || id == 75");
    }
}
