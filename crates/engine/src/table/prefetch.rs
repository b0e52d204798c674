//! Going ahead of reads, for who has several at hand: of one transaction, or of many clients that take
//! turns on a thread. It changes nothing but how long the reads wait for memory.

use crate::access::btree::prefetch::{PrefetchTarget, prefetch_leaves};
use crate::error::Result;
use crate::ids::PageId;
use crate::table::handle::Table;
use crate::txn::Core;
use std::fmt;
use std::sync::Arc;
use syncline_instrument::{Module, tag};
use syncline_vfs::Disk;

/// The key of a row that will be read, in memory that is used again.
#[derive(Clone, Debug, Default)]
pub struct PrefetchKey {
    pub(super) key: Vec<u8>,
    /// The handle of the table's tree that the key was made for; 0 for none.
    pub(super) table: u64,
    /// Where the scout found it to be.
    pub(super) leaf: Option<PageId>,
}

/// Goes ahead of reads by primary key: brings what they will look at into the processor's caches, for
/// all of them at once, so that they do not wait for it one after the other.
///
/// Rows are sought by [`TypedSession::seek`](crate::TypedSession::seek), made known by [`Prefetcher::add`],
/// and read by [`TypedSession::get_sought`](crate::TypedSession::get_sought) after [`Prefetcher::go`]. It
/// belongs to no transaction: what it has seen is a hint, and the read decides.
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
/// let (mut scout, mut sought) = (database.scout(), vec![PrefetchKey::default(); 3]);
/// for (id, sought) in [7, 99, 100].into_iter().zip(&mut sought) {
///     session.seek(&table, &[Value::Int(id)], sought)?;
///     scout.add(&table, sought)?;
/// }
/// scout.go();
/// session.begin(Begin::ReadOnly)?;
/// let squares = [Some(Value::Int(49)), Some(Value::Int(9801)), None];
/// for (place, (sought, square)) in sought.iter_mut().zip(squares).enumerate() {
///     scout.tell(place, sought);
///     let row = session.get_sought(&table, sought)?;
///     assert_eq!(row.map(|row| row.value(1)).transpose()?, square);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Prefetcher<D: Disk> {
    core: Arc<Core<D>>,
    keys: Vec<u8>,
    targets: Vec<PrefetchTarget>,
    /// Those of the last [`Prefetcher::go`].
    seen: Vec<PrefetchTarget>,
}

impl<D: Disk> Prefetcher<D> {
    pub(crate) fn new(core: &Arc<Core<D>>) -> Prefetcher<D> {
        Prefetcher {
            core: Arc::clone(core),
            keys: Vec::new(),
            targets: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Makes a sought row known; answers its place among those of the next [`Prefetcher::go`]. A row that was
    /// sought in another table of the database is looked for in vain.
    ///
    /// # Errors
    ///
    /// [`Error::OtherDatabase`](crate::Error::OtherDatabase).
    #[inline]
    pub fn add(&mut self, table: &Table, sought: &PrefetchKey) -> Result<usize> {
        table.check_origin(&self.core.origin)?;
        let start = self.keys.len();
        self.keys.extend_from_slice(&sought.key);
        let key = start..self.keys.len();
        self.targets.push(PrefetchTarget::new(table.tree(), key));
        Ok(self.targets.len() - 1)
    }

    /// Goes ahead of everything that was added since the last time. Waits for nothing.
    pub fn go(&mut self) {
        let _entered = tag::enter(Module::Access);
        prefetch_leaves(&self.core.buffer, &self.keys, &mut self.targets);
        std::mem::swap(&mut self.targets, &mut self.seen);
        self.targets.clear();
        self.keys.clear();
    }

    /// Hands over what the last [`Prefetcher::go`] learned of the row at that place; nothing if there is
    /// none.
    #[inline]
    pub fn tell(&self, place: usize, sought: &mut PrefetchKey) {
        sought.leaf = self.seen.get(place).and_then(PrefetchTarget::leaf);
    }
}

impl<D: Disk> fmt::Debug for Prefetcher<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefetcher").field("added", &self.targets.len()).finish_non_exhaustive()
    }
}
