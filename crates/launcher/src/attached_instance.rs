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
use crate::launch_spec::Product;
use crate::private_server::{STARTS_WITHIN, tail};
use crate::server_directory::ServerDirectory;
use crate::supervisor::{Supervisor, has_ended};
use crate::{mariadb, postgres};
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
    keeper: Supervisor,
}

fn recipe(
    product: Product,
    ground: &ServerDirectory,
    sockets: &Path,
    settings: &[(String, String)],
) -> Result<LaunchCommand, String> {
    match product {
        Product::Postgres => postgres::lent(ground, sockets, settings),
        Product::Mariadb => mariadb::lent(ground, sockets, settings),
        other => Err(format!("{} is started privately only", other.word())),
    }
}

impl Product {
    fn in_order(self) -> Signal {
        if self == Product::Postgres { Signal::INT } else { Signal::TERM }
    }

    /// PostgreSQL gives its shared memory back when it is told to quit; others own none.
    fn at_once(self) -> Signal {
        if self == Product::Postgres { Signal::QUIT } else { Signal::KILL }
    }
}

impl AttachedInstance {
    /// Makes a product's data directory, `data`, in an empty directory; settings as for
    /// [`AttachedInstance::start`].
    pub fn make(
        product: Product,
        directory: &Path,
        settings: &[(String, String)],
    ) -> Result<(), NotStarted> {
        let ground =
            ServerDirectory::lent(directory, product.user()).map_err(NotStarted::Cannot)?;
        // Nothing listens while it is made.
        let nowhere = Path::new("/dev/null/none");
        let recipe = recipe(product, &ground, nowhere, settings).map_err(NotStarted::Cannot)?;
        ground.folder("data").map_err(NotStarted::Cannot)?;
        let mut commands = recipe.prepares.iter();
        commands.try_for_each(|command| ground.run(command)).map_err(NotStarted::Cannot)
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
        let ground =
            ServerDirectory::lent(directory, product.user()).map_err(NotStarted::Cannot)?;
        let sockets = ground.sockets().map_err(NotStarted::Cannot)?;
        let kept = recipe(product, &ground, &sockets, settings).and_then(|recipe| {
            let command: Vec<OsString> = ground.confined(&recipe.serves, None);
            let keeper = Supervisor::of_lent(&sockets, &log, recipe.stop, &command)?;
            Ok((recipe, keeper))
        });
        let (mut recipe, keeper) = kept.map_err(|why| {
            if fs::remove_dir(&sockets).is_err() {
                // The keeper has removed it.
            }
            NotStarted::Cannot(why)
        })?;
        let lent = AttachedInstance { product, url: recipe.urls.remove(0), log, log_bytes, keeper };
        lent.wait(&recipe.meets, recipe.ready.as_ref())?;
        Ok(lent)
    }

    /// The URL by which it is met, without options.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.keeper.server()
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
        let server = self.keeper.server();
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
                signal(server, self.product.in_order());
                Vec::new()
            }
            Ending::AtOnce => {
                let children = children(server);
                signal(server, self.product.at_once());
                children
            }
        };
        self.gone(&children)?;
        self.keeper.finish();
        Ok(())
    }

    /// Waits until the server and its children are gone; one that stays is killed.
    fn gone(&self, children: &[u32]) -> Result<(), String> {
        let server = self.keeper.server();
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
        meets: &ListenAddress,
        ready: Option<&(PathBuf, &str)>,
    ) -> Result<(), NotStarted> {
        let server = self.keeper.server().to_string();
        // A file of an earlier process may still be there: its first line is another number.
        let said = |(file, text): &(PathBuf, &str)| {
            let content = fs::read_to_string(file).unwrap_or_default();
            content.lines().next() == Some(&server) && content.contains(text)
        };
        for _ in 0..STARTS_WITHIN.as_millis() / LOOKS_EVERY.as_millis() {
            if self.keeper.server_ended() {
                return Err(NotStarted::Ended(self.last_words()));
            }
            let is_ready = ready.is_none_or(said);
            if is_ready && meets.answers(Duration::from_millis(50)) {
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
