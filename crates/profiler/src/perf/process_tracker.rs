//! The processes that are looked at: which they are, what they have mapped, what their threads are
//! called.
//!
//! A process belongs to it from the start, or because one that does has forked it. A child has its
//! parent's memory until it maps something itself; then its mappings are read anew when it is next
//! sampled, also if its mapping is told before its fork: each processor tells for itself. Whoever is not
//! told of new mappings (nobody is before the window begins, and BPF's programs never are) reads them anew
//! when the window begins, and when a stack leads out of what is known: a virtual machine for Java maps more
//! memory as it compiles more. What has ended is kept, since its samples are named later.

use super::unwinder::Tables;
use crate::sampler_threads::is_sampler_thread;
use crate::subject::Subject;
use crate::symbols::{AddressSpace, Symbols, ThreadNames};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use syncline_host::{Process, process_tree};
use syncline_instrument::{Nanos, clock};

/// Stray addresses are common where programs keep no frame pointers: no process is read anew for one more
/// often than that.
const STRAYS_APART: Nanos = clock::SECOND;

/// The followed processes.
#[derive(Debug)]
pub(crate) struct ProcessTracker {
    process: Process,
    /// Those that belong.
    family: HashSet<u32>,
    memories: HashMap<u32, Memory>,
    /// Those that have mapped something and are nobody's child so far, until they end.
    early: HashSet<u32>,
    pub symbols: Symbols,
    pub threads: ThreadNames,
}

/// What a process has mapped.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub space: AddressSpace,
    pub tables: Tables,
    /// It has mapped something since it was read.
    stale: bool,
    read: Nanos,
}

impl ProcessTracker {
    /// Finds those that are there.
    pub(crate) fn new(subject: &Subject) -> ProcessTracker {
        let mut followed = ProcessTracker {
            process: subject.process,
            family: HashSet::from([subject.pid()]),
            memories: HashMap::new(),
            early: HashSet::new(),
            symbols: subject.symbols.clone(),
            threads: ThreadNames::default(),
        };
        followed.refresh_mappings();
        followed
    }

    /// Finds processes that were forked while nothing was recorded, and reads anew what all have mapped,
    /// so that it need not be done while they work.
    pub(crate) fn refresh_mappings(&mut self) {
        if let Process::Other(pid) = self.process {
            self.family.extend(process_tree(pid, Path::new("/")));
        }
        let mut family: Vec<u32> = self.family.iter().copied().collect();
        family.sort_unstable();
        for pid in family {
            self.mapped(pid);
            self.memory(pid);
        }
    }

    /// True if a sample of this thread counts: one of theirs that does not itself look.
    pub(crate) fn includes(&self, pid: u32, tid: u32) -> bool {
        self.family.contains(&pid) && !is_sampler_thread(tid)
    }

    /// A process or a thread was started.
    pub(crate) fn forked(&mut self, pid: u32, parent: u32) {
        let is_ours = self.process == Process::Ours;
        if pid == parent || is_ours || !self.family.contains(&parent) {
            return;
        }
        self.family.insert(pid);
        let has_mapped = self.early.remove(&pid);
        if let Some(memory) = self.memories.get(&parent) {
            let mut memory = memory.clone();
            memory.space = memory.space.forked(pid);
            memory.stale |= has_mapped;
            self.memories.insert(pid, memory);
        }
    }

    /// A process has mapped code.
    pub(crate) fn mapped(&mut self, pid: u32) {
        if let Some(memory) = self.memories.get_mut(&pid) {
            memory.stale = true;
        }
        if !self.family.contains(&pid) {
            self.early.insert(pid);
        }
        self.threads.changed(pid);
    }

    /// A stack of a process led to where it has no code, as far as is known.
    pub(crate) fn strayed(&mut self, pid: u32) {
        if let Some(memory) = self.memories.get_mut(&pid) {
            memory.stale |= clock::now().saturating_sub(memory.read) > STRAYS_APART;
        }
    }

    /// A process has ended: another may get its number.
    pub(crate) fn ended(&mut self, pid: u32) {
        self.early.remove(&pid);
        if pid != self.pid() {
            self.family.remove(&pid);
        }
    }

    /// What a process has mapped; none if it ended before it was ever looked at.
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

    /// A thread was sampled: its name is taken while it lives.
    pub(crate) fn met(&mut self, pid: u32, tid: u32) {
        self.threads.met(pid, tid);
    }

    /// The tables of a process with the same mappings, as forked children have them, or new ones.
    fn shared_tables(&mut self, space: &AddressSpace) -> Tables {
        let mut memories = self.memories.values();
        if let Some(memory) = memories.find(|memory| memory.space.is_same(space)) {
            return memory.tables.clone();
        }
        Tables::of(space, &self.symbols)
    }

    fn pid(&self) -> u32 {
        match self.process {
            Process::Ours => std::process::id(),
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
    fn a_mapping_that_is_told_before_its_fork_is_known() {
        let (parent, child) = (Sleeper::start(), Sleeper::start());
        let (parent, pid) = (parent.0.id(), child.0.id());
        let mut followed = ProcessTracker::new(&Subject::of(Process::Other(parent)));
        let knows = |followed: &mut ProcessTracker| {
            let now = AddressSpace::of(pid).unwrap();
            followed.memory(pid).unwrap().space.is_same(&now)
        };
        followed.forked(pid, parent);
        assert!(!knows(&mut followed), "its parent's, until it maps");
        followed.ended(pid);
        followed.mapped(pid);
        followed.forked(pid, parent);
        assert!(knows(&mut followed));
        // Another that gets the number has its parent's again.
        followed.ended(pid);
        followed.mapped(pid);
        followed.ended(pid);
        followed.forked(pid, parent);
        assert!(!knows(&mut followed));
    }

    #[test]
    fn what_was_mapped_before_the_window_began_is_known_in_it() {
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
        assert!(known, "nobody was told of it, and it was read a moment ago");
        followed.refresh_mappings();
        let now = AddressSpace::of(pid).unwrap();
        let knows = followed.memory(pid).unwrap().space.is_same(&now);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(knows);
    }
}
