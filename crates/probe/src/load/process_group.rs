//! A command in a process group of its own, which is ended as a whole.
//!
//! The leader is not reaped before the group was ended, so that its id cannot belong to another process.

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The groups that run now.
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// How long the command may take to end after SIGTERM, in steps of [`STEP`].
const STEPS: usize = 100;
const STEP: Duration = Duration::from_millis(20);

/// How long the rest of its group may take after that.
const GRACE: Duration = Duration::from_millis(200);

/// A running command.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    child: Child,
    group: Pid,
}

impl ProcessGroup {
    /// Starts a command line by `sh -c`; its standard output is discarded.
    pub(super) fn start(line: &str) -> std::io::Result<ProcessGroup> {
        let mut command = Command::new("sh");
        command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        // Locked over the start: a second Ctrl-C between the two would miss the group.
        let mut groups = GROUPS.lock();
        let child = command.spawn()?;
        let group = Pid::from_child(&child);
        groups.push(group);
        Ok(ProcessGroup { child, group })
    }

    /// True if the command itself has ended.
    pub(super) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(waitid(WaitId::Pid(self.group), options), Ok(None))
    }

    /// Ends the group, if it is still there, and returns how the command ended.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        let mut groups = GROUPS.lock();
        if !groups.contains(&self.group) {
            return None;
        }
        send(self.group, Signal::TERM);
        for _ in 0..STEPS {
            if self.has_ended() {
                break;
            }
            std::thread::sleep(STEP);
        }
        std::thread::sleep(GRACE);
        send(self.group, Signal::KILL);
        groups.retain(|group| *group != self.group);
        self.child.wait().ok()
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sends a signal to every member of a group.
fn send(group: Pid, signal: Signal) {
    if kill_process_group(group, signal).is_err() {
        // No member is left.
    }
}

/// Kills every group at once, before this process exits.
pub(crate) fn end_all() {
    // A thread that ends a group holds the lock while it waits; it has sent its signal then.
    let Some(groups) = GROUPS.try_lock_for(Duration::from_millis(100)) else {
        return;
    };
    for group in groups.iter() {
        send(*group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::ProcessGroup;
    use std::path::Path;
    use std::time::Duration;

    /// Waits for a file that the command writes; bounded, so that a failure ends.
    fn wait_for(path: &Path) -> String {
        for _ in 0..1_000 {
            match std::fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        panic!("{} was not written", path.display());
    }

    /// True if the process runs; one that has ended and waits to be reaped does not.
    fn runs(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.starts_with('Z'));
        state == Some(false)
    }

    #[test]
    fn a_command_is_ended_with_its_descendants_even_if_it_ignores_the_request() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let line = format!("trap '' TERM; sleep 600 & echo $! > {}; wait; wait", pid.display());
        let mut group = ProcessGroup::start(&line).unwrap();
        let descendant = wait_for(&pid);
        assert!(runs(&descendant) && !group.has_ended());
        group.end();
        assert!(group.end().is_none(), "a second end does nothing");
        for _ in 0..500 {
            if !runs(&descendant) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{descendant} still runs");
    }

    #[test]
    fn a_command_that_ends_by_itself_is_noticed_with_its_status() {
        let mut group = ProcessGroup::start("exit 3").unwrap();
        for _ in 0..1_000 {
            if group.has_ended() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(group.has_ended());
        assert_eq!(group.end().unwrap().code(), Some(3));
    }
}
