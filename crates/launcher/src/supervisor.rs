//! The supervisor: a small process that ends a private server and removes its directory when this process
//! ends, in whatever way.
//!
//! It is a shell that reads from a pipe whose only writing end is in this process: when this process closes
//! that end, or is killed, the read returns. The server is a child of the shell, so the process number that
//! the shell kills cannot have been reused for another process. (`PR_SET_PDEATHSIG` would not suffice: it
//! depends on the thread that started the server instead of the process, is reset when the server changes its
//! user, and removes no directory.) Shell and server are in their own process group, so that a Ctrl-C at the
//! terminal reaches only this process, and both get a cleared environment ([`child_process`]).

use crate::child_process;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};

/// Waits for a line, starts the server and prints its process number; then waits for the end of its input,
/// ends the server and removes the directory. Without that line it only removes the directory.
const PRIVATE: &str = r#"
directory=$1 stop=$2 sockets=$3
shift 3
cd "$directory" || exit 1
HOME=$directory
export HOME
if read -r _; then
  "$@" </dev/null >>server.log 2>&1 &
  server=$!
  echo "$server"
  exec >/dev/null
  read -r _
  kill -s "$stop" "$server" 2>/dev/null
  wait "$server" 2>/dev/null
fi
cd /
rm -rf -- "$directory" ${sockets:+"$sockets"}
"#;

/// The same for a server on a caller's directory, which remains; the script removes the directory of the
/// server's sockets.
const ATTACHED: &str = r#"
directory=$1 stop=$2 log=$3
shift 3
cd /
if read -r _; then
"$@" </dev/null >>"$log" 2>&1 &
server=$!
echo "$server"
exec >/dev/null
read -r _
kill -s "$stop" "$server" 2>/dev/null
wait "$server" 2>/dev/null
fi
rm -rf -- "$directory"
"#;

/// A server's supervisor; dropping it ends the server and the supervisor.
#[derive(Debug)]
pub(crate) struct Supervisor {
    shell: Child,
    server: u32,
}

impl Supervisor {
    /// Starts a supervisor for a private server's directory and that server's command. If the server's
    /// sockets have another directory, the supervisor removes that one too.
    pub(crate) fn of(
        directory: &Path,
        sockets: Option<&Path>,
        stop: &str,
        server: &[OsString],
    ) -> Result<Supervisor, String> {
        let sockets = sockets.unwrap_or(Path::new(""));
        Supervisor::shell(PRIVATE, directory, stop, sockets, server)
    }

    /// Starts a supervisor and its server, on a directory that remains. The server's output goes to the log
    /// file; the directory of its sockets is removed when it ends.
    pub(crate) fn of_attached(
        sockets: &Path,
        log: &Path,
        stop: &str,
        server: &[OsString],
    ) -> Result<Supervisor, String> {
        let mut supervisor = Supervisor::shell(ATTACHED, sockets, stop, log, server)?;
        supervisor.serve()?;
        Ok(supervisor)
    }

    fn shell(
        script: &str,
        directory: &Path,
        stop: &str,
        third_argument: &Path,
        server: &[OsString],
    ) -> Result<Supervisor, String> {
        let shell = child_process::command("/bin/sh")
            .args(["-c", script, "syncline-supervisor"])
            .arg(directory)
            .arg(stop)
            .arg(third_argument)
            .args(server)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("/bin/sh cannot be run: {error}"))?;
        Ok(Supervisor { shell, server: 0 })
    }

    /// Starts the server.
    pub(crate) fn serve(&mut self) -> Result<(), String> {
        let written = self.shell.stdin.as_mut().map(|input| input.write_all(b"\n"));
        let mut line = String::new();
        let output = self.shell.stdout.take().map(BufReader::new);
        let read = output.map(|mut output| output.read_line(&mut line));
        let number = match (written, read) {
            (Some(Ok(())), Some(Ok(_))) => line.trim().parse().ok(),
            _ => None,
        };
        self.server = number.ok_or("the server's process was not started")?;
        Ok(())
    }

    /// The server's process.
    pub(crate) fn server(&self) -> u32 {
        self.server
    }

    /// True if the server has ended by itself.
    pub(crate) fn server_ended(&self) -> bool {
        has_ended(self.server)
    }
}

/// True if a process no longer exists, or has ended and its parent has not waited for it yet.
pub(crate) fn has_ended(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.map_or(true, |stat| {
        let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest);
        after_name.is_none_or(|rest| rest.starts_with('Z'))
    })
}

impl Supervisor {
    /// Ends the server, unless it has ended already, and the supervisor.
    pub(crate) fn finish(&mut self) {
        drop(self.shell.stdin.take());
        if self.shell.wait().is_err() {
            // This cannot happen for a child process of this one, and the supervisor ends by itself.
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.finish();
    }
}
