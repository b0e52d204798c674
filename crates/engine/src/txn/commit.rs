//! The commit: turns private writes into the next commit of the total order.
//!
//! The module `txn` describes the steps and the reasons for their order; here they follow one another. If
//! something is missing inside the section (room in the pool of pre-images, a page, a longer record, memory
//! below its cap), the commit unlocks everything, leaves the section, gets what it lacks and begins again. It
//! has no number by then, unless it is a page that the final validation lacks: that number becomes void.

use crate::access::btree::SPLIT_PAGES;
use crate::access::btree::extents;
use crate::access::btree::prefetch::{PrefetchTarget, load_leaves};
use crate::buffer::VersionWord;
use crate::buffer::{
    MemoryNeed, Miss, MissesOff, RECLAIMS_MAX, prefetch, retry_at_cap, without_misses,
};
use crate::conflict::Conflict;
use crate::error::{Error, Result};
use crate::ids::{Csn, PageId, TreeId};
use crate::log::{Permit, Ticket};
use crate::step::{Step, step};
use crate::thread_slot;
use crate::txn::action::Refusal;
use crate::txn::apply::{apply, collect};
use crate::txn::commit_gate::Section;
use crate::txn::core::Core;
use crate::txn::lock::{lock_rows, unlock_rows};
use crate::txn::part_timers::Part;
use crate::txn::read::resident;
use crate::txn::record::put_bytes_max;
use crate::txn::refusal::refuse_commit;
use crate::txn::transaction::{After, Row, Transaction};
use crate::txn::validate::{Check, Stopped, validate, validate_in_section};
use std::ops::RangeInclusive;
use syncline_instrument::{Module, clock, tag};
use syncline_vfs::Disk;

/// Rounds of a commit before it counts as a conflict. Each round removes an obstacle, but others may appear
/// meanwhile.
const ROUNDS_MAX: u32 = 10_000;

/// The assumed length of patched rows is that of the longest in the session's previous transaction, within
/// these limits in bytes. A longer row costs another round; a larger guess would cost log room for all of
/// them.
const PATCHED_BYTES_GUESS: RangeInclusive<usize> = 256..=4096;

/// Bytes of the next record to prefetch.
const RECORD_PREFETCH_BYTES: usize = 512;

/// Rows that a commit must write for a batched prefetch: for fewer it costs more than it gains.
const PREFETCH_ROWS_MIN: usize = 8;

/// Why rows could not be locked.
#[derive(Debug)]
pub(super) enum LockFailure {
    /// Must be done outside the section; then the commit begins again.
    Needs(Need),
    Conflict(Conflict),
    /// The rows refuse the write of that row, whose version was read.
    Refused {
        row: u32,
        refusal: Refusal,
        seen: Csn,
    },
    Failed(Error),
}

/// What a commit needs before it begins again.
#[derive(Debug)]
pub(super) enum Need {
    /// Room in the pool of pre-images.
    PreImages,
    /// That page.
    Page(PageId),
    /// A longer log record.
    Record,
    /// That memory for pages, which was refused with this error.
    Memory(MemoryNeed, Error),
}

/// Commits a transaction with writes. Whether it succeeds or not, the transaction is over.
pub(super) fn commit<D: Disk>(core: &Core<D>, txn: &mut Transaction) -> Result<Ticket> {
    let committed = commit_rounds(core, txn);
    if committed.is_err() {
        give_back(core, txn);
    }
    committed
}

