//! Opens a database.
//!
//! Opening reads the lock and root of the data file, its map and the tree directory, but no pages: they are
//! loaded when they are needed, or behind ([`super::page_loader`]). It frees pages of trees that the
//! directory does not name; redoes the log's commits behind the root; reads the catalogue; and frees trees
//! that it does not name (`recovery`).

use crate::access::btree::Tree;
use crate::access::btree::extents::{self, EXTENT_POINTER_BYTES, ExtentPointer};
use crate::buffer::{Buffer, BufferOptions, Miss};
use crate::catalog::{CATALOG_TREE, Catalog};
use crate::checkpoint::{DataFile, FORMAT_OF_EXTENTS, FileOptions};
use crate::database::checkpoints::Checkpoints;
use crate::database::create::{DATA, LOG, MAKING};
use crate::database::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId, TreeId};
use crate::log::{self, Durability, Log, Threads};
use crate::options::{BufferMode, Options};
use crate::planted_bug::{PlantedBug, planted};
use crate::recovery::{Redo, Redone, Upgrade};
use crate::sync::ranked::{Mutex, RwLock};
use crate::tree_directory::{TreeDirectory, TreeList};
use crate::txn::{Core, TxnOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use syncline_vfs::{Disk, NullDisk};

/// A database that cannot be opened cannot delete anything to get below the cap.
const ADVICE_AT_OPEN: &str = "open it with a larger cap";

/// Opens a database.
pub(crate) fn open<D: Disk>(
    disk: &D,
    directory: &Path,
    options: Options,
    threads: Threads,
) -> Result<Arc<Engine<D>>> {
    open_for(disk, directory, options, Access::Write(threads))
}

/// Opens a database for reading: recovery happens in memory, and nothing on the disk changes.
pub(crate) fn open_read_only<D: Disk>(
    disk: &D,
    directory: &Path,
    options: Options,
) -> Result<Arc<Engine<D>>> {
    open_for(disk, directory, options, Access::Read)
}

/// What a database is opened for.
enum Access {
    Read,
    Write(Threads),
}

impl Access {
    fn is_read_only(&self) -> bool {
        matches!(self, Access::Read)
    }
}

fn open_for<D: Disk>(
    disk: &D,
    directory: &Path,
    options: Options,
    access: Access,
) -> Result<Arc<Engine<D>>> {
    options.check()?;
    if list(disk, directory)?.is_some_and(|names| names.contains(&MAKING.into())) {
        return Err(Error::Missing {
            directory: directory.to_owned(),
            what: "its creation was interrupted, so it holds nothing; create it again".to_owned(),
        });
    }
    let read_only = access.is_read_only();
    let file_options = FileOptions { read_only, ..file_options(&options) };
    let file = DataFile::open(disk, &directory.join(DATA), &file_options)?;
    let options = Options { page_bytes: file.root().page_bytes, ..options };
    options.check()?;
    let mut parts = Parts::of(&file, directory, &options)?;
    let log = parts.redo(disk, directory, &file, &options, access);
    let log = log.map_err(|error| match error {
        Error::Capped { what, bytes, bytes_max, .. } => {
            Error::Capped { what, bytes, bytes_max, advice: ADVICE_AT_OPEN }
        }
        other => other,
    })?;
    let txn_options = TxnOptions { read_only, ..txn_options(&options) };
    parts.assemble(log, Some(file), (options, txn_options), directory)
}

/// A database in memory only, with a log that discards its writes.
pub(crate) fn transient(options: Options) -> Result<Arc<Engine<NullDisk>>> {
    options.check()?;
    let options = Options { buffer_mode: BufferMode::Resident, ..options };
    let directory = Path::new("");
    let disk = NullDisk::default();
    let log_options =
        log::Options { durability: Durability::None, archive: None, ..options.log.clone() };
    let database = DatabaseId::random();
    let parts = Parts::new(&options);
    let threads = parts.log_threads(Threads::Own);
    let log = Log::create_with(&disk, directory, database, log_options, threads)?;
    parts.create_catalog_tree()?;
    let txn_options = txn_options(&options);
    parts.assemble(log, None, (options, txn_options), directory)
}

/// The parts on which recovery works.
pub(super) struct Parts {
    pub(super) buffer: Buffer,
    pub(super) tree_directory: TreeDirectory,
    redone: Redone,
    /// The greatest number of a tree with stray pages.
    newest_stray: Option<TreeId>,
}

impl Parts {
    /// Those of an empty database.
    pub(super) fn new(options: &Options) -> Parts {
        Parts {
            buffer: buffer(options),
            tree_directory: TreeDirectory::default(),
            redone: Redone::default(),
            newest_stray: None,
        }
    }

    /// Those of a data file, before anything is redone. Pages may pass the cap until the engine is assembled.
    pub(super) fn of<D: Disk>(
        file: &DataFile<D>,
        directory: &Path,
        options: &Options,
    ) -> Result<Parts> {
        let listed = listed(file, directory)?;
        let mut parts = Parts { tree_directory: listed.tree_directory, ..Parts::new(options) };
        parts.find_pages(file, options.resident_bytes_max)?;
        parts.buffer.set_passes_cap(true);
        if file.root().format < FORMAT_OF_EXTENTS {
            parts.upgrade(file, &listed.orphans)?;
        } else if !planted(PlantedBug::KeepOrphans) {
            for orphan in listed.orphans {
                let pointer = ExtentPointer::from_value(&orphan);
                let pointer =
                    pointer.ok_or_else(|| damaged_list(directory, "an orphan is no value"))?;
                extents::free(&parts.buffer, pointer);
            }
        }
        parts.free_strays();
        parts.create_catalog_tree()?;
        Ok(parts)
    }

    /// The threads of a log whose files the maintenance thread prepares.
    pub(super) fn log_threads(&self, threads: Threads) -> Threads {
        match threads {
            Threads::Own => Threads::Writers(Arc::clone(self.buffer.low())),
            other => other,
        }
    }

    /// Takes note of every page of the data file, without reading any, and of the file as their source.
    pub(super) fn find_pages<D: Disk>(&mut self, file: &DataFile<D>, bytes_max: u64) -> Result<()> {
        let (root, reader) = (file.root(), Box::new(file.reader()));
        self.buffer.set_on_disk(file.page_map(), reader, root.next_page, root.csn);
        let bytes = self.buffer.bytes_with_promised();
        if bytes > bytes_max && !self.buffer.evicts() {
            let what = "the database in memory (resident_bytes_max)";
            return Err(Error::Capped { what, bytes, bytes_max, advice: ADVICE_AT_OPEN });
        }
        Ok(())
    }

    /// Converts the long values of a data file of format 2, and frees those that no row holds.
    fn upgrade<D: Disk>(
        &self,
        file: &DataFile<D>,
        orphans: &[[u8; EXTENT_POINTER_BYTES]],
    ) -> Result<()> {
        // Chains are followed from page to page.
        let mut hold = self.buffer.hold_eviction();
        for (page, _tree) in self.buffer.labelled(|_tree| true) {
            hold.load(Miss(page))?;
        }
        let broken = |page| file.refuse(page, "the chain of a long value breaks at this page");
        let upgrade = Upgrade::new(&self.buffer, &broken);
        for orphan in orphans {
            upgrade.take(*orphan)?;
        }
        for tree in self.tree_directory.trees() {
            upgrade.convert_values(&tree)?;
        }
        Ok(())
    }

    /// Frees pages of trees that the checkpoint's tree directory does not name: at its snapshot they were
    /// being built, or freed after a drop. This comes before redo, which may make a tree of that number.
    fn free_strays(&mut self) {
        if planted(PlantedBug::KeepStrayPages) {
            return;
        }
        let is_stray = |tree| self.tree_directory.tree(tree).is_none();
        let strays: Vec<_> = self.buffer.labelled(is_stray).collect();
        for (page, _tree) in &strays {
            self.buffer.free(*page);
        }
        self.newest_stray = strays.iter().map(|(_page, tree)| *tree).max();
    }

    /// Makes the catalogue's tree, which exists from the start without a log record.
    pub(super) fn create_catalog_tree(&self) -> Result<()> {
        if self.tree_directory.tree(CATALOG_TREE).is_none() {
            let tree = Tree::create(CATALOG_TREE, &self.buffer)?;
            self.tree_directory.add(Arc::new(tree));
        }
        Ok(())
    }

    fn redo<D: Disk>(
        &mut self,
        disk: &D,
        directory: &Path,
        file: &DataFile<D>,
        options: &Options,
        access: Access,
    ) -> Result<Log<D>> {
        let (root, log_directory) = (file.root(), log_directory(directory, options));
        let mut redo = Redo::new(&self.buffer, &self.tree_directory);
        let replay = &mut |csn: Csn, record: &[u8]| redo.commit(csn, record);
        let replay_from = Csn(root.csn.0 + u64::from(planted(PlantedBug::ReplayTooLate)));
        let (path, database, options) = (&log_directory, root.database, &options.log);
        let log = match access {
            Access::Read => {
                Log::open_read_only(disk, path, database, replay_from, options, replay)?
            }
            Access::Write(threads) => {
                let threads = self.log_threads(threads);
                Log::open_with(disk, path, Some(database), replay_from, options, replay, threads)?
            }
        };
        self.redone = redo.finish()?;
        Ok(log)
    }

    /// The catalogue, up to what has been redone.
    pub(super) fn read_catalog(&self) -> Result<Catalog> {
        let tree = self.tree_directory.tree(CATALOG_TREE);
        let tree = tree.expect("the catalogue's tree is always there");
        let mut rows = Vec::new();
        tree.walk(&self.buffer, &mut |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            Ok(())
        })?;
        if rows.is_empty() {
            return Ok(Catalog::new());
        }
        Catalog::read(rows.iter().map(|(key, value)| (&key[..], &value[..])))
    }

    /// Frees trees that were built and never committed: a checkpoint contained them, but no catalogue names
    /// them. Every opening repeats this until the next checkpoint; the numbers stay spent.
    fn free_unnamed(&mut self, mut catalog: Catalog) -> Catalog {
        if let Some(tree) = self.newest_stray {
            catalog = catalog.with_trees_behind(tree);
        }
        let named = catalog.trees();
        for tree in self.tree_directory.trees() {
            catalog = catalog.with_trees_behind(tree.id);
            if tree.id == CATALOG_TREE
                || named.contains(&tree.id)
                || planted(PlantedBug::KeepUnfinished)
            {
                continue;
            }
            self.tree_directory.remove(tree.id);
            tree.drop_pages(&self.buffer);
            self.redone.unnamed_trees.push(tree.id);
        }
        catalog
    }

    pub(super) fn assemble<D: Disk>(
        mut self,
        log: Log<D>,
        file: Option<DataFile<D>>,
        (options, txn_options): (Options, TxnOptions),
        directory: &Path,
    ) -> Result<Arc<Engine<D>>> {
        let read_only = txn_options.read_only;
        let catalog = self.free_unnamed(self.read_catalog()?);
        let engine = self.engine(log, file, (options, txn_options), (directory, catalog));
        if read_only {
            return Ok(engine);
        }
        engine.relieve_writers();
        engine.drop_unfinished()?;
        if engine.checkpoints.is_some() && !engine.options.checkpoint_by_itself {
            let bytes_max = engine.options.checkpoint_segment_bytes.saturating_mul(2);
            engine.core.cap_log(bytes_max);
        }
        Ok(engine)
    }

    /// An engine in the middle of recovery, for a checkpoint of what has been redone: trees that are still
    /// being built stay.
    pub(super) fn assemble_unfinished<D: Disk>(
        mut self,
        log: Log<D>,
        file: DataFile<D>,
        options: &Options,
        directory: &Path,
    ) -> Result<Arc<Engine<D>>> {
        let catalog = if planted(PlantedBug::FreeUnnamedBetween) {
            self.free_unnamed(self.read_catalog()?)
        } else {
            Catalog::new()
        };
        let options = (options.clone(), txn_options(options));
        Ok(self.engine(log, Some(file), options, (directory, catalog)))
    }

    fn engine<D: Disk>(
        self,
        log: Log<D>,
        file: Option<DataFile<D>>,
        (options, txn_options): (Options, TxnOptions),
        (directory, catalog): (&Path, Catalog),
    ) -> Arc<Engine<D>> {
        self.buffer.set_passes_cap(false);
        let opened_at = log.published();
        let core = Arc::new(Core::new(log, self.buffer, txn_options).in_directory(directory));
        Arc::new(Engine {
            core,
            tree_directory: self.tree_directory,
            listed_tables: Mutex::new(Arc::new(catalog.clone())),
            catalog: RwLock::new(Arc::new(catalog)),
            checkpoints: file.map(Checkpoints::new),
            options,
            directory: directory.to_owned(),
            redone: self.redone,
            opened_at,
            defining: Mutex::new(()),
            hidden: Mutex::default(),
            abandoned: Mutex::default(),
        })
    }
}

