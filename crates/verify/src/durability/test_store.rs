//! Where a store is made, loaded and killed: one scratch folder, gone when the verification ends.

use super::adapter::{Adapter, Running};
use super::adapters;
use super::child_process::{ChildFailure, ChildProcess, ChildProgram};
use super::child_protocol::{Answer, Settings, Task};
use super::live_fault::LiveFault;
use crate::error::{Error, Result, doing};
use crate::power::{ACKNOWLEDGEMENTS, Base, InjectedFault, Mount, Recording};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use syncline_instrument::clock;
use syncline_launcher::Ending;

/// How long a store may take to open, recover and be read.
pub(super) const LOOK_LIMIT: Duration = Duration::from_mins(1);

/// How long a store may take until it has acknowledged its first transactions.
const FIRST_LIMIT: Duration = Duration::from_secs(30);

/// When a store is killed, from when its clients were first heard.
const KILLED_WITHIN_MS: Range<u64> = 10..300;

/// What a recording may hold in bytes, unless a request says another number.
pub const RECORDED_BYTES_MAX: u64 = 512 << 20;

/// Clients that load a store.
pub(super) const CLIENTS: i64 = 4;

/// See the module.
#[derive(Debug)]
pub(super) struct TestStore<'g> {
    pub(super) adapter: &'static dyn Adapter,
    /// How children are started, with the variables that the store wants.
    pub(super) program: ChildProgram,
    /// A folder of our own, removed at the end.
    pub(super) scratch: PathBuf,
    /// Set from outside when the verification shall end.
    pub(super) stop: &'g AtomicBool,
    /// Clients append to lists, drawn from this seed, in place of counting in tallies.
    pub(super) lists: Option<u64>,
    /// What a recording may hold: then the power goes.
    pub(super) recorded_bytes_max: u64,
}

/// A loaded store, with the power gone.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) recording: Recording,
    pub(super) struck: InjectedFault,
    /// Why its clients stopped before the power went; empty if they did not. A full recording takes the
    /// power away too.
    pub(super) stopped: String,
    /// Transactions that were acknowledged once the faults had struck.
    pub(super) after: u64,
    /// The gravest line that the store had logged by then.
    pub(super) gravest: Option<String>,
}

impl<'g> TestStore<'g> {
    /// The ground for a store, by its name; see the fields.
    pub(super) fn of(
        store: &str,
        program: &ChildProgram,
        scratch: &Path,
        stop: &'g AtomicBool,
        lists: Option<u64>,
    ) -> Result<TestStore<'g>> {
        let adapter = adapters::of(store)?;
        Ok(TestStore {
            adapter,
            program: program.under(adapter.environment()),
            scratch: scratch.to_owned(),
            stop,
            lists,
            recorded_bytes_max: RECORDED_BYTES_MAX,
        })
    }
}

