//! The names of threads and the titles of their processes.

use super::process_titles::title;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use syncline_host::read_line;
use syncline_profile::Thread;

/// Threads by process and number. A thread that has ended keeps its last name.
#[derive(Debug, Default)]
pub(crate) struct ThreadNames {
    known: HashMap<(u32, u32), Thread>,
    /// Processes that may have executed another program since their first thread was last named.
    changed: HashSet<u32>,
}

impl ThreadNames {
    /// A thread with its current name, or the last known one; without a name if it ended before it was first
    /// named.
    pub(crate) fn of(&mut self, pid: u32, tid: u32) -> Thread {
        let name = read_line(Path::new(&format!("/proc/{pid}/task/{tid}/comm")));
        let Some(name) = name else {
            return self.known.get(&(pid, tid)).cloned().unwrap_or_default();
        };
        let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let thread = Thread { name, title: title(&command_line) };
        let known = self.known.entry((pid, tid)).or_default();
        // A process that is ending loses its command line before its name.
        *known = Thread { title: thread.title.or(known.title.take()), name: thread.name };
        known.clone()
    }

    /// Reports that a thread was sampled: it is named while it exists, once for each program that it
    /// executes.
    pub(crate) fn note_thread(&mut self, pid: u32, tid: u32) {
        let has_changed = pid == tid && self.changed.remove(&pid);
        if has_changed || !self.known.contains_key(&(pid, tid)) {
            self.of(pid, tid);
        }
    }

    /// Reports that a process may have executed another program, after which its first thread is named.
    pub(crate) fn changed(&mut self, pid: u32) {
        self.changed.insert(pid);
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadNames;
    use std::io::Write;
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::Duration;
    use syncline_profile::Thread;

    #[test]
    fn a_thread_that_ended_keeps_its_name() {
        let pid = std::process::id();
        let mut threads = ThreadNames::default();
        let spawned = thread::Builder::new().name("worker 7".to_owned());
        let (asked, ended) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        let tid = thread::scope(|scope| {
            let body = || {
                asked.wait();
                ended.wait();
            };
            let running = spawned.spawn_scoped(scope, body).unwrap();
            asked.wait();
            let named = |threads: &mut ThreadNames, tid| threads.of(pid, tid).name == "worker 7";
            let tids = fs_tids(pid);
            let tid = tids.into_iter().find(|tid| named(&mut threads, *tid));
            ended.wait();
            running.join().unwrap();
            tid.expect("one thread is called so")
        });
        assert!(!fs_tids(pid).contains(&tid));
        let thread = Thread { name: "worker 7".to_owned(), title: None };
        assert_eq!(threads.of(pid, tid), thread);
        threads.changed(pid);
        threads.note_thread(pid, tid);
        assert_eq!(threads.of(pid, tid), thread);
        assert_eq!(threads.of(pid, u32::MAX), Thread::default());
    }

    #[test]
    fn a_thread_is_named_again_after_it_executed_another_program() {
        let mut child = Command::new("sh")
            .args(["-c", "read go; exec sleep 60"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        let comm = || std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        let becomes = |name| {
            while comm() != name {
                thread::sleep(Duration::from_millis(1));
            }
        };
        let mut threads = ThreadNames::default();
        becomes("sh\n");
        threads.note_thread(pid, pid);
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        becomes("sleep\n");
        let known = |threads: &ThreadNames| threads.known[&(pid, pid)].name.clone();
        threads.note_thread(pid, pid);
        let before = known(&threads);
        threads.changed(pid);
        threads.note_thread(pid, pid);
        let after = known(&threads);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((before.as_str(), after.as_str()), ("sh", "sleep"));
    }

    fn fs_tids(pid: u32) -> Vec<u32> {
        let entries = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.map(|name| name.to_str().unwrap().parse().unwrap()).collect()
    }
}
