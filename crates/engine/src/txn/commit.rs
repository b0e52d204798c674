//! The commit: from private writes to a place in the one order of commits.
//!
//! The steps and why they come in this order are told in the module `txn`; here they stand one below the
//! other. What cannot be done inside the section (the pool of pre-images is full, a page is absent, the
//! record is longer than thought, memory is at its cap) unlocks everything, leaves the section, is done, and
//! the commit begins again; nothing has a number by then.

use crate::access::btree::SPLIT_PAGES;
use crate::access::btree::overflow::{self, ChainSize};
use crate::access::btree::prefetch::{PrefetchTarget, prefetch_leaves};
use crate::buffer::VersionWord;
use crate::buffer::page::Kind;
use crate::buffer::{Miss, RECLAIMS_MAX, prefetch, retry_at_cap, without_misses};
use crate::error::{Error, Result};
use crate::ids::{Csn, PageId, TreeId};
use crate::log::{Permit, Ticket};
use crate::thread_slot;
use crate::txn::action::Refusal;
use crate::txn::apply::{apply, collect};
use crate::txn::commit_gate::Section;
use crate::txn::conflict::Conflict;
use crate::txn::core::Core;
use crate::txn::lock::{lock_rows, unlock_rows};
use crate::txn::part_timers::Part;
use crate::txn::record::put_bytes_max;
use crate::txn::refusal::refuse_commit;
use crate::txn::step::{Step, step};
use crate::txn::transaction::{After, Row, Transaction};
use crate::txn::validate::{Check, validate};
use std::ops::RangeInclusive;
use syncline_instrument::{Module, clock, tag};
use syncline_vfs::Disk;

/// How often a commit begins again before that is a conflict. Each time something is got out of the
/// way, but others may come in between.
const ROUNDS_MAX: u32 = 10_000;

/// Patched rows are thought to be as long as the longest of the transaction before, within these
/// limits in bytes. Longer ones cost another round, not room for as many such rows.
const PATCHED_BYTES_THOUGHT: RangeInclusive<usize> = 256..=4096;

/// So many bytes of the next record are asked for.
const RECORD_BYTES_AHEAD: usize = 512;

/// So many rows must a commit write to be gone ahead of: fewer gain less than it costs.
const AHEAD_MIN: usize = 8;

/// Why rows could not be locked.
#[derive(Debug)]
pub(super) enum LockFailure {
    /// To be done outside the section; then the commit begins again.
    Needs(Need),
    Conflict(Conflict),
    /// The data refuse the write of that row, whose word was seen.
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
    /// Memory for so many pages of that kind, which was refused with this error.
    Memory((Kind, u64), Error),
}

/// Commits a transaction that writes something. Whether it succeeds or not, the transaction is over.
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
    go_ahead(core, txn);
    for _ in 0..ROUNDS_MAX {
        let permit = prepare(core, txn)?; // a: may wait, may fail
        let Some(section) = enter(core, txn) else {
            drop(permit); // whoever closed the gate may need its room
            core.wait_for_gate()?;
            continue;
        };
        if txn.alone.is_none() && txn.trees.iter().any(|tree| tree.is_dropped()) {
            // A tree is dropped behind the closed gate: it stays as it is until this section ends. Its pages
            // go bit by bit afterwards, so that rows must not even be locked there.
            leave(section);
            return Err(Error::Conflict(Conflict::Dropped));
        }
        let _failing = core.fail_on_panic("a commit");
        let permit = PanicGuard(Some(permit));
        let locked = {
            let _doing = core.watch.enter(Part::Lock, txn.is_measured);
            without_misses(|| lock_rows(core, txn))
        };
        if let Err(stopped) = locked {
            // b: rows in order, one latch at a time; may still fail
            unlock_rows(core, txn);
            leave(section);
            drop(permit);
            resolve(core, txn, stopped)?;
            continue;
        }
        let doing = core.watch.enter(Part::Timestamp, txn.is_measured);
        let number = take_number(permit.disarm()); // c: from here on nothing waits or allocates
        drop(doing);
        if let Err(conflict) = validate_reads(core, txn) {
            // d: the only way to fail now
            unlock_rows(core, txn);
            step(Step::Publish);
            number.void();
            leave(section);
            return Err(Error::Conflict(conflict));
        }
        if txn.is_measured {
            txn.marks.validated = clock::now();
        }
        without_misses(|| apply(core, txn, number.csn())); // e: values, words, unlocked
        step(Step::Publish);
        let ticket = number.publish(&mut txn.commit.record); // f: it may be acknowledged once stable
        ask_for_record(&txn.commit.record);
        without_misses(|| collect(core, txn, ticket.csn));
        leave(section); // g
        return Ok(ticket);
    }
    Err(Error::Conflict(Conflict::Locked))
}

