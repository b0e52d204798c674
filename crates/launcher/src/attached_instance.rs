//! A server on a caller's directory, such as a prepared one, a mount that loses power or a crash image. The
//! caller removes the directory.
//!
//! 1. The server's files are in the folder `data` of the directory and nowhere else. Its output goes to the
//!    file `DIRECTORY.log` beside the directory, which a loss of power does not affect.
//! 2. It runs as its product's user, and listens only on a Unix socket in a directory that only that user
//!    can enter, so it requires no password. The supervisor removes that directory.
//! 3. The supervisor ends it when the process that started it ends. [`AttachedInstance::end`] ends it
//!    earlier, in one of the ways of [`ShutdownMode`], and returns when none of its processes is left.
//! 4. A start is not retried: that the server does not run is a result about its directory, and is reported.

use crate::launch_command::{LaunchCommand, ListenAddress};
use crate::private_server::{START_TIMEOUT, tail};
use crate::product::Product;
use crate::server_directory::ServerDirectory;
use crate::supervisor::{Supervisor, has_ended};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const POLL_INTERVAL: Duration = Duration::from_millis(3);

/// How long a server may take to end before it is killed.
const END_TIMEOUT: Duration = Duration::from_secs(20);

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownMode {
    /// It shuts down in order, so that nothing has to be recovered.
    InOrder,
    /// It ends at once without writing its data, but frees its shared memory.
    AtOnce,
    /// All its processes are killed by SIGKILL, before any of them can react.
    Killed,
}

/// Why a server does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotStarted {
    /// It could not be started at all, for example because it is not installed or has no user to run as.
    #[error("{0}")]
    Cannot(String),
    /// It ended by itself; with the last lines of its log.
    #[error("the server ended at once: {0}")]
    Ended(String),
    /// It did not accept connections in time; with the last lines of its log.
    #[error("the server was not ready in time: {0}")]
    Hangs(String),
}

/// A running server; see the module.
#[derive(Debug)]
pub struct AttachedInstance {
    product: Product,
    url: String,
    log: PathBuf,
    /// The length of the log before this start.
    log_bytes: u64,
    supervisor: Supervisor,
}

fn command(
    product: Product,
    directory: &ServerDirectory,
    sockets: &Path,
    settings: &[(String, String)],
) -> Result<LaunchCommand, String> {
    let attached = product.launcher().attached;
    let attached = attached
        .ok_or_else(|| format!("{} can only be started as a private server", product.word()))?;
    attached(directory, sockets, settings)
}

impl AttachedInstance {
    /// Makes a product's data directory, `data`, in an empty directory. The settings are those of
    /// [`AttachedInstance::start`].
    pub fn make(
        product: Product,
        directory: &Path,
        settings: &[(String, String)],
    ) -> Result<(), NotStarted> {
        let prepared = ServerDirectory::attached(directory, product.launcher().user)
            .map_err(NotStarted::Cannot)?;
        // No server listens meanwhile.
        let no_sockets = Path::new("/dev/null/none");
        let launch =
            command(product, &prepared, no_sockets, settings).map_err(NotStarted::Cannot)?;
        prepared.folder("data").map_err(NotStarted::Cannot)?;
        let mut commands = launch.prepare.iter();
        commands.try_for_each(|command| prepared.run(command)).map_err(NotStarted::Cannot)
    }

    /// Starts a product's server on the data directory, with additional settings under the product's own
    /// names; returns when the server accepts connections.
    pub fn start(
        product: Product,
        directory: &Path,
        settings: &[(String, String)],
    ) -> Result<AttachedInstance, NotStarted> {
        let log = PathBuf::from(format!("{}.log", directory.display()));
        let log_bytes = fs::metadata(&log).map_or(0, |metadata| metadata.len());
        let prepared = ServerDirectory::attached(directory, product.launcher().user)
            .map_err(NotStarted::Cannot)?;
        let sockets = prepared.sockets().map_err(NotStarted::Cannot)?;
        let started = command(product, &prepared, &sockets, settings).and_then(|launch| {
            let command: Vec<OsString> = prepared.confined(&launch.serve, None);
            let supervisor = Supervisor::of_attached(&sockets, &log, launch.stop, &command)?;
            Ok((launch, supervisor))
        });
        let (mut launch, supervisor) = started.map_err(|why| {
            if fs::remove_dir(&sockets).is_err() {
                // The supervisor has removed it.
            }
            NotStarted::Cannot(why)
        })?;
        let attached =
            AttachedInstance { product, url: launch.urls.remove(0), log, log_bytes, supervisor };
        attached.wait(&launch.listens_at, launch.ready.as_ref())?;
        Ok(attached)
    }