fn commit_rounds<D: Disk>(core: &Core<D>, txn: &mut Transaction) -> Result<Ticket> {
    #[cfg(test)]
    if let Some(order) = crate::txn::tests::wrong_order::planted_order() {
        return crate::txn::tests::wrong_order::commit(core, txn, order);
    }
    plan(core, txn)?;
    prefetch_rows(core, txn)?;
    let mut hold = core.buffer.hold_eviction();
    for _ in 0..ROUNDS_MAX {
        let permit = prepare(core, txn)?; // a: may wait, may fail
        let Some(section) = enter(core, txn) else {
            drop(permit); // the thread that closed the gate may need its room
            core.wait_for_gate()?;
            continue;
        };
        if txn.alone.is_none() && txn.trees.iter().any(|tree| tree.is_dropped()) {
            // A tree is dropped only behind the closed gate, so it stays as it is until this section ends.
            // Its pages are freed bit by bit afterwards, so rows must not even be locked there.
            leave(section);
            return Err(Error::Conflict(Conflict::Dropped));
        }
        let _failing = core.fail_on_panic("a commit");
        let permit = PanicGuard(Some(permit));
        let misses_off = MissesOff::begin();
        let locked = {
            let _doing = core.watch.enter(Part::Lock, txn.is_measured);
            lock_rows(core, txn)
        };
        if let Err(stopped) = locked {
            // b: rows in order, one latch at a time; may still fail
            unlock_rows(core, txn);
            leave(section);
            drop(misses_off);
            drop(permit);
            if let LockFailure::Needs(Need::Page(page)) = stopped {
                // All leaves of the commit are needed at once.
                hold.load(Miss(page))?;
                continue;
            }
            resolve(core, txn, stopped)?;
            continue;
        }
        let doing = core.watch.enter(Part::Timestamp, txn.is_measured);
        let number = take_number(permit.disarm()); // c: from here on nothing waits or allocates
        drop(doing);
        if let Err(stopped) = validate_reads(core, txn) {
            // d: the only way to fail now
            unlock_rows(core, txn);
            step(Step::Publish);
            number.void();
            leave(section);
            match stopped {
                Stopped::Conflict(conflict) => return Err(Error::Conflict(conflict)),
                // A leaf that was read has changed its keys and left memory since: that is not a conflict.
                Stopped::Miss(page) => hold.load(Miss(page))?,
            }
            continue;
        }
        if txn.is_measured {
            txn.marks.validated = clock::now();
        }
        apply(core, txn, number.csn()); // e: values, words, unlocked
        step(Step::Publish);
        let ticket = number.publish(&mut txn.commit.record); // f: it may be acknowledged once stable
        prefetch_record(&txn.commit.record);
        collect(core, txn, ticket.csn);
        leave(section); // g
        drop(hold);
        return Ok(ticket);
    }
    Err(Error::Conflict(Conflict::Locked))
}

/// Prefetches the memory of the next record, which was last used a group of commits ago.
#[inline]
fn prefetch_record(record: &Vec<u8>) {
    prefetch(record.as_ptr().addr(), record.capacity().min(RECORD_PREFETCH_BYTES));
}

/// The permit while rows are being locked. A panic then would leave rows locked forever, so it closes the
/// log, as a panic between number and record does.
struct PanicGuard<'c, D: Disk>(Option<Permit<'c, D>>);

impl<'c, D: Disk> PanicGuard<'c, D> {
    #[inline]
    fn disarm(mut self) -> Permit<'c, D> {
        self.0.take().expect("the guard is disarmed only once")
    }
}

impl<D: Disk> Drop for PanicGuard<'_, D> {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(permit) = self.0.take()
        {
            // A number that is neither published nor given up.
            drop(permit.take());
        }
    }
}

/// Done once per commit: sorts the rows, and writes long values to extents.
pub(super) fn plan<D: Disk>(core: &Core<D>, txn: &mut Transaction) -> Result<()> {
    txn.check()?;
    let Transaction { writes, reads, arena, commit, .. } = txn;
    commit.rows.clear();
    commit.reclaims = 0;
    writes.sort(arena);
    let mut before = None;
    for &at in writes.order() {
        let write = writes.get(at);
        let (id, key) = (write.id, arena.get(write.key));
        let follows = before.is_some_and(|before| follows(before, (id, key)));
        before = Some((id, key));
        commit.rows.push(Row {
            write: at,
            slot: 0,
            page: write.read.map(|read| reads.reads[read as usize].page),
            follows,
            counter: 0,
            was: VersionWord(0),
            after: After::Same,
            is_locked: false,
            version: None,
            pointer: None,
        });
    }
    let (first, most) = PATCHED_BYTES_GUESS.into_inner();
    commit.patched_bytes_guess = std::mem::take(&mut commit.patched_bytes).clamp(first, most);
    (commit.more_bytes, commit.plain_bytes) = (0, 0);
    for at in 0..txn.commit.rows.len() {
        write_if_long(core, txn, at)?;
    }
    Ok(())
}

