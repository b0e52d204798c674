//! Tracks the observed processes: their numbers, their mappings, and the names of their threads.
//!
//! A process is tracked from the start, or because a tracked process forked it. A child has its parent's
//! memory until it maps something itself; then its mappings are read again at its next sample, even if its
//! mapping is reported before its fork, since each processor reports independently. A caller that receives no
//! new mappings (before the window begins none are reported, and BPF programs never report them) reads them
//! again when the window begins, and when a stack leads outside known code: a Java virtual machine maps more
//! memory as it compiles. Processes that have ended are kept, since their samples are named later.

use super::unwinder::Tables;
use crate::sampler_threads::is_sampler_thread;
use crate::subject::Subject;
use crate::symbols::{AddressSpace, Symbols, ThreadNames};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use syncline_host::{Process, process_tree};
use syncline_instrument::{Nanos, clock};

/// Unknown addresses are common in programs without frame pointers, so they cause a process to be read again
/// at most once in this time.
const STRAYS_APART: Nanos = clock::SECOND;

/// The tracked processes.
#[derive(Debug)]
pub(crate) struct ProcessTracker {
    process: Process,
    /// The numbers of the tracked processes.
    tracked: HashSet<u32>,
    memories: HashMap<u32, Memory>,
    /// Processes that have mapped something and have no known parent so far, until they end.
    early: HashSet<u32>,
    pub symbols: Symbols,
    pub threads: ThreadNames,
}

/// The mapped memory of a process.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub space: AddressSpace,
    pub tables: Tables,
    /// It has mapped something since it was last read.
    stale: bool,
    read: Nanos,
}

impl ProcessTracker {
    /// Finds the existing processes.
    pub(crate) fn new(subject: &Subject) -> ProcessTracker {
        let mut followed = ProcessTracker {
            process: subject.process,
            tracked: HashSet::from([subject.pid()]),
            memories: HashMap::new(),
            early: HashSet::new(),
            symbols: subject.symbols.clone(),
            threads: ThreadNames::default(),
        };
        followed.refresh_mappings();
        followed
    }

    /// Finds processes that were forked without a record, and reads all mappings again, so that this need not
    /// happen during the window.
    pub(crate) fn refresh_mappings(&mut self) {
        if let Process::Other(pid) = self.process {
            self.tracked.extend(process_tree(pid, Path::new("/")));
        }
        let mut tracked: Vec<u32> = self.tracked.iter().copied().collect();
        tracked.sort_unstable();
        for pid in tracked {
            self.mapped(pid);
            self.memory(pid);
        }
    }

    /// True if a sample of this thread counts: a thread of a tracked process, but not of the profiler.
    pub(crate) fn includes(&self, pid: u32, tid: u32) -> bool {
        self.tracked.contains(&pid) && !is_sampler_thread(tid)
    }

    /// Reports that a process or thread was started.
    pub(crate) fn forked(&mut self, pid: u32, parent: u32) {
        let is_own = self.process == Process::Own;
        if pid == parent || is_own || !self.tracked.contains(&parent) {
            return;
        }
        self.tracked.insert(pid);
        let has_mapped = self.early.remove(&pid);
        if let Some(memory) = self.memories.get(&parent) {
            let mut memory = memory.clone();
            memory.space = memory.space.forked(pid);
            memory.stale |= has_mapped;
            self.memories.insert(pid, memory);
        }
    }

    /// Reports that a process has mapped code.
    pub(crate) fn mapped(&mut self, pid: u32) {
        if let Some(memory) = self.memories.get_mut(&pid) {
            memory.stale = true;
        }
        if !self.tracked.contains(&pid) {
            self.early.insert(pid);
        }
        self.threads.changed(pid);
    }

    /// Reports that a stack of a process led outside its known code.
    pub(crate) fn strayed(&mut self, pid: u32) {
        if let Some(memory) = self.memories.get_mut(&pid) {
            memory.stale |= clock::now().saturating_sub(memory.read) > STRAYS_APART;
        }
    }

    /// Reports that a process has ended; its number may be reused.
    pub(crate) fn ended(&mut self, pid: u32) {
        self.early.remove(&pid);
        if pid != self.pid() {
            self.tracked.remove(&pid);
        }
    }

    /// The mapped memory of a process; none if it ended before it was first read.
    pub(crate) fn memory(&mut self, pid: u32) -> Option<&Memory> {
        let known = self.memories.get(&pid);
        if known.is_none_or(|memory| memory.stale)
            && let Ok(space) = AddressSpace::of(pid)
        {
            let same = |memory: &&Memory| memory.space.is_same(&space);
            let tables = match known.filter(same) {
                Some(memory) => memory.tables.clone(),
                None => self.shared_tables(&space),
            };
            let memory = Memory { space, tables, stale: false, read: clock::now() };
            self.memories.insert(pid, memory);
        }
        self.memories.get(&pid)
    }

    /// Reports that a thread was sampled: its name is read while it exists.
    pub(crate) fn note_thread(&mut self, pid: u32, tid: u32) {
        self.threads.note_thread(pid, tid);
    }

    /// The unwind tables of a process with the same mappings, as forked children have them, or new ones.
    fn shared_tables(&mut self, space: &AddressSpace) -> Tables {
        let mut memories = self.memories.values();
        if let Some(memory) = memories.find(|memory| memory.space.is_same(space)) {
            return memory.tables.clone();
        }
        Tables::of(space, &self.symbols)
    }

    fn pid(&self) -> u32 {
        match self.process {
            Process::Own => std::process::id(),
            Process::Other(pid) => pid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ProcessTracker;
    use crate::subject::Subject;
    use crate::symbols::AddressSpace;
    use std::io::Write;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;
    use syncline_host::Process;

    /// A process that sleeps, ended when dropped.
    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Sleeper {
            Sleeper(Command::new("sleep").arg("60").spawn().unwrap())
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    #[test]
    fn a_mapping_reported_before_its_fork_is_known() {
        let (parent, child) = (Sleeper::start(), Sleeper::start());
        let (parent, pid) = (parent.0.id(), child.0.id());
        let mut followed = ProcessTracker::new(&Subject::of(Process::Other(parent)));
        let knows = |followed: &mut ProcessTracker| {
            let now = AddressSpace::of(pid).unwrap();
            followed.memory(pid).unwrap().space.is_same(&now)
        };
        followed.forked(pid, parent);
        assert!(!knows(&mut followed), "it has its parent's memory until it maps something");
        followed.ended(pid);
        followed.mapped(pid);
        followed.forked(pid, parent);
        assert!(knows(&mut followed));
        // A new process with the same number has its parent's memory again.
        followed.ended(pid);
        followed.mapped(pid);
        followed.ended(pid);
        followed.forked(pid, parent);
        assert!(!knows(&mut followed));
    }

    #[test]
    fn mappings_from_before_the_window_are_known_in_it() {
        let mut child = Command::new("sh")
            .args(["-c", "read go; exec sleep 60"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        let mut followed = ProcessTracker::new(&Subject::of(Process::Other(pid)));
        let was = followed.memory(pid).unwrap().space.clone();
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let name = || std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        while name() != "sleep\n" {
            std::thread::sleep(Duration::from_millis(1));
        }
        followed.strayed(pid);
        let known = followed.memory(pid).unwrap().space.is_same(&was);
        assert!(known, "the mapping was read without a report");
        followed.refresh_mappings();
        let now = AddressSpace::of(pid).unwrap();
        let knows = followed.memory(pid).unwrap().space.is_same(&now);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(knows);
    }
}
