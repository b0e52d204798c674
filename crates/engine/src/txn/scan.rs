//! Reads a range of rows in either direction, including the transaction's own writes.
//!
//! A scan goes from leaf to leaf by key. Under the latch of a leaf it copies the rows of the range into a
//! *batch*; then it releases the latch, looks up old versions and long values, and passes the rows to the
//! visitor. So the visitor runs without a latch, and changes of the tree between two leaves do not matter:
//! the next batch begins exactly where the last one ended.
//!
//! A serializable transaction takes a batch only if none of its words is newer than the read point (otherwise
//! the point moves and the leaf is read again). It records the leaf's part of the range, up to the last row
//! passed to the visitor, in its read set. A snapshot also takes newer rows, ghosts included, to look up
//! their versions: a row deleted after the point still has its ghost in the leaf. Older ghosts are skipped:
//! their rows did not exist at the point.
//!
//! A scan with a limit takes no more rows of a leaf than it may need. Some of them may not count: a newer
//! ghost whose row was also inserted after the point, or a row that the transaction has deleted itself. Each
//! batch takes as many additional rows as all previous batches took in vain, so that a leaf full of such rows
//! is read a few times, not once for each row.

use crate::access::btree::extents::ExtentPointer;
use crate::access::btree::{Goal, ReadAhead, Tree};
use crate::buffer::Leaf;
use crate::conflict::Conflict;
use crate::error::Result;
use crate::ids::Csn;
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{Step, step};
use crate::txn::action::{FoldedRow, Refusal};
use crate::txn::arena::Span;
use crate::txn::core::Core;
use crate::txn::hash::hash;
use crate::txn::read::{add_key, move_read_point, read_extents, resident, still_registered};
use crate::txn::read_set::{NO_COUNTER, Node};
use crate::txn::scan_batch::{Batch, Edge, ScanMemory, Take};
use crate::txn::transaction::Transaction;
use crate::txn::validate::lower_key;
use crate::txn::version::Name;
use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow, Range};
use syncline_vfs::Disk;

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the least key to the greatest.
    Ascending,
    /// From the greatest key to the least.
    Descending,
}

/// A range of keys, with direction and limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a> {
    pub(crate) lower: Bound<&'a [u8]>,
    pub(crate) upper: Bound<&'a [u8]>,
    pub(crate) direction: Direction,
    /// The maximum number of rows passed to the visitor.
    pub(crate) limit: usize,
}

/// The position of a scan and the rest of its range.
struct Progress<'a> {
    scan: Scan<'a>,
    tree: u32,
    /// The end of the range from which the scan comes.
    near: Edge,
    left: usize,
    /// Rows of batches so far that were taken in vain: the next batch takes this many more.
    in_vain: usize,
    /// The transaction's own writes in the range that have not been passed, among the sorted ones.
    own: Range<usize>,
    /// The key of the last row, if the scan stopped there.
    last: Vec<u8>,
    is_stopped: bool,
    /// Rows of the batch that have been passed.
    passed: usize,
    /// The scan stopped at a row that only this transaction has.
    stopped_at_own: bool,
    ahead: ReadAhead,
}

/// Nothing, or a refusal of one of the transaction's own writes.
pub(super) type Outcome = std::result::Result<(), (Refusal, u32)>;

#[cfg(test)]
thread_local! {
    /// Leaves read by scans of this thread, each after a descent.
    pub(in crate::txn) static LEAVES_READ: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Receives key and value of each row; breaking ends the scan.
type Visitor<'v> = &'v mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// Scans a range. `visitor` receives key and value of each row.
pub(super) fn scan<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    tree: u32,
    scan: Scan<'_>,
    visitor: Visitor<'_>,
) -> Result<Outcome> {
    let mut memory = std::mem::take(&mut txn.scan);
    let mut progress = Progress {
        tree,
        near: std::mem::take(&mut memory.near),
        left: scan.limit,
        in_vain: 0,
        own: own_writes(txn, tree, &scan),
        last: std::mem::take(&mut memory.last),
        is_stopped: false,
        passed: 0,
        stopped_at_own: false,
        ahead: ReadAhead::new(),
        scan,
    };
    progress.near.set(match scan.direction {
        Direction::Ascending => scan.lower,
        Direction::Descending => scan.upper,
    });
    let result = scan_with(core, txn, &mut progress, &mut memory, visitor);
    (memory.near, memory.last) = (progress.near, progress.last);
    memory.clear();
    txn.scan = memory;
    result
}