/// Writes the value of a row to extents if it is too long for a leaf and already known. At the cap on
/// memory it first reclaims what no reader needs.
fn write_if_long<D: Disk>(core: &Core<D>, txn: &mut Transaction, at: usize) -> Result<()> {
    let write = txn.commit.rows[at].write;
    let Some(value) = txn.writes.plain_value(write) else {
        return Ok(());
    };
    let write = txn.writes.get(write);
    let id = write.id;
    txn.commit.plain_bytes += write.key.len() + value.len();
    if !extents::is_needed(&core.buffer, value.len()) {
        return Ok(());
    }
    let needed = extents::memory(&core.buffer, value.len());
    let pointer = retry_at_cap(
        txn,
        |txn| core.reclaim(Some(txn), needed),
        |txn| extents::write(&core.buffer, id, txn.arena.get(value)),
    )?;
    txn.commit.rows[at].pointer = Some(pointer);
    Ok(())
}

/// True if two rows of a tree differ only in the last byte of their keys: they are likely in one leaf.
#[inline]
fn follows((tree, key): (TreeId, &[u8]), (other_tree, other): (TreeId, &[u8])) -> bool {
    let but_last = |key: &'_ [u8]| key.len().saturating_sub(1);
    tree == other_tree
        && key.len() == other.len()
        && key[..but_last(key)] == other[..but_last(other)]
}

/// Prefetches the leaves of many rows at once, so that locking does not wait for them one by one, and loads
/// those that are not resident. Skips rows whose leaf was read before or, if a leaf costs no read of the
/// disk, is likely that of a neighbour.
fn prefetch_rows<D: Disk>(core: &Core<D>, txn: &mut Transaction) -> Result<()> {
    let Transaction { writes, arena, commit, trees, .. } = txn;
    let may_miss = core.buffer.may_miss();
    let needs_prefetch = |row: &&mut Row| row.page.is_none() && (!row.follows || may_miss);
    if commit.rows.len() < PREFETCH_ROWS_MIN
        || commit.rows.iter_mut().filter(needs_prefetch).count() < PREFETCH_ROWS_MIN
    {
        return Ok(());
    }
    let _entered = tag::enter(Module::Access);
    commit.ahead.clear();
    for row in commit.rows.iter_mut().filter(needs_prefetch) {
        let write = writes.get(row.write);
        let tree = &trees[write.tree as usize];
        commit.ahead.push(PrefetchTarget::new(tree, write.key.range()));
    }
    load_leaves(&core.buffer, arena.bytes(), &mut commit.ahead);
    let prefetched = commit.rows.iter_mut().filter(needs_prefetch);
    for (row, target) in prefetched.zip(&commit.ahead) {
        row.page = target.leaf();
        if row.page.is_none() {
            let write = writes.get(row.write);
            let (tree, key) = (&trees[write.tree as usize], arena.get(write.key));
            let find = || tree.view(&core.buffer, key, |_, page| page);
            row.page = without_misses(|| resident(&core.buffer, tree, find))?;
        }
    }
    Ok(())
}

/// Step a: everything that may wait or be refused, outside the section.
pub(super) fn prepare<'c, D: Disk>(
    core: &'c Core<D>,
    txn: &mut Transaction,
) -> Result<Permit<'c, D>> {
    step(Step::Prepare);
    if txn.is_wary && txn.is_validated() && !txn.reads.is_empty() && txn.alone.is_none() {
        // Most conflicts show here, before anything is locked and a number is taken. Sessions without recent
        // conflicts skip it.
        validate(core, txn, Check::Early)?;
    }
    core.wait_under_pressure()?;
    core.wait_for_clean_pages(txn.alone.as_ref())?;
    if txn.alone.is_none()
        && let Some(row_log) = core.row_log()
        && txn.writes.order().iter().any(|at| row_log.is_of(txn.writes.get(*at).id))
    {
        row_log.wait_for_space();
    }
    core.secure_versions(|| core.section(txn.alone.as_ref(), txn.seat))?;
    let rows = txn.commit.rows.len();
    let whole = txn.commit.before_rows.len() + txn.commit.behind_rows.len();
    let mut bytes = whole + txn.writes.bytes + rows * put_bytes_max(0, 0);
    let patched = |row: &&Row| txn.writes.is_patched(row.write);
    let patched = txn.commit.rows.iter().filter(patched).count();
    bytes += patched * txn.commit.patched_bytes_guess + txn.commit.more_bytes;
    // Only the least length of the record is checked against the cap here. The rest is an upper bound; the
    // exact length is known when all rows are locked.
    let bytes = bytes.min(core.log.record_bytes_max());
    txn.commit.record_bytes_max = bytes.max(txn.commit.plain_bytes);
    reserve(core, txn)
}

