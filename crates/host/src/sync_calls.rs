//! Counts the sync system calls of a process, and all system calls of this one, from outside.
//!
//! By perf events on the tracepoint that every system call passes, filtered by call number; threads and
//! children that the process starts later are counted too. Each thread of this process has events of its
//! own, which cost it some 170 ns a system call (measured: 150 ns without, 321 ns with them). Another
//! process is a server, whose workers such events would slow at each switch: its syncs are told by events of
//! the processors (`per_cpu_sync_counter.rs`) at tracepoints of sync calls alone (`sync_points.rs`), and its
//! other calls are not counted. Only who may not look at processors has events at its threads.
//!
//! What it does not see: syncs asked for through `io_uring`, and writes that are syncs themselves
//! (`O_SYNC`, `O_DSYNC`, `RWF_DSYNC`): the tracepoint shows neither the flags of the file nor the ring.

use crate::files::read_line;
use crate::per_cpu_sync_counter::ForeignSyncs;
use crate::perf_event::{PerfEvent, task_is_gone};
use crate::proc::{process_tree, threads};
use crate::sync_points::{OF_ALL, sync_points};
use crate::tracepoint;
use std::fmt::Write;
use std::io;
use std::path::Path;

/// Which process is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// This one: its threads of now, and what they start.
    Ours,
    /// Another one: its threads and descendants of now, and what they start.
    Other(u32),
}

/// Counts since the counter was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncCounts {
    /// `fsync`, `fdatasync`, `msync` and `syncfs`.
    pub syncs: u64,
    /// System calls of every kind, those above included; none where only syncs are counted.
    pub system_calls: Option<u64>,
}

/// A running counter.
#[derive(Debug)]
pub struct SyncCounter {
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// By events of each thread.
    Threads { syncs: Vec<PerfEvent>, system_calls: Vec<PerfEvent> },
    /// By events of each processor.
    Processors(ForeignSyncs),
}

/// What a count of [`SyncCounts::syncs`] includes and does not, for the record.
pub const SYNCS_SOURCE: &str = "fsync, fdatasync, msync and syncfs calls counted by perf event; \
    syncs through io_uring and synchronous writes are not included";

/// What a count of [`SyncCounts::system_calls`] includes, for the record.
pub const SYSTEM_CALLS_SOURCE: &str = "system calls of the store's process counted by perf event";

/// Why system calls of another process are not counted, for the record.
pub const SYSTEM_CALLS_REFUSAL: &str = "of another process only syncs are counted, since events at its \
    threads would slow each of their switches; --meter counts all its calls";

const GONE: &str = "system calls cannot be counted: the process has ended";

impl SyncCounter {
    /// Starts counting; the error is a sentence that says what opens the way.
    pub fn open(watched: Process) -> Result<SyncCounter, String> {
        if let Process::Other(pid) = watched {
            match ForeignSyncs::open(&sync_points()?, pid) {
                Ok(foreign) => {
                    let way = Way::Processors(foreign);
                    return Ok(SyncCounter { way });
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) if task_is_gone(&error) => return Err(GONE.to_owned()),
                Err(error) => return Err(refusal(&error)),
            }
        }
        let syncs = sync_filter()?;
        let tracepoint = tracepoint::number(OF_ALL)?;
        let tasks = tasks(watched)?;
        let count = |filter: Option<&str>| {
            count_of_each(&tasks, |task| PerfEvent::open(tracepoint, task, filter))
        };
        let way = Way::Threads { syncs: count(Some(&syncs))?, system_calls: count(None)? };
        Ok(SyncCounter { way })
    }

    /// The counts so far; none if the kernel does not answer, or has dropped some.
    pub fn read(&self) -> Option<SyncCounts> {
        let sum = |events: &[PerfEvent]| -> Option<u64> {
            events.iter().map(|event| event.read().ok()).sum()
        };
        Some(match &self.way {
            Way::Threads { syncs, system_calls } => {
                SyncCounts { syncs: sum(syncs)?, system_calls: Some(sum(system_calls)?) }
            }
            Way::Processors(foreign) => SyncCounts { syncs: foreign.read()?, system_calls: None },
        })
    }
}

/// A counter of each task, but for those that have ended since they were listed: a server's workers
/// come and go. The error is a sentence.
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

/// The filter of the tracepoint that lets through the calls that are syncs; the error is a sentence.
pub fn sync_filter() -> Result<String, String> {
    Ok(any_of(&sync_call_numbers()?))
}

/// The numbers of the calls that are syncs (fsync, fdatasync, msync, syncfs), which never change on an
/// architecture; the error is a sentence.
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
        write!(filter, "{or}id == {number}").expect("a string takes what is written to it");
    }
    filter
}

fn tasks(watched: Process) -> Result<Vec<i32>, String> {
    let processes = match watched {
        Process::Ours => vec![std::process::id()],
        Process::Other(pid) => process_tree(pid, Path::new("/")),
    };
    let threads = processes.iter().flat_map(|pid| threads(*pid));
    let tasks: Vec<i32> = threads.collect();
    if tasks.is_empty() {
        return Err(format!("no threads of {watched:?} are to be seen"));
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
    fn a_task_that_has_ended_is_no_reason_not_to_count_the_others() {
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
