//! Enters the threads of the existing process tree into the programs' map. From then on, forks keep it
//! current.

use super::map_types::{RawSlot, ThreadState, sits_in, slot_of};
use super::programs::{Programs, unreadable};
use std::collections::BTreeSet;
use std::path::Path;
use syncline_host::{Process, process_tree, threads};

/// The maximum number of times that the tree is read until it no longer changes: processes forked after the
/// programs were attached enter themselves.
const ROUNDS: usize = 8;

/// Enters every thread that is not yet known. Call this after the programs are attached.
pub(super) fn enter(programs: &mut Programs, watched: Process) -> Result<(), String> {
    let (mut slots, mut there) = (BTreeSet::new(), 0);
    for _ in 0..ROUNDS {
        let mut entered = 0;
        there = 0;
        for process in processes(watched) {
            for thread in threads(process) {
                let thread = u32::try_from(thread).map_err(|error| error.to_string())?;
                there += 1;
                if is_known(programs, thread)? {
                    continue;
                }
                let moves = slots.insert(slot_of(thread));
                programs.crowd(slot_of(thread))?;
                let fresh = ThreadState::fresh(thread, process, moves);
                let inserted = programs.threads()?.insert(thread, fresh, 0);
                inserted.map_err(|error| unreadable("threads", &error))?;
                entered += 1;
            }
        }
        if entered == 0 {
            break;
        }
    }
    if there == 0 {
        return Err(format!("{watched:?} has no threads that can be seen: has the process ended?"));
    }
    // Threads that are running now were switched in before they were known.
    programs.forget_processors()
}

/// Removes a thread of this process: the collector's own.
pub(super) fn leave_out(programs: &mut Programs, thread: u32) -> Result<(), String> {
    if programs.threads()?.get(&thread, 0).is_ok() {
        let removed = programs.threads()?.remove(&thread);
        // It may have moved to its slot in between.
        if let (Err(error), false) = (removed, has_slot(programs, thread)?) {
            return Err(unreadable("threads", &error));
        }
    }
    if has_slot(programs, thread)? {
        let free: RawSlot = [0; size_of::<RawSlot>() / 8];
        let freed = programs.slots()?.set(slot_of(thread), free, 0);
        freed.map_err(|error| unreadable("slots", &error))?;
    }
    programs.forget_processors()
}

/// True for a thread that the programs know. A thread moves from the map to its slot, so check the map first.
fn is_known(programs: &mut Programs, thread: u32) -> Result<bool, String> {
    Ok(programs.threads()?.get(&thread, 0).is_ok() || has_slot(programs, thread)?)
}

fn has_slot(programs: &mut Programs, thread: u32) -> Result<bool, String> {
    let slot = programs.slots()?.get(&slot_of(thread), 0);
    let slot = slot.map_err(|error| unreadable("slots", &error))?;
    Ok(sits_in(&slot) == Some(thread))
}

/// The processes of the tree, its root first.
fn processes(watched: Process) -> Vec<u32> {
    match watched {
        Process::Own => vec![std::process::id()],
        Process::Other(pid) => process_tree(pid, Path::new("/")),
    }
}

/// True if a thread exists and waits: if no event of it was seen, it has not run during the sampled time.
pub(super) fn sleeps(process: u32, thread: u32) -> bool {
    let path = format!("/proc/{process}/task/{thread}/stat");
    let Ok(line) = std::fs::read_to_string(path) else {
        return false;
    };
    // The state follows the name, which may contain anything, including parentheses.
    let state = line.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'R' | 'Z' | 'X'))
}
