//! The supervisor: a small process between this one and a private server. It ends the server and removes its
//! directory when this process ends, however that happens.
//!
//! It is a shell that holds the reading end of a pipe, and this process holds the only other end. When this
//! process drops its end or is killed, the read ends. The server is a child of the supervisor, so its process
//! id cannot be reused before the supervisor kills it. (`PR_SET_PDEATHSIG` would not do: it follows the
//! thread that started the server and not the process, is lost when the server changes its user, and removes
//! no directory.) Both are in a separate process group, so that a Ctrl-C at the terminal reaches this process
//! first, and both have a cleared environment ([`child_process`]).

use crate::child_process;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};

/// Waits for a line, starts the server and prints its process id; waits for the end of its input, ends the
/// server and removes the directory. If its input ends without a line, it only removes the directory.
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

/// The same for a server on the caller's directory, which stays; it removes only the directory of its
/// sockets.
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

/// A server's supervisor; dropping it ends the server and removes its directory.
#[derive(Debug)]
pub(crate) struct Supervisor {
    shell: Child,
    server: u32,
}

impl Supervisor {
    /// Starts the supervisor of a directory, with the command of its server. The directory of the server's
    /// sockets, if it is elsewhere, is removed too.
    pub(crate) fn of(
        directory: &Path,
        sockets: Option<&Path>,
        stop: &str,
        server: &[OsString],
    ) -> Result<Supervisor, String> {
        let sockets = sockets.unwrap_or(Path::new(""));
        Supervisor::shell(PRIVATE, directory, stop, sockets, server)
    }

    /// Starts a server on the caller's directory, with its output in `log`. The directory of its sockets is
    /// removed when the server ends.
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
        sockets_or_log: &Path,
        server: &[OsString],
    ) -> Result<Supervisor, String> {
        let shell = child_process::command("/bin/sh")
            .args(["-c", script, "syncline-supervisor"])
            .arg(directory)
            .arg(stop)
            .arg(sockets_or_log)
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
        self.server = number.ok_or("the supervisor did not start the server's process")?;
        Ok(())
    }

    /// The server's process.
    pub(crate) fn server(&self) -> u32 {
        self.server
    }

    /// True if the server has ended by itself: it is gone, or is a zombie.
    pub(crate) fn server_ended(&self) -> bool {
        has_ended(self.server)
    }
}

/// True if a process is gone, or is a zombie.
pub(crate) fn has_ended(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.map_or(true, |stat| {
        let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest);
        after_name.is_none_or(|rest| rest.starts_with('Z'))
    })
}

impl Supervisor {
    /// Ends the server and its supervisor; the server may have ended already.
    pub(crate) fn finish(&mut self) {
        drop(self.shell.stdin.take());
        if self.shell.wait().is_err() {
            // Cannot happen for our own child, and the supervisor ends by itself.
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.finish();
    }
}