    /// The server's URL, without options.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.supervisor.server()
    }

    /// The first of the most severe messages in the server's log since this start; `None` if there is no
    /// error.
    pub fn most_severe_line(&self) -> Option<String> {
        let log = log_since(&self.log, self.log_bytes);
        let severities = ["PANIC:", "[ERROR] [FATAL]", "FATAL:", "[ERROR]", "ERROR:"];
        let message = |severity: &&str| {
            let severity: &str = severity;
            let line = log.lines().find(|line| line.contains(severity))?;
            let at = line.find(severity).unwrap_or(0);
            Some(line[at..].to_owned())
        };
        severities.iter().find_map(message)
    }

    /// Ends the server as [`ShutdownMode`] describes.
    pub fn end(&mut self, ending: ShutdownMode) -> Result<(), String> {
        let server = self.supervisor.server();
        let children = match ending {
            ShutdownMode::Killed => {
                signal(server, Signal::STOP);
                let children = children(server);
                for process in children.iter().chain([&server]) {
                    signal(*process, Signal::KILL);
                }
                children
            }
            ShutdownMode::InOrder => {
                signal(server, self.product.launcher().in_order);
                Vec::new()
            }
            ShutdownMode::AtOnce => {
                let children = children(server);
                signal(server, self.product.launcher().at_once);
                children
            }
        };
        self.wait_for_end(&children)?;
        self.supervisor.finish();
        Ok(())
    }

    /// Waits until the server and its children have ended; kills those that do not end in time.
    fn wait_for_end(&self, children: &[u32]) -> Result<(), String> {
        let server = self.supervisor.server();
        let all = || children.iter().chain([&server]);
        for round in 0..2 {
            for _ in 0..END_TIMEOUT.as_millis() / POLL_INTERVAL.as_millis() {
                if all().all(|process| has_ended(*process)) {
                    return Ok(());
                }
                thread::sleep(POLL_INTERVAL);
            }
            if round == 0 {
                all().for_each(|process| signal(*process, Signal::KILL));
            }
        }
        Err(format!("process {server} of a server could not be ended"))
    }

    fn wait(
        &self,
        listens_at: &ListenAddress,
        ready: Option<&(PathBuf, &str)>,
    ) -> Result<(), NotStarted> {
        let server = self.supervisor.server().to_string();
        // A file of an earlier server may still exist, but its first line is another process number.
        let has_ready_text = |(file, text): &(PathBuf, &str)| {
            let content = fs::read_to_string(file).unwrap_or_default();
            content.lines().next() == Some(&server) && content.contains(text)
        };
        for _ in 0..START_TIMEOUT.as_millis() / POLL_INTERVAL.as_millis() {
            if self.supervisor.server_ended() {
                return Err(NotStarted::Ended(self.last_lines()));
            }
            let is_ready = ready.is_none_or(has_ready_text);
            if is_ready && listens_at.answers(Duration::from_millis(50)) {
                return Ok(());
            }
            thread::sleep(POLL_INTERVAL);
        }
        Err(NotStarted::Hangs(self.last_lines()))
    }

    fn last_lines(&self) -> String {
        self.most_severe_line().unwrap_or_else(|| tail(&self.log))
    }
}

/// The log after its first `bytes` bytes.
fn log_since(log: &Path, bytes: u64) -> String {
    let all = fs::read(log).unwrap_or_default();
    let from = usize::try_from(bytes).unwrap_or(usize::MAX).min(all.len());
    String::from_utf8_lossy(&all[from..]).into_owned()
}

/// The child processes of a process.
fn children(process: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

fn signal(process: u32, signal: Signal) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    if pid.is_some_and(|pid| kill_process(pid, signal).is_err()) {
        // If the process has already ended, nothing is left to do. If it cannot be signalled, the wait for
        // its end fails.
    }
}
