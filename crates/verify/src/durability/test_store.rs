//! A store under test: made, loaded and killed in one scratch folder, which is removed when the verification
//! ends.

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
use syncline_launcher::ShutdownMode;

/// Time limit for a store to open, recover and be read.
pub(super) const RECOVERY_LIMIT: Duration = Duration::from_mins(1);

/// Time limit until a store has acknowledged its first transactions.
const FIRST_LIMIT: Duration = Duration::from_secs(30);

/// When a store is killed, counted from its first acknowledgement.
const KILLED_WITHIN_MS: Range<u64> = 10..300;

/// The most bytes in a recording, unless a request sets another limit.
pub const RECORDED_BYTES_MAX: u64 = 512 << 20;

/// Number of clients that load a store.
pub(super) const CLIENTS: i64 = 4;

/// The store and the environment of one verification.
#[derive(Debug)]
pub(super) struct TestStore<'g> {
    pub(super) adapter: &'static dyn Adapter,
    /// How to start children, with the environment variables for this store.
    pub(super) program: ChildProgram,
    /// A managed folder, removed at the end.
    pub(super) scratch: PathBuf,
    /// Set from outside to end the verification.
    pub(super) stop: &'g AtomicBool,
    /// If set, clients append to lists, with this seed, instead of counting in tallies.
    pub(super) lists: Option<u64>,
    /// The most bytes in a recording; then the power goes off.
    pub(super) recorded_bytes_max: u64,
}

/// A loaded store after the power was cut.
#[derive(Debug)]
pub(super) struct LoadResult {
    pub(super) recording: Recording,
    pub(super) fault_counts: InjectedFault,
    /// Why its clients stopped before the power was cut; empty if they did not. A full recording also cuts
    /// the power.
    pub(super) stopped: String,
    /// Transactions acknowledged after the faults had struck.
    pub(super) after: u64,
    /// The most severe line that the store had logged by then.
    pub(super) most_severe_line: Option<String>,
}

impl<'g> TestStore<'g> {
    /// The environment for a store, by its name.
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
    /// Fails if the verification should end; later results may be caused by the stop.
    pub(super) fn check_not_stopped(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::cannot("stopped before the verification was done"));
        }
        Ok(())
    }

    /// Why power losses cannot be simulated here; none if they can.
    pub(super) fn no_power(&self) -> Result<Option<String>> {
        fs::create_dir_all(&self.scratch).map_err(doing("make", &self.scratch))?;
        Ok(Mount::check_works(&self.scratch))
    }

    /// A new empty folder.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.scratch.join(name);
        remove(&path)?;
        fs::create_dir_all(&path).map_err(doing("make", &path))?;
        Ok(path)
    }

    /// Makes a store with its tables in `directory`, and shuts it down in an orderly way.
    pub(super) fn prepare(&self, directory: &Path, options: &str) -> Result<Settings> {
        TestStore::copy(&self.initial_state()?, directory)?;
        let mut running = self.adapter.start(directory, options)?;
        let mut helper = self.program.start()?;
        let url = running.url();
        helper.send(&match self.lists {
            Some(_) => Task::MakeLists { url },
            None => Task::Prepare { url, clients: CLIENTS, ballast: self.adapter.ballast() },
        });
        let answer = helper.answer(RECOVERY_LIMIT);
        running.end(ShutdownMode::InOrder)?;
        match answer {
            Ok(Answer::Prepared(settings)) => Ok(settings),
            Ok(Answer::NotOpened(why)) => Err(Error::cannot(why)),
            other => Err(Error::cannot(format!("the store could not be created: {other:?}"))),
        }
    }

    /// The initial state of every store, created on first use.
    fn initial_state(&self) -> Result<PathBuf> {
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

    /// Loads a copy of a prepared store on a mount for a time. `live_fault` may strike once the load runs;
    /// the time begins after that. Then the power is cut and the processes are killed.
    pub(super) fn load(
        &self,
        prepared: &Path,
        options: &str,
        name: &str,
        time: Duration,
        live_fault: LiveFault,
    ) -> Result<LoadResult> {
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
        let stopped = stopped.or_else(|| live_fault.strike(&mount, &mut until));
        let before = mount.acknowledgements();
        let end = clock::now() + clock::nanos(time);
        let stopped = stopped.or_else(|| until(&|| clock::now() >= end));
        let after = mount.acknowledgements() - before;
        // Later log lines are about the power cut.
        let below = |words: String| without(&words, mount.point());
        let most_severe_line = running.most_severe_line().map(below);
        let stopped = stopped.filter(|_| !mount.is_off()).map(below);
        mount.cut();
        // The files can no longer change, so the store may release its other resources.
        running.end(ShutdownMode::AtOnce)?;
        helper.kill()?;
        self.check_not_stopped()?;
        let fault_counts = mount.fault_counts();
        Ok(LoadResult {
            recording: mount.end()?,
            fault_counts,
            stopped: stopped.unwrap_or_default(),
            after,
            most_severe_line,
        })
    }

    /// Loads a store on an ordinary file system, and kills it and its clients some time after the first
    /// acknowledgement. The clients append their reports to `log`.
    pub(super) fn kill(
        &self,
        store: &Path,
        options: &str,
        log: &Path,
        random: &mut fastrand::Rng,
    ) -> Result<()> {
        let mut running = self.adapter.start(store, options)?;
        let before = bytes(log);
        let mut helper = self.work(&*running, log.to_owned())?;
        // A store that is slow to open is not killed before it is under load.
        let end = clock::now() + clock::nanos(FIRST_LIMIT);
        while bytes(log) == before && clock::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
        thread::sleep(Duration::from_millis(random.u64(KILLED_WITHIN_MS)));
        running.end(ShutdownMode::Killed)?;
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
        helper.send(&match self.lists {
            Some(seed) => Task::Append { url, clients, seed, history: acknowledgements },
            None => Task::Work { url, clients, acknowledgements },
        });
        Ok(helper)
    }
}