/// The directory of a database's log.
pub(crate) fn log_directory(directory: &Path, options: &Options) -> PathBuf {
    let elsewhere = options.log_directory.clone();
    elsewhere.unwrap_or_else(|| directory.join(LOG))
}

fn listed<D: Disk>(file: &DataFile<D>, directory: &Path) -> Result<TreeList> {
    TreeDirectory::from_bytes(&file.root().meta).map_err(|what| damaged_list(directory, what))
}

/// An error for the checkpoint's list of trees and orphans.
fn damaged_list(directory: &Path, what: &str) -> Error {
    Error::Damaged { path: directory.join(DATA), offset: 0, what: what.to_owned() }
}

fn buffer(options: &Options) -> Buffer {
    Buffer::new(&BufferOptions {
        page_bytes: options.page_bytes,
        resident_bytes_max: options.resident_bytes_max,
        pre_image_bytes_max: options.pre_image_bytes_max,
        evicts: options.buffer_mode != BufferMode::Resident,
        value_extent_bytes: options.value_extent_bytes,
        miss_every: options.miss_every,
        ..BufferOptions::default()
    })
}

pub(super) fn file_options(options: &Options) -> FileOptions {
    FileOptions {
        extent_bytes: options.extent_bytes,
        reserve_bytes: options.extent_bytes / 4,
        direct: options.log.direct && options.buffer_mode != BufferMode::Mapped,
        ..FileOptions::default()
    }
}

pub(super) fn txn_options(options: &Options) -> TxnOptions {
    TxnOptions {
        version_bytes_max: options.version_bytes_max,
        read_bytes_max: options.read_bytes_max,
        key_bytes_max: options.key_bytes_max,
        value_bytes_max: options.value_bytes_max,
        retries_max: options.retries,
        exclusive_wait: Duration::from_millis(options.exclusive_wait_ms),
        ..TxnOptions::default()
    }
}

pub(super) fn list<D: Disk>(disk: &D, directory: &Path) -> Result<Option<Vec<PathBuf>>> {
    match disk.list(directory) {
        Ok(names) => Ok(Some(names)),
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
