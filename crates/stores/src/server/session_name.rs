//! The name of this program's sessions on a server: `syncline PID.START@BOOT-NAMESPACE`. It lets a
//! later program determine whether the one that opened a session is still running.
//!
//! `PID` and `START` (its start in clock ticks since the boot) identify a process; `BOOT` (the first
//! digits of the kernel's boot id) and `NAMESPACE` (the number of the PID namespace) say where that PID
//! is valid. A program on another machine, or one of a version that only sent `syncline`, is never
//! known to have ended.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs;
use std::sync::OnceLock;

/// The first word of every name.
pub(crate) const PROGRAM: &str = "syncline";

/// The name of this program's sessions; only the first word if `/proc` is not readable.
pub(crate) fn session_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let process = std::process::id();
        let named = start_time(process).zip(machine_id());
        named.map_or_else(
            || PROGRAM.to_owned(),
            |(start, here)| format!("{PROGRAM} {process}.{start}@{here}"),
        )
    })
}

/// The state of the program that opened a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opener {
    /// This process of this machine is running.
    Runs(u32),
    /// The process was on this machine and has ended.
    Ended,
    /// It is on another machine or in another container, or the session's name does not show it.
    Unknown,
}

impl Opener {
    /// From the name of its session.
    pub(crate) fn of(session_name: &str) -> Opener {
        let parts = || {
            let (process, place) =
                session_name.strip_prefix(PROGRAM)?.strip_prefix(' ')?.split_once('@')?;
            let (process, start) = process.split_once('.')?;
            Some((process.parse().ok()?, start.parse().ok()?, place))
        };
        match parts() {
            Some((process, start, place)) if machine_id().as_deref() == Some(place) => {
                Opener::of_process(process, start)
            }
            _ => Opener::Unknown,
        }
    }

    fn of_process(process: u32, start: u64) -> Opener {
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
        // Asks the kernel, since `/proc` may hide other users' processes.
        if pid.is_none_or(|pid| test_kill_process(pid) == Err(Errno::SRCH)) {
            return Opener::Ended;
        }
        match start_time(process) {
            Some(now) if now != start => Opener::Ended,
            _ if is_zombie(process) => Opener::Ended,
            _ => Opener::Runs(process),
        }
    }
}

/// The start of a process, in clock ticks since the boot.
fn start_time(process: u32) -> Option<u64> {
    const START: usize = 19;
    stat(process)?.split_whitespace().nth(START)?.parse().ok()
}

/// True if it has ended and its parent has not waited for it.
fn is_zombie(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
    threads <= 1 && stat(process).is_some_and(|stat| stat.starts_with('Z'))
}

/// The fields of `/proc/PID/stat` after the name, from the state on.
fn stat(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    Some(rest.to_owned())
}

/// Identifies this boot of this machine, and the PID namespace.
fn machine_id() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    let namespace = namespace.to_str()?;
    let digits: String = namespace.chars().filter(char::is_ascii_digit).collect();
    Some(format!("{}-{digits}", boot.get(..8)?))
}

#[cfg(test)]
mod tests {
    use super::{Opener, machine_id, session_name, start_time};
    use std::process::{Command, Stdio};

    // B.F6
    #[test]
    fn the_state_is_known_only_for_programs_on_this_machine() {
        let own = session_name();
        assert!(own.len() < 64, "servers truncate longer names: {own}");
        assert_eq!(Opener::of(own), Opener::Runs(std::process::id()));
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let place = machine_id().unwrap();
        let start = start_time(child.id()).unwrap();
        let name = format!("syncline {}.{start}@{place}", child.id());
        assert_eq!(Opener::of(&name), Opener::Runs(child.id()));
        // Another process has that number now.
        let earlier = format!("syncline {}.{}@{place}", child.id(), start - 1);
        assert_eq!(Opener::of(&earlier), Opener::Ended);
        drop(child.stdin.take());
        while Opener::of(&name) != Opener::Ended {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(Opener::of(&name), Opener::Ended);
        let elsewhere = format!("syncline {}.{start}@0badcafe-1", child.id());
        for unknown in [elsewhere.as_str(), "syncline", "syncline 1", "syncline x.y@z", "psql"] {
            assert_eq!(Opener::of(unknown), Opener::Unknown, "{unknown}");
        }
    }
}
