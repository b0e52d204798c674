//! A small store for tests: two trees of small pages, its log on a simulated disk.

use crate::access::btree::Tree;
use crate::buffer::{Buffer, BufferOptions, MemoryEvictor};
use crate::error::PatchFailure;
use crate::ids::{DatabaseId, TreeId};
use crate::log::{Log, Options, Threads};
use crate::txn::scan::{Direction, Scan};
use crate::txn::session::Session;
use crate::txn::{Begin, Core, TxnOptions};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::Metadata;

pub(in crate::txn) type TestSession = Session<SimulatedDisk>;

/// A store with two trees.
pub(in crate::txn) struct Store {
    pub(in crate::txn) core: Arc<Core<SimulatedDisk>>,
    pub(in crate::txn) tree: Arc<Tree>,
    pub(in crate::txn) other: Arc<Tree>,
    /// If pages may be evicted.
    pub(in crate::txn) evictor: Option<MemoryEvictor>,
}

/// The parameters of a store.
pub(in crate::txn) struct StoreConfig {
    pub(in crate::txn) page_bytes: u32,
    pub(in crate::txn) miss_every: Option<u32>,
    pub(in crate::txn) pre_image_bytes_max: u64,
    pub(in crate::txn) resident_bytes_max: u64,
    pub(in crate::txn) evicts: bool,
    pub(in crate::txn) options: TxnOptions,
}

impl Default for StoreConfig {
    fn default() -> StoreConfig {
        StoreConfig {
            page_bytes: 512,
            miss_every: None,
            pre_image_bytes_max: 1 << 20,
            resident_bytes_max: u64::MAX,
            evicts: false,
            options: TxnOptions::default(),
        }
    }
}

/// A core without trees, its log small and on a simulated disk.
pub(crate) fn simulated_core(
    buffer: &BufferOptions,
    options: TxnOptions,
    threads: Threads,
) -> Core<SimulatedDisk> {
    let log_options =
        Options { record_bytes_max: 64 << 10, segment_bytes: 256 << 10, ..Options::tiny() };
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let log = Log::create_with(&disk, Path::new("log"), DatabaseId::random(), log_options, threads);
    Core::new(log.expect("a new log"), Buffer::new(buffer), options)
}

impl Store {
    pub(in crate::txn) fn new(config: StoreConfig) -> Store {
        Store::with_threads(config, Threads::Own)
    }

    /// The same; `threads` says whether the log has its own threads.
    pub(in crate::txn) fn with_threads(config: StoreConfig, threads: Threads) -> Store {
        let buffer = BufferOptions {
            page_bytes: config.page_bytes,
            value_extent_bytes: 512,
            miss_every: config.miss_every,
            pre_image_bytes_max: config.pre_image_bytes_max,
            resident_bytes_max: config.resident_bytes_max,
            evicts: config.evicts,
            ..BufferOptions::default()
        };
        let mut core = simulated_core(&buffer, config.options, threads);
        let evictor = config.evicts.then(|| core.buffer.evict_to_memory());
        let core = Arc::new(core);
        let tree = |id| Arc::new(Tree::create(TreeId(id), &core.buffer).expect("room for a tree"));
        let (tree, other) = (tree(1), tree(2));
        Store { core, tree, other, evictor }
    }

    pub(in crate::txn) fn session(&self) -> TestSession {
        Session::new(&self.core).expect("a seat")
    }

    /// Runs a separate transaction and waits until it is stable.
    pub(in crate::txn) fn apply(&self, body: impl Fn(&mut TestSession)) {
        let mut session = self.session();
        let run = session.run(Begin::Serializable, |session| {
            body(session);
            Ok(())
        });
        session.wait(run.expect("a commit").1).expect("a stable commit");
    }

    /// Everything in a tree, as a new transaction sees it.
    pub(in crate::txn) fn rows(&self, tree: &Arc<Tree>) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut session = self.session();
        session.begin(Begin::Serializable).unwrap();
        let rows = scan_all(&mut session, tree).unwrap();
        session.abort();
        rows
    }

    /// Asserts that the trees are well formed and that no garbage remains.
    pub(in crate::txn) fn assert_clean(&self) {
        self.core.log.flush().unwrap();
        // A ghost is removed once its commit is stable, an empty leaf with its last ghost.
        self.core.sweep();
        for tree in [&self.tree, &self.other] {
            assert_eq!(tree.check(&self.core.buffer), Vec::<String>::new());
            let mut from = Some(Vec::new());
            while let Some(key) = from {
                from = tree
                    .view(&self.core.buffer, &key, |leaf, _| {
                        for slot in 0..leaf.count() {
                            let word = leaf.word(slot);
                            assert!(!word.is_locked() && !word.is_ghost(), "{word:?}");
                        }
                        leaf.upper_fence().map(<[u8]>::to_vec)
                    })
                    .unwrap_or_else(|miss| {
                        self.core.buffer.load(miss).unwrap();
                        Some(key.clone())
                    });
            }
        }
        assert_eq!(self.core.versions.count(), 0);
        assert_eq!(self.core.garbage.len(), 0);
        assert_eq!(self.core.open_transactions(), 0);
    }
}

/// The whole range, ascending.
pub(in crate::txn) const ALL: Scan<'static> = Scan {
    lower: Bound::Unbounded,
    upper: Bound::Unbounded,
    direction: Direction::Ascending,
    limit: usize::MAX,
};

pub(in crate::txn) fn scan_all(
    session: &mut TestSession,
    tree: &Arc<Tree>,
) -> crate::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    scan(session, tree, ALL)
}

pub(in crate::txn) fn scan(
    session: &mut TestSession,
    tree: &Arc<Tree>,
    range: Scan<'_>,
) -> crate::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut rows = Vec::new();
    session.scan(tree, range, |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

/// A patch that appends its bytes, up to 60 in total.
pub(in crate::txn) fn append(
    patch: &[u8],
    old: &[u8],
    new: &mut Vec<u8>,
) -> Result<(), PatchFailure> {
    if old.len() + patch.len() > 60 {
        return Err(PatchFailure::Bound { column: 0 });
    }
    new.extend_from_slice(old);
    new.extend_from_slice(patch);
    Ok(())
}

/// A patch that sets the row's length, so that the row moves into and out of extents.
#[allow(clippy::unnecessary_wraps, reason = "it is a patch, and those may fail")]
pub(in crate::txn) fn resize(
    patch: &[u8],
    old: &[u8],
    new: &mut Vec<u8>,
) -> Result<(), PatchFailure> {
    let bytes = u16::from_le_bytes([patch[0], patch[1]]);
    new.extend_from_slice(old);
    new.resize(usize::from(bytes), patch[2]);
    Ok(())
}