fn scan_with<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    progress: &mut Progress<'_>,
    memory: &mut ScanMemory,
    visitor: Visitor<'_>,
) -> Result<Outcome> {
    let ScanMemory { batch, key, long, .. } = memory;
    while progress.left > 0 {
        fill(core, txn, progress, (batch, key))?;
        let left_before = progress.left;
        if let Err(refusal) = visit_batch(core, txn, progress, (batch, key, long), visitor)? {
            return Ok(Err(refusal));
        }
        if !planted(PlantedBug::GhostCountsAgainstLimit) {
            let handed_out = left_before - progress.left;
            progress.in_vain += batch.len().saturating_sub(handed_out);
        }
        if txn.is_validated() {
            record(core, txn, progress, batch)?;
        }
        if progress.is_stopped || !batch.take_next(&mut progress.near) {
            break;
        }
    }
    Ok(Ok(()))
}

/// Copies the next leaf's rows and restores their state at the read point.
fn fill<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    progress: &mut Progress<'_>,
    (batch, key): (&mut Batch, &mut Vec<u8>),
) -> Result<()> {
    loop {
        step(Step::Read);
        #[cfg(test)]
        LEAVES_READ.set(LEAVES_READ.get() + 1);
        if copy(core, txn, progress, batch)?.is_none() {
            return Err(txn.conflict(Conflict::Dropped));
        }
        txn.newest_read = txn.newest_read.max(batch.newest);
        if !txn.is_validated() || batch.newest <= txn.read_point {
            break;
        }
        move_read_point(core, txn, batch.newest)?;
    }
    if !txn.is_validated() && batch.newest > txn.read_point {
        step(Step::Read);
        find_versions(core, txn, progress.tree, (batch, key));
    }
    still_registered(core, txn)
}

/// Copies the rows of the next leaf of the range; none if the tree is dropped.
fn copy<D: Disk>(
    core: &Core<D>,
    txn: &Transaction,
    progress: &mut Progress<'_>,
    batch: &mut Batch,
) -> Result<Option<()>> {
    let tree: &Tree = &txn.trees[progress.tree as usize];
    let Progress { scan, near, ahead, .. } = progress;
    let near = near.get();
    let upwards = scan.direction == Direction::Ascending;
    let ghosts_after =
        if planted(PlantedBug::GhostCountsAgainstLimit) { Csn::ZERO } else { txn.read_point };
    let take = Take {
        lower: if upwards { near } else { scan.lower },
        upper: if upwards { scan.upper } else { near },
        most: progress.left.saturating_add(progress.in_vain),
        ghosts_after: (!txn.is_validated()).then_some(ghosts_after),
    };
    let buffer = &core.buffer;
    // If the next leaves hold as many rows as the last one.
    let has_limit = scan.limit < usize::MAX && batch.leaf_rows > 0;
    let needed = has_limit.then(|| progress.left.div_ceil(batch.leaf_rows));
    let goal = match near {
        _ if upwards => Goal::Of(lower_key(near)),
        Bound::Included(key) => Goal::Of(key),
        Bound::Excluded(key) => Goal::Before(Some(key)),
        Bound::Unbounded => Goal::Before(None),
    };
    let mut read = || {
        let take_rows = |leaf: &Leaf, page| batch.take(leaf, page, take, upwards);
        match goal {
            Goal::Of(key) => tree.view(buffer, key, take_rows),
            Goal::Before(key) => tree.view_before(buffer, key, take_rows),
        }
    };
    match read() {
        Ok(taken) => return Ok(Some(taken)),
        Err(_missing) => {
            let end = if upwards { scan.upper } else { scan.lower };
            ahead.load((tree, buffer), goal, upwards, bound_key(end), needed);
        }
    }
    resident(buffer, tree, read)
}

/// The key of a bound.
fn bound_key(bound: Bound<&[u8]>) -> Option<&[u8]> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

/// Replaces rows that are newer than the snapshot by their versions.
fn find_versions<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    tree: u32,
    (batch, key): (&mut Batch, &mut Vec<u8>),
) {
    let id = txn.trees[tree as usize].id;
    batch.begin_key(key);
    for row in 0..batch.len() {
        let word = batch.stored_word(row);
        if word.csn() <= txn.read_point {
            continue;
        }
        batch.read(row, 0, key);
        let name = Name { hash: hash(id, key), tree: id, key };
        match core.versions.find(name, txn.read_point, &mut txn.value) {
            Some(version) => batch.set_version(row, version, &txn.value),
            None => batch.set_version(row, word.ghost(), &[]),
        }
    }
}

