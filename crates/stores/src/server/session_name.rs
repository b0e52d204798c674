//! The name of this program's sessions in a server: `syncline PID.START@BOOT-NAMESPACE`, by which a later
//! program knows whether the one that opened a session still runs.
//!
//! `PID` and `START` (its start in clock ticks since the boot) are a process, `BOOT` (the first digits of
//! the kernel's boot id) and `NAMESPACE` (the number of the PID namespace) say where that PID means it. A
//! program elsewhere, and one of a version that only said `syncline`, is never known to have ended.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs;
use std::sync::OnceLock;

/// The first word of every name.
pub(crate) const PROGRAM: &str = "syncline";

/// The name of this program's sessions; the bare first word where `/proc` does not say who it is.
pub(crate) fn session_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let process = std::process::id();
        let named = started(process).zip(here());
        named.map_or_else(
            || PROGRAM.to_owned(),
            |(start, here)| format!("{PROGRAM} {process}.{start}@{here}"),
        )
    })
}

/// What is known of the program that opened a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opener {
    /// This process of this machine.
    Runs(u32),
    /// That process of this machine is gone.
    Ended,
    /// It is on another machine, in another container, or its session does not say.
    Unknown,
}

impl Opener {
    /// By the name of its session.
    pub(crate) fn of(session_name: &str) -> Opener {
        let parts = || {
            let (process, place) =
                session_name.strip_prefix(PROGRAM)?.strip_prefix(' ')?.split_once('@')?;
            let (process, start) = process.split_once('.')?;
            Some((process.parse().ok()?, start.parse().ok()?, place))
        };
        match parts() {
            Some((process, start, place)) if here().as_deref() == Some(place) => {
                Opener::of_process(process, start)
            }
            _ => Opener::Unknown,
        }
    }

    fn of_process(process: u32, start: u64) -> Opener {
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
        // Asked of the kernel itself: `/proc` may hide the processes of others.
        if pid.is_none_or(|pid| test_kill_process(pid) == Err(Errno::SRCH)) {
            return Opener::Ended;
        }
        match started(process) {
            Some(now) if now != start => Opener::Ended,
            _ if is_zombie(process) => Opener::Ended,
            _ => Opener::Runs(process),
        }
    }
}

/// When a process started, in clock ticks since the boot.
fn started(process: u32) -> Option<u64> {
    const START: usize = 19;
    stat(process)?.split_whitespace().nth(START)?.parse().ok()
}

/// True if it has ended and only waits for its parent to ask how.
fn is_zombie(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
    threads <= 1 && stat(process).is_some_and(|stat| stat.starts_with('Z'))
}

/// What `/proc` says of a process behind its name, from its state on.
fn stat(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    Some(rest.to_owned())
}

/// This boot of this machine, and the namespace of the numbers of processes.
fn here() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    let namespace = namespace.to_str()?;
    let digits: String = namespace.chars().filter(char::is_ascii_digit).collect();
    Some(format!("{}-{digits}", boot.get(..8)?))
}

#[cfg(test)]
mod tests {
    use super::{Opener, here, session_name, started};
    use std::process::{Command, Stdio};

    // B.F6
    #[test]
    fn only_a_program_of_this_machine_is_known_to_run_or_to_have_ended() {
        let own = session_name();
        assert!(own.len() < 64, "servers cut longer names: {own}");
        assert_eq!(Opener::of(own), Opener::Runs(std::process::id()));
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let place = here().unwrap();
        let start = started(child.id()).unwrap();
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
