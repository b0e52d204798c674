//! The whole state of a simulated disk, and operations on names; one operation at a time.

use super::content::Content;
use super::crash::{Crash, Fate, Fates, Pending};
use super::fault::{Faults, Kind};
use super::handle::Handle;
use super::names::{Entry, Metadata, Names};
use super::power::Power;
use crate::{Access, Create, OpenOptions};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// Identifies a file of the disk, independently of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileId(u64);

/// The lock of a file, with the handles that hold it.
#[derive(Debug, Default)]
pub(super) enum FileLock {
    #[default]
    Free,
    Exclusive(u64),
    Shared(BTreeSet<u64>),
}

impl FileLock {
    /// Takes the exclusive lock for a handle; false if another one holds a lock.
    pub(super) fn take(&mut self, handle: u64) -> bool {
        match self {
            FileLock::Exclusive(holder) => *holder == handle,
            FileLock::Shared(_) => false,
            FileLock::Free => {
                *self = FileLock::Exclusive(handle);
                true
            }
        }
    }

    /// Takes a shared lock for a handle; false if another one holds the exclusive lock.
    pub(super) fn share(&mut self, handle: u64) -> bool {
        match self {
            FileLock::Exclusive(_) => false,
            FileLock::Shared(holders) => {
                holders.insert(handle);
                true
            }
            FileLock::Free => {
                *self = FileLock::Shared(BTreeSet::from([handle]));
                true
            }
        }
    }

    fn release(&mut self, handle: u64) {
        let is_free = match self {
            FileLock::Exclusive(holder) => *holder == handle,
            FileLock::Shared(holders) => {
                holders.remove(&handle);
                holders.is_empty()
            }
            FileLock::Free => false,
        };
        if is_free {
            *self = FileLock::Free;
        }
    }
}

/// A file, independently of its names.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) content: Content,
    pub(super) lock: FileLock,
    handles: usize,
    /// Failed syncs that each handle must report once.
    pub(super) failed_syncs: u64,
}

/// A simulated disk.
#[derive(Debug)]
pub(super) struct State {
    pub(super) names: Names,
    files: BTreeMap<FileId, File>,
    /// Files that have lost a name, and may be dropped once nothing leads to them.
    unnamed: Vec<FileId>,
    pub(super) faults: Faults,
    pub(super) seed: u64,
    pub(super) power: Power,
    pub(super) random: fastrand::Rng,
    next: u64,
}

impl State {
    pub(super) fn new(seed: u64, model: Metadata) -> State {
        State::with(seed, Names::new(model), BTreeMap::new(), 0)
    }

    fn with(seed: u64, names: Names, files: BTreeMap<FileId, File>, next: u64) -> State {
        State {
            names,
            files,
            unnamed: Vec::new(),
            faults: Faults::default(),
            power: Power::default(),
            seed,
            random: fastrand::Rng::with_seed(seed),
            next,
        }
    }

    pub(super) fn pending(&self) -> Vec<Pending> {
        let names = self.names.pending().map(|sequence| Pending { sequence, is_name: true });
        let contents = self.files.values().flat_map(|file| file.content.pending());
        let writes = contents.map(|sequence| Pending { sequence, is_name: false });
        let mut pending: Vec<_> = names.chain(writes).collect();
        pending.sort_unstable_by_key(|change| change.sequence);
        pending
    }

    /// The disk as a crash leaves it.
    pub(super) fn crash(&self, crash: Crash) -> State {
        let model = self.names.model;
        let fates = Fates::choose(crash, model, &self.pending());
        let tree = self.names.image(|sequence| fates.of(sequence) != Fate::Lost);
        let mut files = BTreeMap::new();
        for entry in tree.values() {
            if let Entry::File(id) = entry {
                let image = self.files[id].content.image(|sequence| fates.of(sequence));
                let content = Content::survived(image);
                files.insert(*id, File { content, ..File::default() });
            }
        }
        State::with(self.seed, Names::survived(model, tree), files, self.next)
    }

    /// Clean pages leave the cache of every file.
    pub(super) fn evict(&mut self) {
        for file in self.files.values_mut() {
            file.content.evict();
        }
    }

    pub(super) fn open(&mut self, path: &Path, options: OpenOptions) -> io::Result<Handle> {
        self.power.check()?;
        let can_create = options.create != Create::Never;
        if can_create && options.access == Access::Read {
            return Err(Errno::INVAL.into());
        }
        let file = match self.names.get(path)? {
            Some(_) if options.create == Create::New => return Err(Errno::EXIST.into()),
            Some(Entry::Directory) => return Err(Errno::ISDIR.into()),
            Some(Entry::File(file)) => file,
            None if can_create => self.create_file(path)?,
            None => return Err(Errno::NOENT.into()),
        };
        let id = self.take();
        let entry = self.file(file);
        entry.handles += 1;
        Ok(Handle {
            file,
            path: path.to_owned(),
            options,
            id,
            reported_failures: entry.failed_syncs,
        })
    }

    /// Closes a handle: its lock is released, and nothing becomes stable.
    pub(super) fn close(&mut self, handle: &Handle) {
        let file = self.file(handle.file);
        file.handles -= 1;
        file.lock.release(handle.id);
        self.forget_unreachable();
    }

    pub(super) fn create_directory(&mut self, path: &Path) -> io::Result<()> {
        let begun = self.power.begin()?;
        let sequence = self.take();
        self.names.create(sequence, path, Entry::Directory)?;
        begun.finish()
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        let begun = self.power.begin()?;
        let sequence = self.take();
        let file = self.names.remove(sequence, path)?;
        self.unnamed.push(file);
        begun.finish()
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let begun = self.power.begin()?;
        // A rename between directories may be two changes.
        let sequence = self.take();
        self.take();
        let replaced = self.names.rename(sequence, from, to)?;
        self.unnamed.extend(replaced);
        begun.finish()
    }

    pub(super) fn list(&mut self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.power.check()?;
        self.names.list(directory)
    }

    pub(super) fn sync_directory(&mut self, directory: &Path) -> io::Result<()> {
        self.power.begin()?.finish()?;
        self.names.directory(directory)?;
        if self.faults.inject(Kind::SyncDirectory, directory).is_some() {
            return Err(Errno::IO.into());
        }
        self.names.sync_directory(directory)?;
        self.forget_unreachable();
        Ok(())
    }

    fn create_file(&mut self, path: &Path) -> io::Result<FileId> {
        let begun = self.power.begin()?;
        let (file, sequence) = (FileId(self.take()), self.take());
        self.names.create(sequence, path, Entry::File(file))?;
        self.files.insert(file, File::default());
        begun.finish()?;
        Ok(file)
    }

    pub(super) fn file(&mut self, id: FileId) -> &mut File {
        self.files.get_mut(&id).expect("a file with a handle or a name is kept")
    }

    /// Drops files that have no handle and no name, now or in any crash image.
    pub(super) fn forget_unreachable(&mut self) {
        let (names, files) = (&self.names, &mut self.files);
        self.unnamed.retain(|id| {
            let is_used = names.mention(*id) || files.get(id).is_some_and(|file| file.handles > 0);
            if !is_used {
                files.remove(id);
            }
            is_used
        });
    }

    /// The next number of a change, a file or a handle.
    pub(super) fn take(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}