/// Passes the batch's rows to the visitor, with the transaction's own rows up to its end.
#[inline]
fn visit_batch<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    progress: &mut Progress<'_>,
    (batch, key, long): (&Batch, &mut Vec<u8>, &mut Vec<u8>),
    visitor: Visitor<'_>,
) -> Result<Outcome> {
    progress.passed = 0;
    let mut versions = 0;
    batch.begin_key(key);
    while progress.passed < batch.len() {
        let (word, stored) = batch.read(progress.passed, versions, key);
        let key = &key[..];
        let own = progress.next_own(txn);
        let order = own.map_or(Ordering::Greater, |at| {
            progress.compare(txn.arena.get(txn.writes.get(at).key), key)
        });
        if let (Some(at), Ordering::Less) = (own, order) {
            progress.pass_own();
            if let Err(refusal) = visit_own(txn, progress, at, None, visitor) {
                return Ok(Err(refusal));
            }
        } else {
            versions += usize::from(batch.has_version(progress.passed, versions));
            progress.passed += 1;
            let is_there = !word.is_ghost();
            long.clear();
            let in_extents = is_there && word.is_overflow();
            let pointer = in_extents.then(|| ExtentPointer::from_value(stored));
            let value = match pointer.flatten() {
                Some(pointer) => {
                    if !read_extents(&core.buffer, pointer, long)? {
                        still_registered(core, txn)?;
                        return Err(txn.conflict(Conflict::Dropped));
                    }
                    still_registered(core, txn)?;
                    &long[..]
                }
                None => stored,
            };
            let base = is_there.then_some(value);
            if let (Some(at), Ordering::Equal) = (own, order) {
                progress.pass_own();
                if let Err(refusal) = visit_own(txn, progress, at, base, visitor) {
                    return Ok(Err(refusal));
                }
            } else if let Some(value) = base {
                progress.visit(key, value, false, visitor);
            }
        }
        if progress.is_stopped {
            return Ok(Ok(()));
        }
    }
    Ok(visit_own_rest(txn, progress, batch, visitor))
}

/// Passes the transaction's own rows between the batch's last row and the start of the next batch.
fn visit_own_rest(
    txn: &mut Transaction,
    progress: &mut Progress<'_>,
    batch: &Batch,
    visitor: Visitor<'_>,
) -> Outcome {
    while !progress.is_stopped
        && let Some(at) = progress.next_own(txn)
    {
        let key = txn.arena.get(txn.writes.get(at).key);
        let is_covered = match (batch.next(), progress.scan.direction) {
            (None | Some(Bound::Unbounded), _) => true,
            (Some(Bound::Included(next)), _) => progress.compare(key, next) == Ordering::Less,
            (Some(Bound::Excluded(next)), Direction::Ascending) => key <= next,
            // When descending, the next leaf ends before its neighbour's lower fence: keys equal to it belong
            // here.
            (Some(Bound::Excluded(next)), Direction::Descending) => key >= next,
        };
        if !is_covered {
            break;
        }
        progress.pass_own();
        visit_own(txn, progress, at, None, visitor)?;
    }
    Ok(())
}

/// Passes a row with a write of the transaction, applied to the stored row. An insert of an existing row is
/// refused, as the commit would refuse it.
fn visit_own(
    txn: &mut Transaction,
    progress: &mut Progress<'_>,
    at: u32,
    base: Option<&[u8]>,
    visitor: Visitor<'_>,
) -> Outcome {
    let own = if txn.writes.is_inserted(at) {
        Some(txn.writes.fold(&txn.arena, at, base, &mut txn.folder))
    } else {
        txn.writes.own(&txn.arena, at, &mut txn.folder)
    };
    let folded = match own {
        Some(folded) => folded.map_err(|refusal| (refusal, at))?,
        // Only patches: without a stored row there is nothing to patch.
        None if base.is_none() => return Ok(()),
        None => {
            let folded = txn.writes.fold(&txn.arena, at, base, &mut txn.folder);
            folded.map_err(|refusal| (refusal, at))?
        }
    };
    let value = match folded {
        FoldedRow::Absent => return Ok(()),
        FoldedRow::Base => base.unwrap_or_default(),
        FoldedRow::Arena(span) => txn.arena.get(span),
        FoldedRow::Made => &txn.folder.value,
    };
    let key = txn.arena.get(txn.writes.get(at).key);
    progress.visit(key, value, base.is_none(), visitor);
    Ok(())
}