/// A child's answer about a recovered store.
#[derive(Debug)]
pub(super) struct RecoveryResult {
    pub(super) answer: std::result::Result<Answer, ChildFailure>,
    /// The most severe line that the store logged meanwhile.
    pub(super) most_severe_line: Option<String>,
}

impl RecoveryResult {
    /// An answer of a store without a log.
    pub(super) fn of(answer: std::result::Result<Answer, ChildFailure>) -> RecoveryResult {
        RecoveryResult { answer, most_severe_line: None }
    }
}

/// Opens the store in a directory and reads its rows back.
pub(super) fn inspect(
    adapter: &dyn Adapter,
    helper: &mut ChildProcess,
    directory: &Path,
    options: &str,
) -> Result<RecoveryResult> {
    ask(adapter, helper, directory, options, |url| Task::Inspect { url, clients: CLIENTS })
}

/// Opens the store in a directory, as after a reboot, and performs a child's task on it.
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
    helper.send(&task(running.url()));
    let answer = helper.answer(RECOVERY_LIMIT);
    let most_severe_line = running.most_severe_line();
    running.end(ShutdownMode::AtOnce)?;
    Ok(RecoveryResult {
        answer: answer.map(|answer| answer.in_words(|words| without(&words, directory))),
        most_severe_line: most_severe_line.map(|line| without(&line, directory)),
    })
}

/// A store's text with its files named relative to its directory, because the directory will be gone by the
/// time someone reads it.
fn without(words: &str, directory: &Path) -> String {
    let directory = directory.to_string_lossy();
    let below = words.replace(&format!("{directory}/"), "");
    below.replace(&*directory, "its directory")
}

/// Removes a folder and its contents, if it exists.
pub(super) fn remove(path: &Path) -> Result<()> {
    removed(path, fs::remove_dir_all(path))
}

/// Removes a file, if it exists.
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

fn bytes(log: &Path) -> u64 {
    fs::metadata(log).map_or(0, |found| found.len())
}

/// Waits for the first acknowledgements; returns why the clients stopped earlier, if they did.
fn wait_for_first(mount: &Mount, helper: &mut ChildProcess) -> Option<String> {
    let end = clock::now() + clock::nanos(FIRST_LIMIT);
    while mount.acknowledgements() < CLIENTS as u64 && clock::now() < end {
        if let Some(why) = stopped(helper) {
            return Some(why);
        }
    }
    None
}

/// Lets the load run until the condition holds; returns why its clients stopped earlier, if they did.
fn until(mount: &Mount, helper: &mut ChildProcess, end: &dyn Fn() -> bool) -> Option<String> {
    while !end() && !mount.is_off() {
        if let Some(why) = stopped(helper) {
            return Some(why);
        }
    }
    None
}

/// Waits a moment for the clients to stop; returns the reason if they do.
fn stopped(helper: &mut ChildProcess) -> Option<String> {
    match helper.answer(Duration::from_millis(5)) {
        Err(ChildFailure::Hangs) => None,
        Ok(Answer::Stopped(why) | Answer::NotOpened(why) | Answer::Unreadable(why)) => Some(why),
        Ok(Answer::Prepared(_) | Answer::StoreState(_) | Answer::Lists(_)) => {
            Some("the child answered another task".to_owned())
        }
        Err(ChildFailure::Ended(how)) => Some(how),
    }
}

/// Number of images recovered in parallel.
pub(super) fn recovery_workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::without;
    use std::path::Path;

    #[test]
    fn texts_name_files_relative_to_the_store() {
        let shown = |words| without(words, Path::new("/scratch/image-0"));
        assert_eq!(shown("/scratch/image-0/store.db is not a store"), "store.db is not a store");
        assert_eq!(shown("cannot open /scratch/image-0"), "cannot open its directory");
    }
}
