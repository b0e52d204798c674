//! Which threads are looked at: the process tree as it stands, entered into the programs' map. Forks
//! keep it current from then on.

use super::load::{Programs, unreadable};
use super::shape::ThreadState;
use crate::proc::ProcessUse;
use crate::sync_calls::{Watched, threads};
use std::path::Path;

/// How often the tree is read at most until it stands still: what forks after the programs were
/// attached enters itself.
const ROUNDS: usize = 8;

/// Enters every thread that is not yet known. To be called when the programs are attached.
pub(super) fn enter(programs: &mut Programs, watched: Watched) -> Result<(), String> {
    let mut known = programs.threads()?;
    for _ in 0..ROUNDS {
        let mut entered = 0;
        for process in processes(watched) {
            for thread in threads(process) {
                let thread = u32::try_from(thread).map_err(|error| error.to_string())?;
                if known.get(&thread, 0).is_ok() {
                    continue;
                }
                let fresh = ThreadState::fresh(process);
                let inserted = known.insert(thread, fresh, 0);
                inserted.map_err(|error| unreadable("threads", &error))?;
                entered += 1;
            }
        }
        if entered == 0 {
            break;
        }
    }
    if known.keys().next().is_none() {
        return Err(format!("no threads of {watched:?} are to be seen"));
    }
    // Those that run at this moment came before they were known.
    programs.forget_processors()
}

/// Takes a thread of ours out: the collector's own.
pub(super) fn leave_out(programs: &mut Programs, thread: u32) -> Result<(), String> {
    let mut known = programs.threads()?;
    if known.get(&thread, 0).is_err() {
        return Ok(());
    }
    let removed = known.remove(&thread);
    removed.map_err(|error| unreadable("threads", &error))?;
    programs.forget_processors()
}

/// The processes of the tree, its root first.
fn processes(watched: Watched) -> Vec<u32> {
    match watched {
        Watched::Ours => vec![std::process::id()],
        Watched::Other(pid) => ProcessUse::family(pid, Path::new("/")),
    }
}

/// True if a thread exists and waits: it has not run for as long as it was looked at, if nothing was
/// seen of it.
pub(super) fn sleeps(process: u32, thread: u32) -> bool {
    let path = format!("/proc/{process}/task/{thread}/stat");
    let Ok(line) = std::fs::read_to_string(path) else {
        return false;
    };
    // The state stands after the name, which may hold anything, brackets too.
    let state = line
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'R' | 'Z' | 'X'))
}