/// Asks for the memory of the next record, which was in use a group of commits ago, while there is time.
#[inline]
fn ask_for_record(record: &Vec<u8>) {
    prefetch(record.as_ptr().addr(), record.capacity().min(RECORD_BYTES_AHEAD));
}

/// A permit while rows are being locked. A panic then would leave rows locked for ever, so it closes
/// the log, as a panic between number and record does.
struct PanicGuard<'c, D: Disk>(Option<Permit<'c, D>>);

impl<'c, D: Disk> PanicGuard<'c, D> {
    #[inline]
    fn disarm(mut self) -> Permit<'c, D> {
        self.0.take().expect("it is disarmed once")
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

/// What is done once: the order of the rows, and values that go to overflow pages.
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
            stub: None,
        });
    }
    let (first, most) = PATCHED_BYTES_THOUGHT.into_inner();
    commit.patched_bytes_thought = std::mem::take(&mut commit.patched_bytes).clamp(first, most);
    (commit.more_bytes, commit.plain_bytes) = (0, 0);
    for at in 0..txn.commit.rows.len() {
        write_if_long(core, txn, at)?;
    }
    Ok(())
}

/// Writes the value of a row to overflow pages if it is too long for a leaf, and known already. At the cap on
/// memory what nobody needs any more goes first.
fn write_if_long<D: Disk>(core: &Core<D>, txn: &mut Transaction, at: usize) -> Result<()> {
    let write = txn.commit.rows[at].write;
    let Some(value) = txn.writes.plain_value(write) else {
        return Ok(());
    };
    let write = txn.writes.get(write);
    let id = write.id;
    txn.commit.plain_bytes += write.key.len() + value.len();
    if !overflow::is_needed(&core.buffer, value.len()) {
        return Ok(());
    }
    let pages = ChainSize::of(&core.buffer).pages(value.len() as u64);
    let stub = retry_at_cap(
        txn,
        |txn| core.reclaim(Some(txn), (Kind::Overflow, pages)),
        |txn| overflow::write(&core.buffer, id, txn.arena.get(value)),
    )?;
    txn.commit.rows[at].stub = Some(stub);
    Ok(())
}

/// True if two rows of a tree differ in the last byte of their keys only: they are likely in one leaf.
#[inline]
fn follows((tree, key): (TreeId, &[u8]), (other_tree, other): (TreeId, &[u8])) -> bool {
    let but_last = |key: &'_ [u8]| key.len().saturating_sub(1);
    tree == other_tree
        && key.len() == other.len()
        && key[..but_last(key)] == other[..but_last(other)]
}

/// Finds the leaves of many rows at once, so that locking does not wait for one after the other. Those that
/// were read before, or lie beside another one, are found without.
fn go_ahead<D: Disk>(core: &Core<D>, txn: &mut Transaction) {
    let Transaction { writes, arena, commit, trees, .. } = txn;
    let is_sought = |row: &&mut Row| row.page.is_none() && !row.follows;
    if commit.rows.len() < AHEAD_MIN || commit.rows.iter_mut().filter(is_sought).count() < AHEAD_MIN
    {
        return;
    }
    let _entered = tag::enter(Module::Access);
    commit.ahead.clear();
    for row in commit.rows.iter_mut().filter(is_sought) {
        let write = writes.get(row.write);
        let tree = &trees[write.tree as usize];
        commit.ahead.push(PrefetchTarget::new(tree, write.key.range()));
    }
    prefetch_leaves(&core.buffer, arena.bytes(), &mut commit.ahead);
    let sought = commit.rows.iter_mut().filter(is_sought);
    for (row, target) in sought.zip(&commit.ahead) {
        row.page = target.leaf();
    }
}