impl TestStore<'_> {
    /// Fails if the verification shall end: what is found from then on may stem from that.
    pub(super) fn go_on(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::cannot("stopped before the verification was done"));
        }
        Ok(())
    }

    /// Why the power cannot go here; none if it can.
    pub(super) fn no_power(&self) -> Result<Option<String>> {
        fs::create_dir_all(&self.scratch).map_err(doing("make", &self.scratch))?;
        Ok(Mount::tried(&self.scratch))
    }

    /// A new empty folder.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.scratch.join(name);
        remove(&path)?;
        fs::create_dir_all(&path).map_err(doing("make", &path))?;
        Ok(path)
    }

    /// Makes a store with its tables in `directory`, and stops it in good order.
    pub(super) fn prepare(&self, directory: &Path, options: &str) -> Result<Settings> {
        TestStore::copy(&self.made()?, directory)?;
        let mut running = self.adapter.start(directory, options)?;
        let mut helper = self.program.start()?;
        let url = running.url();
        helper.tell(&match self.lists {
            Some(_) => Task::MakeLists { url },
            None => Task::Prepare { url, clients: CLIENTS, ballast: self.adapter.ballast() },
        });
        let answer = helper.answer(LOOK_LIMIT);
        running.end(Ending::InOrder)?;
        match answer {
            Ok(Answer::Prepared(settings)) => Ok(settings),
            Ok(Answer::NotOpened(why)) => Err(Error::cannot(why)),
            other => Err(Error::cannot(format!("the store could not be made: {other:?}"))),
        }
    }

    /// What every store begins with, made when it is first asked for.
    fn made(&self) -> Result<PathBuf> {
        let path = self.scratch.join("made");
        if !path.exists() {
            self.adapter.make(&self.folder("made")?)?;
        }
        Ok(path)
    }

    /// Copies a prepared store.
    pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
        Base::read(from)?.copied(to).map(drop)
    }

    /// Loads a copy of a prepared store on a mount, for a time; `meddling` may let faults strike once the
    /// load runs, and the time begins when they have. Then the power goes, and the processes are killed.
    pub(super) fn load(
        &self,
        prepared: &Path,
        options: &str,
        name: &str,
        time: Duration,
        meddling: LiveFault,
    ) -> Result<Loaded> {
        let folder = self.folder(name)?;
        let at = |name: &str| folder.join(name);
        for name in ["backing", "point", "base"] {
            fs::create_dir(at(name)).map_err(doing("make", &folder))?;
        }
        TestStore::copy(prepared, &at("backing"))?;
        let classify = self.adapter.classify();
        let mount = Mount::new(
            &at("backing"),
            &at("point"),
            &at("base"),
            classify,
            self.recorded_bytes_max,
        )?;
        let mut running = self.adapter.start(mount.point(), options)?;
        let mut helper = self.work(&*running, mount.point().join(ACKNOWLEDGEMENTS))?;
        let stopped = wait_for_first(&mount, &mut helper);
        let mut until = |end: &dyn Fn() -> bool| until(&mount, &mut helper, end);
        let stopped = stopped.or_else(|| meddling.strike(&mount, &mut until));
        let before = mount.acknowledgements();
        let end = clock::now() + clock::nanos(time);
        let stopped = stopped.or_else(|| until(&|| clock::now() >= end));
        let after = mount.acknowledgements() - before;
        // What it logs from now on is about the power.
        let below = |words: String| without(&words, mount.point());
        let gravest = running.gravest().map(below);
        let stopped = stopped.filter(|_| !mount.is_off()).map(below);
        mount.cut();
        // Nothing can reach the files any more, so it may give back what it holds of the machine.
        running.end(Ending::AtOnce)?;
        helper.kill()?;
        self.go_on()?;
        let struck = mount.struck();
        Ok(Loaded {
            recording: mount.end()?,
            struck,
            stopped: stopped.unwrap_or_default(),
            after,
            gravest,
        })
    }

    /// Loads a store natively, and kills it and its clients some time after the first of them was heard.
    /// What they tell is added to `told`.
    pub(super) fn kill(
        &self,
        store: &Path,
        options: &str,
        told: &Path,
        random: &mut fastrand::Rng,
    ) -> Result<()> {
        let mut running = self.adapter.start(store, options)?;
        let before = bytes(told);
        let mut helper = self.work(&*running, told.to_owned())?;
        // A store that is slow to open is not killed before it was loaded.
        let end = clock::now() + clock::nanos(FIRST_LIMIT);
        while bytes(told) == before && clock::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
        thread::sleep(Duration::from_millis(random.u64(KILLED_WITHIN_MS)));
        running.end(Ending::Killed)?;
        helper.kill()
    }

    /// Starts a child whose clients load a running store.
    pub(super) fn work(
        &self,
        running: &dyn Running,
        acknowledgements: PathBuf,
    ) -> Result<ChildProcess> {
        let mut helper = self.program.start()?;
        let (url, clients) = (running.url(), CLIENTS);
        helper.tell(&match self.lists {
            Some(seed) => Task::Append { url, clients, seed, history: acknowledgements },
            None => Task::Work { url, clients, acknowledgements },
        });
        Ok(helper)
    }
}

/// What came of asking a child about what stands in a directory.
#[derive(Debug)]
pub(super) struct RecoveryResult {
    pub(super) answer: std::result::Result<Answer, ChildFailure>,
    /// The gravest line that the store logged meanwhile.
    pub(super) gravest: Option<String>,
}

