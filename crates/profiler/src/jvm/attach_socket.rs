//! Sends commands to a `HotSpot` JVM through its attach socket, as `jcmd` does.
//!
//! The socket is `/tmp/.java_pidN` in the file system that the JVM sees, where N is its process number there.
//! The JVM creates it on request: a file `.attach_pidN` in its working directory or in /tmp, and then
//! SIGQUIT. A request is the protocol's version, a command and three arguments, each terminated by a zero;
//! the reply is a line with a status, 0 for success, and then the command's output, to the end.
//!
//! 1. SIGQUIT is sent only to a process that has `HotSpot`'s library loaded and catches the signal: any other
//!    process would end, or do something else, as PostgreSQL's processes do. (A JVM with -Xrs, which leaves
//!    signals alone, such as the one in our own process, listens from its start.)
//! 2. The JVM accepts its own user and, since version 9, root.
//! 3. Waiting is limited: a hanging JVM costs at most [`ANSWERS_WITHIN`].

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, lchown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use syncline_host::read_text;

/// How long a JVM may take to open its socket.
const OPENS_WITHIN: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long the JVM may take to reply.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);
/// The bit of SIGQUIT in the kernel's signal masks.
const QUIT: u64 = 1 << 2;
/// The maximum length of a command's output, in bytes.
const ANSWER: u64 = 64 << 20;

/// The attach socket of a JVM.
#[derive(Debug)]
pub(crate) struct AttachSocket {
    pid: u32,
    /// Its process number in its own namespace.
    inner_pid: u32,
    socket: PathBuf,
    owner: Owner,
}

/// The user and group that a process runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// The required fields of `/proc/PID/status`.
#[derive(Debug, PartialEq, Eq)]
struct Status {
    owner: Owner,
    /// Its process number in its own namespace.
    inner_pid: u32,
    catches_quit: bool,
}

impl AttachSocket {
    /// Connects to a process, and makes the JVM open its socket if there is none.
    pub(crate) fn to(pid: u32) -> Result<AttachSocket, String> {
        let maps = read_text(Path::new(&format!("/proc/{pid}/maps")));
        let maps = maps.ok_or_else(|| {
            format!("/proc/{pid}/maps cannot be read: run as root or as the process's user")
        })?;
        if !maps.contains("/libjvm.so") || maps.contains("/libj9vm") {
            return Err(format!("process {pid} is not a HotSpot JVM"));
        }
        let status = read_text(Path::new(&format!("/proc/{pid}/status")));
        let status = status.as_deref().and_then(Status::parse);
        let status = status.ok_or_else(|| format!("/proc/{pid}/status cannot be read"))?;
        let own = rustix::process::geteuid();
        if !own.is_root() && own.as_raw() != status.owner.uid {
            let uid = status.owner.uid;
            return Err(format!(
                "process {pid} runs as user {uid}, and a JVM accepts only its own user and root: run \
                 as one of them"
            ));
        }
        let temporary = temporary_directory(pid);
        let attached = AttachSocket {
            pid,
            inner_pid: status.inner_pid,
            socket: temporary.join(format!(".java_pid{}", status.inner_pid)),
            owner: status.owner,
        };
        if !attached.listens() {
            attached.wake(&status, &temporary)?;
        }
        let found = fs::symlink_metadata(&attached.socket)
            .map_err(|error| attached.failed(&error.to_string()))?;
        if found.uid() != status.owner.uid && found.uid() != 0 {
            return Err(attached.failed("its socket belongs to another process"));
        }
        Ok(attached)
    }