/// Reserves space in the log. At its cap this waits for a checkpoint to free a file, and moves it; if that
/// finds the disk full, a transaction that only deletes may use the reserve.
fn reserve<'c, D: Disk>(core: &'c Core<D>, txn: &Transaction) -> Result<Permit<'c, D>> {
    let bytes = txn.commit.record_bytes_max;
    loop {
        let waited = match core.log.reserve(bytes) {
            Err(long @ Error::LogLong { .. }) => core.wait_for_log(txn.alone.as_ref(), long),
            Err(full @ Error::Full { .. }) => Err(full),
            reserved => return reserved,
        };
        match waited {
            Ok(()) => {}
            Err(Error::Full { .. }) if only_deletes(txn) => {
                return core.log.reserve_to_delete(bytes);
            }
            Err(error) => return Err(error),
        }
    }
}

/// True for a transaction that only deletes rows or drops trees: on a full disk the log has a reserve for it.
#[cold]
fn only_deletes(txn: &Transaction) -> bool {
    let deletes = |row: &Row| txn.writes.is_delete(row.write);
    let drops = !txn.commit.behind_rows.is_empty() && txn.commit.before_rows.is_empty();
    drops || txn.commit.rows.iter().all(deletes)
}

/// Begins step b. Returns none if the gate is closed.
#[inline]
pub(super) fn enter<'c, D: Disk>(core: &'c Core<D>, txn: &Transaction) -> Option<Section<'c>> {
    step(Step::Enter);
    match &txn.alone {
        Some(closed) => Some(closed.section()),
        None => core.gate.try_enter(thread_slot::of(txn.seat)),
    }
}

/// Step c. All locks are held, so any commit with a smaller number that writes a row which this one reads or
/// writes has already locked it.
#[inline]
pub(super) fn take_number<D: Disk>(permit: Permit<'_, D>) -> crate::log::Reserved<'_, D> {
    step(Step::Number);
    permit.take()
}

/// Step d.
#[inline]
pub(super) fn validate_reads<D: Disk>(
    core: &Core<D>,
    txn: &Transaction,
) -> std::result::Result<(), Stopped> {
    let _doing = core.watch.enter(Part::Validate, txn.is_measured);
    if txn.alone.is_some() {
        return Ok(());
    }
    if txn.trees.iter().any(|tree| tree.is_dropped()) {
        return Err(Stopped::Conflict(Conflict::Dropped));
    }
    if txn.is_validated() {
        return validate_in_section(core, txn);
    }
    if core.registry.is_doomed(txn.seat) {
        // The ghost of a row that was deleted after the begin may have been removed.
        return Err(Stopped::Conflict(Conflict::SnapshotTooOld));
    }
    Ok(())
}

/// Step g.
#[inline]
pub(super) fn leave(section: Section<'_>) {
    step(Step::Leave);
    drop(section);
}

/// Gets what the commit needs, or returns why it must fail. Called outside the section.
pub(super) fn resolve<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    stopped: LockFailure,
) -> Result<()> {
    match stopped {
        LockFailure::Needs(Need::PreImages) => core.wait_for_pre_images()?,
        LockFailure::Needs(Need::Page(page)) => core.buffer.load(Miss(page))?,
        // The required length is known now.
        LockFailure::Needs(Need::Record) => {}
        LockFailure::Needs(Need::Memory(needed, refused)) => {
            // The next failure shows how many more pages a split needs for the nodes above its leaf.
            let reclaims = txn.commit.reclaims;
            let needed = needed.with_more_pages(reclaims.min(SPLIT_PAGES));
            if reclaims == RECLAIMS_MAX || !core.reclaim(Some(txn), needed)? {
                return Err(refused);
            }
            txn.commit.reclaims += 1;
        }
        LockFailure::Conflict(conflict) => return Err(Error::Conflict(conflict)),
        LockFailure::Failed(error) => return Err(error),
        LockFailure::Refused { row, refusal, seen } => {
            return Err(refuse_commit(core, txn, row, refusal, seen));
        }
    }
    Ok(())
}

/// After a failed commit: frees the long values that it had written.
fn give_back<D: Disk>(core: &Core<D>, txn: &mut Transaction) {
    for row in &mut txn.commit.rows {
        if let Some(pointer) = row.pointer.take() {
            extents::free(&core.buffer, pointer);
        }
    }
}