impl RecoveryResult {
    /// An answer of a store that logs nothing.
    pub(super) fn of(answer: std::result::Result<Answer, ChildFailure>) -> RecoveryResult {
        RecoveryResult { answer, gravest: None }
    }
}

/// Opens what stands in a directory and says what is there.
pub(super) fn look(
    adapter: &dyn Adapter,
    helper: &mut ChildProcess,
    directory: &Path,
    options: &str,
) -> Result<RecoveryResult> {
    ask(adapter, helper, directory, options, |url| Task::Look { url, clients: CLIENTS })
}

/// Opens what stands in a directory, as a machine that boots does, and lets a child answer of it.
pub(super) fn ask(
    adapter: &dyn Adapter,
    helper: &mut ChildProcess,
    directory: &Path,
    options: &str,
    task: impl FnOnce(String) -> Task,
) -> Result<RecoveryResult> {
    for name in adapter.of_the_machine() {
        remove_file(&directory.join(name))?;
    }
    let mut running = match adapter.start(directory, options) {
        Ok(running) => running,
        Err(Error::Ended(why)) => {
            let why = without(&why, directory);
            return Ok(RecoveryResult::of(Ok(Answer::NotOpened(why))));
        }
        Err(Error::Hangs(_)) => return Ok(RecoveryResult::of(Err(ChildFailure::Hangs))),
        Err(error) => return Err(error),
    };
    helper.tell(&task(running.url()));
    let answer = helper.answer(LOOK_LIMIT);
    let gravest = running.gravest();
    running.end(Ending::AtOnce)?;
    Ok(RecoveryResult {
        answer: answer.map(|answer| answer.in_words(|words| without(&words, directory))),
        gravest: gravest.map(|line| without(&line, directory)),
    })
}

/// What a store said, its files named by their paths below its directory, which is gone when that is read.
fn without(words: &str, directory: &Path) -> String {
    let directory = directory.to_string_lossy();
    let below = words.replace(&format!("{directory}/"), "");
    below.replace(&*directory, "its directory")
}

/// Removes a folder with what is in it, if it is there.
pub(super) fn remove(path: &Path) -> Result<()> {
    removed(path, fs::remove_dir_all(path))
}

/// Removes a file, if it is there.
fn remove_file(path: &Path) -> Result<()> {
    removed(path, fs::remove_file(path))
}

fn removed(path: &Path, done: std::io::Result<()>) -> Result<()> {
    match done {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

fn bytes(told: &Path) -> u64 {
    fs::metadata(told).map_or(0, |found| found.len())
}

/// Waits until the store has acknowledged; why its clients stopped before, if they did.
fn wait_for_first(mount: &Mount, helper: &mut ChildProcess) -> Option<String> {
    let end = clock::now() + clock::nanos(FIRST_LIMIT);
    while mount.acknowledgements() < CLIENTS as u64 && clock::now() < end {
        if let Some(why) = stopped(helper) {
            return Some(why);
        }
    }
    None
}

/// Lets the load run until an end has come; why its clients stopped before, if they did.
fn until(mount: &Mount, helper: &mut ChildProcess, end: &dyn Fn() -> bool) -> Option<String> {
    while !end() && !mount.is_off() {
        if let Some(why) = stopped(helper) {
            return Some(why);
        }
    }
    None
}

/// Waits a moment for the clients to stop; why they did.
fn stopped(helper: &mut ChildProcess) -> Option<String> {
    match helper.answer(Duration::from_millis(5)) {
        Err(ChildFailure::Hangs) => None,
        Ok(Answer::Stopped(why) | Answer::NotOpened(why) | Answer::Unreadable(why)) => Some(why),
        Ok(Answer::Prepared(_) | Answer::Seen(_) | Answer::Lists(_)) => {
            Some("another task was answered".to_owned())
        }
        Err(ChildFailure::Ended(how)) => Some(how),
    }
}

/// How many images are looked at side by side.
pub(super) fn recovery_workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::without;
    use std::path::Path;

    #[test]
    fn what_is_said_names_no_directory_that_is_gone() {
        let said = |words| without(words, Path::new("/scratch/image-0"));
        assert_eq!(said("/scratch/image-0/store.db is no store"), "store.db is no store");
        assert_eq!(said("cannot open /scratch/image-0"), "cannot open its directory");
    }
}
