//! The supervisor: a small process between us and a private server, which ends the server and removes its
//! directory when we end, however we end.
//!
//! It is a shell that holds the reading end of a pipe, of which we hold the only other end: when we drop
//! that, or are killed, the read ends. The server is its child, so that the number it kills is never
//! another's. (`PR_SET_PDEATHSIG` would not do: it follows the thread that started the server and not
//! the process, is lost when the server changes its user, and removes no directory.) Both stand in a
//! process group of their own, so that a Ctrl-C at the terminal reaches us first, and both see a cleared
//! environment ([`child_process`]).

use crate::child_process;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};

/// Waits for a line, starts the server and says its number; waits for the end of its input, ends the
/// server and removes the directory. Without that line it only removes.
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

/// The same for a server on a directory of somebody else's, which stays; what is removed is the directory of
/// its sockets.
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

/// A server's supervisor; ends with what it keeps when dropped.
#[derive(Debug)]
pub(crate) struct Supervisor {
    shell: Child,
    server: u32,
}

impl Supervisor {
    /// Gives a directory to a supervisor, with the command of the server that is to stand there.
    /// The directory of its sockets, if they are elsewhere, is removed with it.
    pub(crate) fn of(
        directory: &Path,
        sockets: Option<&Path>,
        stop: &str,
        server: &[OsString],
    ) -> Result<Supervisor, String> {
        let sockets = sockets.unwrap_or(Path::new(""));
        Supervisor::shell(PRIVATE, directory, stop, sockets, server)
    }

    /// Starts a server on a directory that stays; what it says goes to a file. The directory of its sockets
    /// is removed when it ends.
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
        beside: &Path,
        server: &[OsString],
    ) -> Result<Supervisor, String> {
        let shell = child_process::command("/bin/sh")
            .args(["-c", script, "syncline-keeper"])
            .arg(directory)
            .arg(stop)
            .arg(beside)
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
        let asked = self.shell.stdin.as_mut().map(|input| input.write_all(b"\n"));
        let mut line = String::new();
        let said = self.shell.stdout.take().map(BufReader::new);
        let read = said.map(|mut said| said.read_line(&mut line));
        let number = match (asked, read) {
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

    /// True if the server has ended by itself: it is gone, or waits for the supervisor to notice.
    pub(crate) fn server_ended(&self) -> bool {
        has_ended(self.server)
    }
}

/// True if a process is gone, or waits for its parent to notice.
pub(crate) fn has_ended(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.map_or(true, |stat| {
        let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest);
        after_name.is_none_or(|rest| rest.starts_with('Z'))
    })
}

impl Supervisor {
    /// Ends the server with its supervisor, who notices the end of one that is gone already.
    pub(crate) fn finish(&mut self) {
        drop(self.shell.stdin.take());
        if self.shell.wait().is_err() {
            // Only a child that is not ours cannot be waited for; this one ends by itself.
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.finish();
    }
}