/// Step a: everything that may wait or be refused, outside the section.
pub(super) fn prepare<'c, D: Disk>(
    core: &'c Core<D>,
    txn: &mut Transaction,
) -> Result<Permit<'c, D>> {
    step(Step::Prepare);
    if txn.is_wary && txn.is_validated() && !txn.reads.is_empty() && txn.alone.is_none() {
        // Most losers find out here, before they lock anything or take a number. Where nobody loses, that
        // would be a look in vain.
        validate(core, txn, Check::Early).map_err(Error::Conflict)?;
    }
    core.heed_pressure()?;
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
    bytes += patched * txn.commit.patched_bytes_thought + txn.commit.more_bytes;
    // Only what the record takes in any case is held against the cap here: the rest is a bound, and the
    // truth is known when all rows are locked.
    let bytes = bytes.min(core.log.record_bytes_max());
    txn.commit.record_bytes_max = bytes.max(txn.commit.plain_bytes);
    match core.log.reserve(txn.commit.record_bytes_max) {
        Err(Error::Full { .. }) if takes_away(txn) => {
            core.log.reserve_to_delete(txn.commit.record_bytes_max)
        }
        reserved => reserved,
    }
}

/// True of a transaction that only deletes rows, or drops trees: there is a reserve of log for it on a full
/// disk.
#[cold]
fn takes_away(txn: &Transaction) -> bool {
    let deletes = |row: &Row| txn.writes.is_delete(row.write);
    let drops = !txn.commit.behind_rows.is_empty() && txn.commit.before_rows.is_empty();
    drops || txn.commit.rows.iter().all(deletes)
}

/// Step b begins: none if the gate is closed.
#[inline]
pub(super) fn enter<'c, D: Disk>(core: &'c Core<D>, txn: &Transaction) -> Option<Section<'c>> {
    step(Step::Enter);
    match &txn.alone {
        Some(closed) => Some(closed.section()),
        None => core.gate.try_enter(thread_slot::of(txn.seat)),
    }
}

/// Step c: all locks are held, so whoever takes a smaller number and writes what this one reads or
/// writes has locked it already.
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
) -> std::result::Result<(), Conflict> {
    let _doing = core.watch.enter(Part::Validate, txn.is_measured);
    if txn.alone.is_some() {
        return Ok(());
    }
    if txn.trees.iter().any(|tree| tree.is_dropped()) {
        return Err(Conflict::Dropped);
    }
    if txn.is_validated() {
        return validate(core, txn, Check::Final);
    }
    if core.registry.is_doomed(txn.seat) {
        // The ghost of a row that was deleted after the begin may have gone.
        return Err(Conflict::SnapshotTooOld);
    }
    Ok(())
}

/// Step g.
#[inline]
pub(super) fn leave(section: Section<'_>) {
    step(Step::Leave);
    drop(section);
}

/// Does what the commit needs, or says why it cannot be. Outside the section.
pub(super) fn resolve<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    stopped: LockFailure,
) -> Result<()> {
    match stopped {
        LockFailure::Needs(Need::PreImages) => core.wait_for_pre_images()?,
        LockFailure::Needs(Need::Page(page)) => core.buffer.load(Miss(page)),
        // How much longer is known now.
        LockFailure::Needs(Need::Record) => {}
        LockFailure::Needs(Need::Memory((kind, pages), refused)) => {
            // How many more a split needs, for the nodes above its leaf, shows as it fails again.
            let reclaims = txn.commit.reclaims;
            let pages = pages + reclaims.min(SPLIT_PAGES);
            if reclaims == RECLAIMS_MAX || !core.reclaim(Some(txn), (kind, pages))? {
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

/// After a commit that failed: long values that it had written go.
fn give_back<D: Disk>(core: &Core<D>, txn: &mut Transaction) {
    for row in &mut txn.commit.rows {
        if let Some(stub) = row.stub.take() {
            overflow::free(&core.buffer, stub);
        }
    }
}