impl Progress<'_> {
    #[inline]
    fn visit(&mut self, key: &[u8], value: &[u8], is_own: bool, visitor: Visitor<'_>) {
        self.left -= 1;
        if visitor(key, value).is_break() || self.left == 0 {
            self.last.clear();
            self.last.extend_from_slice(key);
            self.is_stopped = true;
            self.stopped_at_own = is_own;
        }
    }

    /// The next of the transaction's own writes in the range.
    #[inline]
    fn next_own(&self, txn: &Transaction) -> Option<u32> {
        let at = match self.scan.direction {
            Direction::Ascending => self.own.clone().next(),
            Direction::Descending => self.own.clone().next_back(),
        };
        at.map(|at| txn.writes.order()[at])
    }

    fn pass_own(&mut self) {
        match self.scan.direction {
            Direction::Ascending => self.own.start += 1,
            Direction::Descending => self.own.end -= 1,
        }
    }

    /// The order of two keys in the scan's direction.
    fn compare(&self, one: &[u8], other: &[u8]) -> Ordering {
        match self.scan.direction {
            Direction::Ascending => one.cmp(other),
            Direction::Descending => other.cmp(one),
        }
    }
}

/// The transaction's own writes in the range, sorted.
fn own_writes(txn: &mut Transaction, tree: u32, scan: &Scan<'_>) -> Range<usize> {
    if txn.writes.is_empty() {
        return 0..0;
    }
    txn.writes.sort(&txn.arena);
    let id = txn.trees[tree as usize].id;
    let (writes, arena) = (&txn.writes, &txn.arena);
    let at = |key: &[u8]| writes.position(arena, id, key);
    let after = |key: &[u8]| {
        let at = at(key);
        let is_it = |&write: &u32| {
            let write = writes.get(write);
            write.id == id && arena.get(write.key) == key
        };
        at + usize::from(writes.order().get(at).is_some_and(is_it))
    };
    let start = match scan.lower {
        Bound::Unbounded => at(&[]),
        Bound::Included(key) => at(key),
        Bound::Excluded(key) => after(key),
    };
    let end = match scan.upper {
        Bound::Unbounded => writes.end(id),
        Bound::Included(key) => after(key),
        Bound::Excluded(key) => at(key),
    };
    start..end.max(start)
}

/// Adds the scanned part of the range to the read set.
fn record<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    progress: &Progress<'_>,
    batch: &Batch,
) -> Result<()> {
    let near = add_bound(core, txn, progress.near.get())?;
    let mut slots = batch.slots.clone();
    let far = if progress.is_stopped {
        if let Some(last) = progress.passed.checked_sub(1).map(|row| batch.slot(row)) {
            match progress.scan.direction {
                Direction::Ascending => slots.end = last + 1,
                Direction::Descending => slots.start = last,
            }
        }
        Bound::Included(add_key(core, txn, &progress.last)?)
    } else {
        let far = match (batch.next(), progress.scan.direction) {
            (Some(Bound::Included(next)), _) => Bound::Excluded(next),
            // The range ends at a row, in either direction; or at a fence, when descending.
            (Some(Bound::Excluded(next)), _) => Bound::Included(next),
            (Some(Bound::Unbounded) | None, Direction::Ascending) => progress.scan.upper,
            (Some(Bound::Unbounded) | None, Direction::Descending) => progress.scan.lower,
        };
        add_bound(core, txn, far)?
    };
    let (lower, upper) = match progress.scan.direction {
        Direction::Ascending => (near, far),
        Direction::Descending => (far, near),
    };
    // Ghosts behind the last passed row are in the range, but not among its slots.
    let by_slots = !progress.stopped_at_own;
    txn.reads.nodes.push(Node {
        tree: progress.tree,
        page: batch.page,
        counter: if by_slots { batch.counter } else { NO_COUNTER },
        first: slots.start,
        slots: slots.end - slots.start,
        lower,
        upper,
    });
    Ok(())
}

fn add_bound<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    bound: Bound<&[u8]>,
) -> Result<Bound<Span>> {
    Ok(match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(add_key(core, txn, key)?),
        Bound::Excluded(key) => Bound::Excluded(add_key(core, txn, key)?),
    })
}
