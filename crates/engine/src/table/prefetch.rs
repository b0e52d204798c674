//! Batched prefetch for several reads and commits, of one transaction or of many clients that take turns on a
//! thread. It affects only how long they wait for memory or for the disk.
//!
//! Two forms differ in what happens to rows that are not in memory. [`Prefetcher::prefetch`] reads them all
//! and waits. [`Prefetcher::begin`] begins to read them, so that the thread can do other things;
//! [`Prefetcher::wait`] waits for some of them at a time.

use crate::access::btree::Tree;
use crate::access::btree::prefetch::{PrefetchTarget, load_leaves, prefetch_leaves};
use crate::buffer::{Buffer, without_misses};
use crate::error::Result;
use crate::ids::PageId;
use crate::table::handle::Table;
use crate::table::loading_rows::{LoadingRows, RowLoad};
use crate::table::typed_session::TypedSession;
use crate::txn::{Core, check_not_in_row_view};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use syncline_instrument::{Module, tag};
use syncline_vfs::{Disk, RealDisk};

/// The key of a row to be read, in reusable memory.
#[derive(Clone, Debug, Default)]
pub struct PrefetchKey {
    pub(super) key: Vec<u8>,
    /// The tree handle of the table that the key was made for; 0 for none.
    pub(super) table: u64,
    /// The leaf in which the prefetcher found it.
    pub(super) leaf: Option<PageId>,
}

/// Prefetches the memory of reads by primary key into the processor's caches, for all of them at once, so
/// that their cache misses overlap.
///
/// Make a row's key with [`TypedSession::prepare_key`](crate::TypedSession::prepare_key) and pass it to
/// [`Prefetcher::add`]. After [`Prefetcher::prefetch`] and [`Prefetcher::set_hint`] read the row with
/// [`TypedSession::get_prefetched`](crate::TypedSession::get_prefetched). A prefetcher belongs to no
/// transaction: its results are hints, and the read verifies them.
///
/// ```
/// use syncline_engine::{Begin, Database, Kind, Options, Schema, PrefetchKey, Value};
/// # fn main() -> syncline_engine::Result<()> {
/// let database = Database::transient(Options::default())?;
/// let schema = Schema::table("number").column("id", Kind::Int).column("square", Kind::Int);
/// let table = database.create_table(schema.key(["id"]).build()?)?;
/// let mut session = database.session()?;
/// session.begin(Begin::Serializable)?;
/// for id in 0..100 {
///     session.insert(&table, &[Value::Int(id), Value::Int(id * id)])?;
/// }
/// let ticket = session.commit()?;
/// session.wait(ticket)?;
///
/// let (mut prefetcher, mut prefetch_key) = (database.prefetcher(), vec![PrefetchKey::default(); 3]);
/// for (id, prefetch_key) in [7, 99, 100].into_iter().zip(&mut prefetch_key) {
///     session.prepare_key(&table, &[Value::Int(id)], prefetch_key)?;
///     prefetcher.add(&table, prefetch_key)?;
/// }
/// prefetcher.prefetch();
/// session.begin(Begin::ReadOnly)?;
/// let squares = [Some(Value::Int(49)), Some(Value::Int(9801)), None];
/// for (position, (prefetch_key, square)) in prefetch_key.iter_mut().zip(squares).enumerate() {
///     prefetcher.set_hint(position, prefetch_key);
///     let row = session.get_prefetched(&table, prefetch_key)?;
///     assert_eq!(row.map(|row| row.value(1)).transpose()?, square);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Prefetcher<D: Disk = RealDisk> {
    core: Arc<Core<D>>,
    keys: Vec<u8>,
    targets: Vec<PrefetchTarget>,
    /// The targets of the last [`Prefetcher::prefetch`] or [`Prefetcher::begin`].
    results: Vec<PrefetchTarget>,
    /// The loads that the last [`Prefetcher::begin`] has begun, by position; fewer at the end of the list.
    begun: Vec<Option<RowLoad>>,
    loading: LoadingRows,
}

impl<D: Disk> Prefetcher<D> {
    pub(crate) fn new(core: &Arc<Core<D>>) -> Prefetcher<D> {
        Prefetcher {
            core: Arc::clone(core),
            keys: Vec::new(),
            targets: Vec::new(),
            results: Vec::new(),
            begun: Vec::new(),
            loading: LoadingRows::default(),
        }
    }

    /// Adds a row. Returns its position for [`Prefetcher::set_hint`] after the next
    /// [`Prefetcher::prefetch`]. A key made for another table of the database is useless here.
    ///
    /// # Errors
    ///
    /// [`Error::OtherDatabase`](crate::Error::OtherDatabase).
    #[inline]
    pub fn add(&mut self, table: &Table, prefetch_key: &PrefetchKey) -> Result<usize> {
        table.check_origin(&self.core.origin)?;
        let start = self.keys.len();
        self.keys.extend_from_slice(&prefetch_key.key);
        let key = start..self.keys.len();
        self.targets.push(PrefetchTarget::new(table.tree(), key));
        Ok(self.targets.len() - 1)
    }