    pub(super) fn owner(&self) -> Owner {
        self.owner
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The file in /tmp that the JVM writes its code's names to, as seen from here.
    pub(crate) fn perf_map(&self) -> PathBuf {
        temporary_directory(self.pid).join(format!("perf-{}.map", self.inner_pid))
    }

    /// Loads a native agent, by its path as the JVM sees it, with its options. Loading the same library again
    /// calls the same agent again.
    pub(super) fn load(&self, library: &Path, options: &str) -> Result<(), String> {
        let reply = self.ask(["load", &library.to_string_lossy(), "true", options])?;
        let code = reply.trim();
        match code.strip_prefix("return code:").unwrap_or(code).trim() {
            "0" => Ok(()),
            _ => Err(self.failed(&format!("the agent was not loaded: {}", one_line(code)))),
        }
    }

    /// Runs a command of `jcmd` and returns its output.
    pub(crate) fn command(&self, line: &str) -> Result<String, String> {
        self.ask(["jcmd", line, "", ""])
    }

    fn ask(&self, words: [&str; 4]) -> Result<String, String> {
        let answer = self.exchange(words).map_err(|error| self.failed(&error.to_string()))?;
        let (status, reply) = answer.split_once('\n').unwrap_or((&answer, ""));
        if status.trim() == "0" {
            return Ok(reply.to_owned());
        }
        Err(self.failed(&format!("it refuses {}: {}", words[0], one_line(&answer))))
    }

    fn exchange(&self, words: [&str; 4]) -> std::io::Result<String> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
        stream.set_write_timeout(Some(ANSWERS_WITHIN))?;
        let mut request = b"1\0".to_vec();
        for word in words {
            request.extend(word.bytes().filter(|byte| *byte != 0));
            request.push(0);
        }
        stream.write_all(&request)?;
        let mut answer = Vec::new();
        stream.take(ANSWER).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn listens(&self) -> bool {
        UnixStream::connect(&self.socket).is_ok()
    }

    /// Makes the JVM open its socket.
    fn wake(&self, status: &Status, temporary: &Path) -> Result<(), String> {
        if !status.catches_quit {
            let why = "the signal that makes it listen would end it: it was started with -Xrs and \
                       -XX:+DisableAttachMechanism";
            return Err(self.failed(why));
        }
        let name = format!(".attach_pid{}", status.inner_pid);
        let places = [PathBuf::from(format!("/proc/{}/cwd", self.pid)), temporary.to_owned()];
        let made = places.iter().map(|place| place.join(&name));
        let trigger = made
            .into_iter()
            .find(|trigger| self.make(trigger).is_ok())
            .ok_or_else(|| self.failed("neither its working directory nor /tmp is writable"))?;
        let woken = self.signal_and_wait();
        let removed = fs::remove_file(&trigger);
        woken?;
        removed.map_err(|error| format!("{} cannot be removed: {error}", trigger.display()))
    }

    fn make(&self, trigger: &Path) -> std::io::Result<()> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).open(trigger)?;
        // Old JVMs require the file to belong to their user; without root it does already.
        if rustix::process::geteuid().is_root() {
            lchown(trigger, Some(self.owner.uid), Some(self.owner.gid))?;
        }
        Ok(())
    }

    fn signal_and_wait(&self) -> Result<(), String> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| self.failed("it has no valid process number"))?;
        kill_process(pid, Signal::QUIT).map_err(|error| self.failed(&error.to_string()))?;
        let polls = OPENS_WITHIN.as_millis() / POLL_INTERVAL.as_millis();
        for _ in 0..polls {
            if self.listens() {
                return Ok(());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Err(self.failed(
            "it did not open its socket: it may not be a HotSpot JVM, or was started with \
             -XX:+DisableAttachMechanism",
        ))
    }

    fn failed(&self, why: &str) -> String {
        format!("the JVM of process {} cannot be attached to: {why}", self.pid)
    }
}

impl Status {
    fn parse(text: &str) -> Option<Status> {
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let effective = |name: &str| line(name)?.split_whitespace().nth(1)?.parse().ok();
        let caught = u64::from_str_radix(line("SigCgt:")?.trim(), 16).ok()?;
        let pid = line("NSpid:").or_else(|| line("Pid:"))?;
        Some(Status {
            owner: Owner { uid: effective("Uid:")?, gid: effective("Gid:")? },
            inner_pid: pid.split_whitespace().last()?.parse().ok()?,
            catches_quit: caught & QUIT != 0,
        })
    }
}

fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" | ")
}

/// The directory for temporary files of a process, which may run in a container of its own.
fn temporary_directory(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}")).join("root").join("tmp")
}

#[cfg(test)]
mod tests {
    use super::{AttachSocket, Owner, Status};

    #[test]
    fn a_status_contains_the_user_and_whether_sigquit_is_caught() {
        let text = "Name:\tjava\nPid:\t812\nUid:\t0\t65534\t0\t0\nGid:\t0\t7\t0\t0\nNSpid:\t812\t9\n\
                    SigCgt:\t0000000000000004\n";
        let status = Status::parse(text).unwrap();
        let owner = Owner { uid: 65_534, gid: 7 };
        assert_eq!((status.owner, status.inner_pid), (owner, 9));
        assert!(status.catches_quit);
        let deaf = Status::parse(&text.replace("0004", "fffb")).unwrap();
        assert!(!deaf.catches_quit);
        assert_eq!(Status::parse("Name:\tjava\n"), None);
    }

    #[test]
    fn a_process_that_is_not_a_jvm_receives_no_signal() {
        // This test's own process: the signal would have ended it.
        let why = AttachSocket::to(std::process::id()).unwrap_err();
        assert!(why.contains("not a HotSpot"), "{why}");
    }
}
