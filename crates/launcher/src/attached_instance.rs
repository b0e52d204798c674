//! A server on a directory that is lent to it: a prepared one, a mount that may lose its power, a crash
//! image. Whoever lends it removes it.
//!
//! 1. The server's files stand in the folder `data` of the directory and nowhere else; what it says goes
//!    to a file beside the directory, `DIRECTORY.log`, which no loss of power takes.
//! 2. It runs as its product's user, and listens on a Unix socket alone, in a directory that only that user
//!    can enter: so it asks nobody for a password. The supervisor removes that directory.
//! 3. It ends with whoever started it, by its supervisor; before, it ends as [`Ending`] says, and when
//!    [`AttachedInstance::end`] has returned no process of it is left.
//! 4. It is started once: that it does not run is what became of its directory, and is told.

use crate::launch_command::{LaunchCommand, ListenAddress};
use crate::private_server::{STARTS_WITHIN, tail};
use crate::product::Product;
use crate::server_directory::ServerDirectory;
use crate::supervisor::{Supervisor, has_ended};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const LOOKS_EVERY: Duration = Duration::from_millis(3);

/// How long a server may take to end before it is killed.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It finishes what it has to do: nothing is left to recover.
    InOrder,
    /// At once, without a look at its data; what it holds of the machine (shared memory) is given back.
    AtOnce,
    /// Every process is killed before any can act, as `kill -9` does.
    Killed,
}

/// Why a server does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotStarted {
    /// It could not be tried: not installed, no user to run as.
    #[error("{0}")]
    Cannot(String),
    /// It ended by itself; what it said last.
    #[error("the server ended at once: {0}")]
    Ended(String),
    /// It did not take connections within its time; what it said last.
    #[error("the server was not ready in time: {0}")]
    Hangs(String),
}

/// See the module.
#[derive(Debug)]
pub struct AttachedInstance {
    product: Product,
    url: String,
    log: PathBuf,
    /// How much stood in the log before this start.
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
        attached.ok_or_else(|| format!("{} is started privately only", product.word()))?;
    attached(directory, sockets, settings)
}

impl AttachedInstance {
    /// Makes a product's data directory, `data`, in an empty directory; settings as for
    /// [`AttachedInstance::start`].
    pub fn make(
        product: Product,
        directory: &Path,
        settings: &[(String, String)],
    ) -> Result<(), NotStarted> {
        let prepared = ServerDirectory::attached(directory, product.launcher().user)
            .map_err(NotStarted::Cannot)?;
        // Nothing listens while it is made.
        let nowhere = Path::new("/dev/null/none");
        let launch = command(product, &prepared, nowhere, settings).map_err(NotStarted::Cannot)?;
        prepared.folder("data").map_err(NotStarted::Cannot)?;
        let mut commands = launch.prepare.iter();
        commands.try_for_each(|command| prepared.run(command)).map_err(NotStarted::Cannot)
    }

    /// Starts a product's server on the data directory, with settings beside its own, by its own names;
    /// returns when it takes connections.
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
        let kept = command(product, &prepared, &sockets, settings).and_then(|launch| {
            let command: Vec<OsString> = prepared.confined(&launch.serve, None);
            let supervisor = Supervisor::of_attached(&sockets, &log, launch.stop, &command)?;
            Ok((launch, supervisor))
        });
        let (mut launch, supervisor) = kept.map_err(|why| {
            if fs::remove_dir(&sockets).is_err() {
                // The keeper has removed it.
            }
            NotStarted::Cannot(why)
        })?;
        let attached =
            AttachedInstance { product, url: launch.urls.remove(0), log, log_bytes, supervisor };
        attached.wait(&launch.listens_at, launch.ready.as_ref())?;
        Ok(attached)
    }

    /// The URL by which it is met, without options.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.supervisor.server()
    }

    /// The gravest of what it has said since it was started, and the last of these; none if nothing of
    /// it was grave.
    pub fn gravest(&self) -> Option<String> {
        let said = said_since(&self.log, self.log_bytes);
        let words = ["PANIC:", "[ERROR] [FATAL]", "FATAL:", "[ERROR]", "ERROR:"];
        let line = |word: &&str| {
            let word: &str = word;
            let found = said.lines().find(|line| line.contains(word))?;
            let at = found.find(word).unwrap_or(0);
            Some(found[at..].to_owned())
        };
        words.iter().find_map(line)
    }

    /// Ends it; see [`Ending`].
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
            for _ in 0..ENDS_WITHIN.as_millis() / LOOKS_EVERY.as_millis() {
                if all().all(|process| has_ended(*process)) {
                    return Ok(());
                }
                thread::sleep(LOOKS_EVERY);
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
        // A file of an earlier process may still be there: its first line is another number.
        let said = |(file, text): &(PathBuf, &str)| {
            let content = fs::read_to_string(file).unwrap_or_default();
            content.lines().next() == Some(&server) && content.contains(text)
        };
        for _ in 0..STARTS_WITHIN.as_millis() / LOOKS_EVERY.as_millis() {
            if self.supervisor.server_ended() {
                return Err(NotStarted::Ended(self.last_words()));
            }
            let is_ready = ready.is_none_or(said);
            if is_ready && listens_at.answers(Duration::from_millis(50)) {
                return Ok(());
            }
            thread::sleep(LOOKS_EVERY);
        }
        Err(NotStarted::Hangs(self.last_words()))
    }

    fn last_words(&self) -> String {
        self.gravest().unwrap_or_else(|| tail(&self.log))
    }
}

fn said_since(log: &Path, bytes: u64) -> String {
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
        // One that is gone is what is wanted; one that cannot be ended shows where its end is waited for.
    }
}