    /// Adds a row if reading it would wait for the disk. Returns its position as [`Prefetcher::add`] does;
    /// none if the row's page is in memory.
    ///
    /// # Errors
    ///
    /// [`Error::OtherDatabase`](crate::Error::OtherDatabase).
    pub fn add_missing(
        &mut self,
        table: &Table,
        prefetch_key: &PrefetchKey,
    ) -> Result<Option<usize>> {
        table.check_origin(&self.core.origin)?;
        if !is_missing(&self.core.buffer, table.tree(), &prefetch_key.key) {
            return Ok(None);
        }
        self.add(table, prefetch_key).map(Some)
    }

    /// Adds the rows that the session's open transaction writes and for which its commit would wait for the
    /// disk. Returns their positions; none for a session of another database.
    #[inline]
    pub fn add_writes(&mut self, session: &TypedSession<D>) -> Range<usize> {
        if !self.core.buffer.may_miss() {
            return 0..0;
        }
        self.add_missing_writes(session)
    }

    #[cold]
    fn add_missing_writes(&mut self, session: &TypedSession<D>) -> Range<usize> {
        let before = self.targets.len();
        if Arc::ptr_eq(session.core(), &self.core) {
            session.each_write(&mut |tree, key| {
                if is_missing(&self.core.buffer, tree, key) {
                    let start = self.keys.len();
                    self.keys.extend_from_slice(key);
                    self.targets.push(PrefetchTarget::new(tree, start..self.keys.len()));
                }
            });
        }
        before..self.targets.len()
    }

    /// Prefetches everything that was added since the last call. Rows that are not in memory are read from
    /// the disk, all at the same time, and the call waits for them; a failed read is reported by the call
    /// that needs the row. A closure that reads a row in place must not wait: there only rows in memory are
    /// prefetched.
    pub fn prefetch(&mut self) {
        let _entered = tag::enter(Module::Access);
        if check_not_in_row_view().is_ok() {
            load_leaves(&self.core.buffer, &self.keys, &mut self.targets);
        } else {
            prefetch_leaves(&self.core.buffer, &self.keys, &mut self.targets);
        }
        self.begun.clear();
        self.finish_pass();
    }

    /// Prefetches what is in memory of everything that was added since the last call, and begins to read the
    /// rest from the disk. It does not wait: [`Prefetcher::load`] returns the load of a row, and
    /// [`Prefetcher::wait`] waits. Reads that cannot begin now are left to the calls that need the rows, and
    /// failed reads are reported by them.
    pub fn begin(&mut self) {
        let _entered = tag::enter(Module::Access);
        let buffer = &self.core.buffer;
        prefetch_leaves(buffer, &self.keys, &mut self.targets);
        self.begun.clear();
        if buffer.may_miss() && check_not_in_row_view().is_ok() {
            let (loading, keys) = (&mut self.loading, &self.keys);
            let begin = |target| loading.begin(buffer, target, keys);
            self.begun.extend(self.targets.iter().map(begin));
            loading.submit();
        }
        self.finish_pass();
    }

    /// The load that the last [`Prefetcher::begin`] has begun for the row at that position; none if the row
    /// was in memory or its read could not begin.
    #[inline]
    pub fn load(&self, position: usize) -> Option<RowLoad> {
        self.begun.get(position).copied().flatten()
    }

    /// True if nothing more is read for that row. Another thread's work may still have removed it from memory
    /// again; then the call that needs it reads it.
    #[inline]
    pub fn is_loaded(&self, load: RowLoad) -> bool {
        self.loading.is_loaded(load)
    }

    /// True if loads are under way.
    #[inline]
    pub fn is_loading(&self) -> bool {
        self.loading.count > 0
    }

    /// Waits until a load under way has come further, so that others can begin while the rest is being read;
    /// returns at once if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::InShownRow`](crate::Error::InShownRow).
    pub fn wait(&mut self) -> Result<()> {
        check_not_in_row_view()?;
        if self.is_loading() {
            let _entered = tag::enter(Module::Access);
            self.loading.wait(&self.core.buffer);
        }
        Ok(())
    }

    fn finish_pass(&mut self) {
        std::mem::swap(&mut self.targets, &mut self.results);
        self.targets.clear();
        self.keys.clear();
    }

    /// Stores the result of the last [`Prefetcher::prefetch`] or [`Prefetcher::begin`] for the row at that
    /// position in its key; no result if there is no such row.
    #[inline]
    pub fn set_hint(&self, position: usize, prefetch_key: &mut PrefetchKey) {
        prefetch_key.leaf = self.results.get(position).and_then(PrefetchTarget::leaf);
    }
}

/// True if a read of the key would have to wait for the disk. Under the latch of a row that is being read in
/// place it does not look.
fn is_missing(buffer: &Buffer, tree: &Tree, key: &[u8]) -> bool {
    buffer.may_miss()
        && check_not_in_row_view().is_ok()
        && without_misses(|| tree.view(buffer, key, |_, _| ())).is_err()
}

impl<D: Disk> fmt::Debug for Prefetcher<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefetcher").field("added", &self.targets.len()).finish_non_exhaustive()
    }
}
