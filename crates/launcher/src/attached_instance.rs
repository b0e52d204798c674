//! A server on a directory of the caller: a prepared one, a mount that may lose its power, or a crash image.
//! The caller removes the directory.
//!
//! 1. The server's files are in the folder `data` of the directory and nowhere else. Its output goes to a
//!    file next to the directory, `DIRECTORY.log`, which survives a power loss of the directory.
//! 2. It runs as its product's user and listens only on a Unix socket, in a directory that only that user can
//!    enter, so it needs no password. The supervisor removes that directory.
//! 3. It ends with the process that started it, by its supervisor, or earlier by [`AttachedInstance::end`] as
//!    [`Ending`] says. When `end` has returned, no process of the server is left.
//! 4. It is started only once: if the server does not run, that is a finding about the directory, and the
//!    caller gets the reason.

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
pub enum Ending {
    /// A clean shutdown: nothing is left to recover.
    InOrder,
    /// An immediate shutdown without writing data; shared memory is released.
    AtOnce,
    /// All processes are killed before any of them can react, as by `kill -9`.
    Killed,
}

/// The reason why a server does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotStarted {
    /// The start could not be attempted: the product is not installed, or there is no user to run it as.
    #[error("{0}")]
    Cannot(String),
    /// The server ended by itself; with its last messages.
    #[error("the server ended at once: {0}")]
    Ended(String),
    /// The server did not accept connections in time; with its last messages.
    #[error("the server was not ready in time: {0}")]
    Hangs(String),
}

/// A running server on the caller's directory; ends when dropped.
#[derive(Debug)]
pub struct AttachedInstance {
    product: Product,
    url: String,
    log: PathBuf,
    /// The size of the log before this start.
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
    let attached =
        attached.ok_or_else(|| format!("{} can only run as a private server", product.word()))?;
    attached(directory, sockets, settings)
}

impl AttachedInstance {
    /// Creates a product's data directory, `data`, in an empty directory; settings as for
    /// [`AttachedInstance::start`].
    pub fn make(
        product: Product,
        directory: &Path,
        settings: &[(String, String)],
    ) -> Result<(), NotStarted> {
        let prepared = ServerDirectory::attached(directory, product.launcher().user)
            .map_err(NotStarted::Cannot)?;
        // No server listens meanwhile.
        let nowhere = Path::new("/dev/null/none");
        let launch = command(product, &prepared, nowhere, settings).map_err(NotStarted::Cannot)?;
        prepared.folder("data").map_err(NotStarted::Cannot)?;
        let mut commands = launch.prepare.iter();
        commands.try_for_each(|command| prepared.run(command)).map_err(NotStarted::Cannot)
    }

    /// Starts a product's server on the data directory, with additional settings by the product's names.
    /// Returns when the server accepts connections.
    pub fn start(
        product: Product,
        directory: &Path,
        settings: &[(String, String)],
    ) -> Result<AttachedInstance, NotStarted> {
        let log = PathBuf::from(format!("{}.log", directory.display()));
        let log_bytes = fs::metadata(&log).map_or(0, |found| found.len());
        let prepared = ServerDirectory::attached(directory, product.launcher().user)
            .map_err(NotStarted::Cannot)?;
        let sockets = prepared.sockets().map_err(NotStarted::Cannot)?;
        let supervised = command(product, &prepared, &sockets, settings).and_then(|launch| {
            let command: Vec<OsString> = prepared.confined(&launch.serve, None);
            let supervisor = Supervisor::of_attached(&sockets, &log, launch.stop, &command)?;
            Ok((launch, supervisor))
        });
        let (mut launch, supervisor) = supervised.map_err(|why| {
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

    /// The URL to connect to, without options.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.supervisor.server()
    }

    /// The most severe message in the log since this start, the first of equals; `None` if there is no error.
    pub fn gravest(&self) -> Option<String> {
        let text = log_since(&self.log, self.log_bytes);
        let severities = ["PANIC:", "[ERROR] [FATAL]", "FATAL:", "[ERROR]", "ERROR:"];
        let message = |severity: &&str| {
            let severity: &str = severity;
            let line = text.lines().find(|line| line.contains(severity))?;
            let at = line.find(severity).unwrap_or(0);
            Some(line[at..].to_owned())
        };
        severities.iter().find_map(message)
    }

    /// Ends the server in the given way.
    pub fn end(&mut self, ending: Ending) -> Result<(), String> {
        let server = self.supervisor.server();
        let children = match ending {
            Ending::Killed => {
                signal(server, Signal::STOP);
                let children = children(server);
                for process in children.iter().chain([&server]) {
                    signal(*process, Signal::KILL);
                }
                children
            }
            Ending::InOrder => {
                signal(server, self.product.launcher().in_order);
                Vec::new()
            }
            Ending::AtOnce => {
                let children = children(server);
                signal(server, self.product.launcher().at_once);
                children
            }
        };
        self.gone(&children)?;
        self.supervisor.finish();
        Ok(())
    }

    /// Waits until the server and its children are gone; one that stays is killed.
    fn gone(&self, children: &[u32]) -> Result<(), String> {
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
        Err(format!("server process {server} could not be ended"))
    }

    fn wait(
        &self,
        listens_at: &ListenAddress,
        ready: Option<&(PathBuf, &str)>,
    ) -> Result<(), NotStarted> {
        let server = self.supervisor.server().to_string();
        // The file of an earlier process may still exist; its first line is a different process id.
        let signals_ready = |(file, text): &(PathBuf, &str)| {
            let content = fs::read_to_string(file).unwrap_or_default();
            content.lines().next() == Some(&server) && content.contains(text)
        };
        for _ in 0..START_TIMEOUT.as_millis() / POLL_INTERVAL.as_millis() {
            if self.supervisor.server_ended() {
                return Err(NotStarted::Ended(self.last_messages()));
            }
            let is_ready = ready.is_none_or(signals_ready);
            if is_ready && listens_at.answers(Duration::from_millis(50)) {
                return Ok(());
            }
            thread::sleep(POLL_INTERVAL);
        }
        Err(NotStarted::Hangs(self.last_messages()))
    }

    fn last_messages(&self) -> String {
        self.gravest().unwrap_or_else(|| tail(&self.log))
    }
}

fn log_since(log: &Path, bytes: u64) -> String {
    let all = fs::read(log).unwrap_or_default();
    let from = usize::try_from(bytes).unwrap_or(usize::MAX).min(all.len());
    String::from_utf8_lossy(&all[from..]).into_owned()
}

fn children(process: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

fn signal(process: u32, signal: Signal) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    if pid.is_some_and(|pid| kill_process(pid, signal).is_err()) {
        // Ignored: either the process is gone, or the caller's wait for its end reports it.
    }
}
