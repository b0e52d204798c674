//! An episode of the database: random steps of some sessions, until a power loss or a fault.

use super::client::Client;
use super::concurrent_steps;
use super::definitions;
use super::executor_pass::Pass;
use super::harness::{Failure, Harness, SimulatedEngine, verify};
use super::transaction::Transaction;
use crate::access::btree::Tree;
use crate::buffer::{Buffer, Leaf, without_misses};
use crate::database::backup::RunningBackup;
use crate::database::checkpoints::{Checkpoints, Step};
use crate::error::Error;
use crate::ids::PageId;
use crate::log::{Durability, Ticket};
use crate::step;
use crate::txn::Begin;
use std::sync::Arc;
use syncline_vfs::SimulatedDisk;

pub(super) const CLIENTS: usize = 4;

/// Why an episode ended early.
#[derive(Debug)]
pub(super) enum EpisodeEnd {
    /// A guarantee is violated.
    Broken(String),
    /// The database failed, which is justified after a power loss or a fault.
    Dead(Error),
}

pub(super) fn broken(what: impl Into<String>) -> EpisodeEnd {
    EpisodeEnd::Broken(what.into())
}

impl EpisodeEnd {
    /// Classifies an error that no row caused: ok if a limit was reached, otherwise the end of the episode.
    pub(super) fn of(error: Error) -> Result<(), EpisodeEnd> {
        match error {
            Error::Full { .. }
            | Error::Capped { .. }
            | Error::TooLarge { .. }
            | Error::LogLong { .. } => Ok(()),
            Error::Disk(_) | Error::Poisoned { .. } | Error::Indeterminate { .. } => {
                Err(EpisodeEnd::Dead(error))
            }
            other => Err(broken(format!("an unexpected error: {other}"))),
        }
    }
}

impl From<Error> for EpisodeEnd {
    fn from(error: Error) -> EpisodeEnd {
        match EpisodeEnd::of(error) {
            Ok(()) => broken("an error reports a limit where there is none"),
            Err(end) => end,
        }
    }
}

/// A running episode: the engine, its clients and what they hold.
pub(super) struct Episode<'w> {
    pub(super) harness: &'w mut Harness,
    pub(super) engine: Arc<SimulatedEngine>,
    pub(super) clients: Vec<Client>,
    tickets: Vec<Ticket>,
    /// A pass that holds the log's batch.
    pass: Option<Pass>,
    /// The client of the exclusive transaction.
    alone: Option<usize>,
    /// The last commit when the episode began.
    pub(super) opened_at: u64,
    /// A backup that is being made.
    pub(super) backup: Option<RunningBackup<SimulatedDisk>>,
}

/// Runs some steps. Afterwards the oracle knows what was acknowledged, however the episode ended.
pub(super) fn run_episode(
    harness: &mut Harness,
    engine: Arc<SimulatedEngine>,
    steps: u32,
) -> Result<(), EpisodeEnd> {
    let clients = (0..CLIENTS).map(|_| Client::new(&engine)).collect::<Result<_, _>>()?;
    let opened_at = engine.core.log.published().0;
    let mut episode = Episode {
        harness,
        engine,
        clients,
        tickets: Vec::new(),
        pass: None,
        alone: None,
        opened_at,
        backup: None,
    };
    let mut lived = Ok(());
    for _ in 0..steps {
        lived = episode.step();
        episode.acknowledge();
        if lived.is_err() {
            break;
        }
    }
    let lived = match lived {
        Err(EpisodeEnd::Dead(error)) => episode.is_closed(&error).and(Err(EpisodeEnd::Dead(error))),
        other => other,
    };
    let taken = episode.engine.core.log.published().0;
    episode.harness.oracle.take(taken);
    let made_later_counts = episode.clients.iter().map(|client| client.made_later.get());
    episode.harness.tally.made_later += made_later_counts.sum::<u64>();
    episode.harness.tally.evicted += episode.engine.core.buffer.evicted();
    episode.harness.tally.cuts += checkpoints(&episode.engine).stats().cuts;
    episode.harness.tally.recycled += episode.engine.core.log.stats().segments_recycled;
    lived
}

impl Episode<'_> {
    fn step(&mut self) -> Result<(), EpisodeEnd> {
        if self.harness.options.log.archive.is_some() && self.harness.random.u8(0..8) == 0 {
            self.archive()?;
        }
        match self.harness.random.u8(0..100) {
            _ if self.alone.is_none() && self.wants_definition() => definitions::define(self),
            0..60 => self.statement(),
            60..78 => self.finish(),
            78..86 => self.wait(),
            86..96 => self.checkpoint(),
            96..98 => self.back_up(),
            _ => self.housekeep(),
        }
    }

    /// Archives a segment. If it fails, it is tried again.
    fn archive(&mut self) -> Result<(), EpisodeEnd> {
        match self.engine.core.log.archive_segment() {
            Ok(archived) => self.harness.tally.archived += u64::from(archived),
            Err(Error::Disk(_)) if self.engine.core.log.check().is_ok() => {}
            Err(error) => return EpisodeEnd::of(error),
        }
        Ok(())
    }

    /// Rarely true, but soon if there is no table.
    fn wants_definition(&mut self) -> bool {
        let some = self.engine.catalog().tables().count();
        // A bulk load finishes the running checkpoint.
        let slow = if self.harness.pace.is_slow { 8 } else { 1 };
        let one_in = [4, 40 * slow, 80 * slow, 120 * slow, 120 * slow][some];
        self.harness.random.u32(0..one_in) == 0
    }

    /// Acknowledges the durable LSN to every client.
    fn acknowledge(&mut self) {
        if self.harness.options.log.durability != Durability::None {
            let durable_lsn = self.engine.core.log.durable_lsn().0;
            self.harness.oracle.promise(durable_lsn);
        }
    }

    pub(super) fn begin(&mut self, at: usize) -> Result<(), EpisodeEnd> {
        let random = &mut self.harness.random;
        let begin = match random.u8(0..10) {
            0..5 => Begin::Serializable,
            5..8 => Begin::Snapshot,
            8 => Begin::ReadOnly,
            _ => Begin::ReadOnlyDurable,
        };
        let may_be_alone = begin == Begin::Serializable && self.alone.is_none();
        let alone = may_be_alone && random.u8(0..12) == 0;
        self.clients[at].begin(&self.engine, &self.harness.oracle, begin, alone)?;
        if alone {
            self.alone = Some(at);
        }
        Ok(())
    }

    /// Ends a client's transaction.
    pub(super) fn ended(&mut self, at: usize) {
        if self.alone == Some(at) {
            self.alone = None;
        }
    }

    fn finish(&mut self) -> Result<(), EpisodeEnd> {
        let at = self.harness.random.usize(0..CLIENTS);
        if self.clients[at].open.is_none() {
            return Ok(());
        }
        let others_wait = self.alone.is_some_and(|alone| alone != at);
        let has_writes = self.clients[at].open.as_ref().is_some_and(Transaction::has_writes);
        if self.harness.random.u8(0..8) == 0 {
            self.clients[at].abort();
        } else if !others_wait || !has_writes {
            let Harness { oracle, tally, random, pace, .. } = &mut *self.harness;
            let is_unsynced = random.u8(0..6) == 0;
            let (client, engine) = (&mut self.clients[at], &self.engine);
            let mut commit = || client.commit(engine, oracle, tally, is_unsynced);
            let ticket = if random.bool() {
                step::with(concurrent_steps::work(engine, *pace, random.u64(..)), commit)
            } else {
                commit()
            };
            self.tickets.extend(ticket?);
        } else {
            return Ok(());
        }
        self.ended(at);
        Ok(())
    }

    /// Waits for one of the tickets; some are never waited for.
    fn wait(&mut self) -> Result<(), EpisodeEnd> {
        let random = &mut self.harness.random;
        if self.pass.is_none() && random.u8(0..6) == 0 {
            self.pass = Some(Pass::begin(&self.engine));
            return Ok(());
        }
        let some = self.tickets.len();
        let ticket = (some > 0).then(|| self.tickets.swap_remove(random.usize(0..some)));
        if let Some(pass) = self.pass.take() {
            return pass.end(&self.engine, ticket);
        }
        let Some(ticket) = ticket else {
            return Ok(());
        };
        self.engine.core.log.wait(ticket)?;
        let is_durable = self.harness.options.log.durability != Durability::None;
        if is_durable && self.engine.core.log.durable_lsn() < ticket.csn {
            return Err(broken(format!("{} is complete before the durable LSN", ticket.csn)));
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), EpisodeEnd> {
        let engine = Arc::clone(&self.engine);
        let checkpoints = checkpoints(&engine);
        let cap = self.harness.log_bytes_max;
        if self.harness.pace.is_lazy
            && (engine.core.log.live_bytes() <= cap || self.harness.random.u8(0..8) > 0)
        {
            return Ok(());
        }
        match self.harness.random.u8(0..16) {
            0..3 if self.alone.is_none() => {
                checkpoints.begin(&engine.core, &engine.tree_directory)?;
            }
            3 if self.alone.is_none() && !self.harness.pace.is_slow => {
                let run = checkpoints.run(&engine.core, &engine.tree_directory);
                let is_whole = run.is_ok();
                self.went_on(run.map(Step::Finished))?;
                let live_bytes = engine.core.log.live_bytes();
                if is_whole && live_bytes > cap {
                    return Err(broken(format!(
                        "{live_bytes} bytes of log remain after a checkpoint"
                    )));
                }
            }
            4 => {
                let step = checkpoints.make_room(&engine.core);
                self.went_on(step)?;
            }
            5..11
                if self.harness.compacts && self.alone.is_none() && !self.harness.pace.is_slow =>
            {
                let compacted = if self.harness.random.bool() {
                    checkpoints.compact(&engine.core, &engine.tree_directory).map(drop)
                } else {
                    checkpoints.begin_compaction(&engine.core).map(drop)
                };
                self.went_on(compacted.map(|()| Step::Idle))?;
            }
            _ if self.harness.pace.is_slow && self.harness.random.u8(0..30) > 0 => {}
            _ => {
                let step = checkpoints.drive(&engine.core);
                self.went_on(step)?;
            }
        }
        Ok(())
    }

    /// A full disk is not a failure: the next occasion tries again.
    fn went_on(&mut self, step: crate::Result<Step>) -> Result<(), EpisodeEnd> {
        match step {
            Ok(Step::Finished(csn)) => {
                self.harness.tally.checkpoints += 1;
                let durable_lsn = self.engine.core.log.durable_lsn();
                if csn > durable_lsn {
                    return Err(broken(format!(
                        "a checkpoint at {csn} is in force before that commit is stable"
                    )));
                }
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(error) => {
                self.harness.tally.full += 1;
                EpisodeEnd::of(error)
            }
        }
    }

    fn housekeep(&mut self) -> Result<(), EpisodeEnd> {
        if self.alone.is_some() {
            return Ok(());
        }
        match self.harness.random.u8(0..8) {
            0..2 => {}
            2 => return self.rest(),
            3 => {
                let from = PageId(self.harness.random.u64(1..100));
                self.engine.core.buffer.load_some(from, 4 << 10);
                return Ok(());
            }
            _ => {
                self.engine.sweep();
                return Ok(());
            }
        }
        match verify(&self.engine) {
            Ok(()) => self.compare(),
            Err(Failure::Broken(what)) => Err(broken(what)),
            Err(Failure::Refused(error)) => EpisodeEnd::of(error),
        }
    }

    /// With no open transaction and everything stable, no ghosts of deleted rows may remain.
    fn rest(&mut self) -> Result<(), EpisodeEnd> {
        for client in &mut self.clients {
            client.abort();
        }
        self.engine.core.log.flush()?;
        self.engine.sweep();
        if self.engine.core.waiting_ghosts() > 0 {
            // A checkpoint prevents it: the pool of pre-images is full.
            return Ok(());
        }
        for tree in self.engine.tree_directory.trees() {
            let left = ghosts(&self.engine.core.buffer, &tree);
            if left > 0 {
                return Err(broken(format!("{left} ghosts remain in {}", tree.id)));
            }
        }
        Ok(())
    }

    /// The newest state of all trees must be the one after the last commit.
    fn compare(&self) -> Result<(), EpisodeEnd> {
        let last = self.engine.core.log.published().0;
        match self.harness.oracle.compare(&self.engine, last) {
            Ok(()) => Ok(()),
            Err(Failure::Broken(what)) => Err(broken(what)),
            Err(Failure::Refused(error)) => EpisodeEnd::of(error),
        }
    }

    /// A failed database commits nothing more, and its readers go on.
    fn is_closed(&mut self, error: &Error) -> Result<(), EpisodeEnd> {
        for client in &mut self.clients {
            client.abort();
        }
        self.alone = None;
        let catalog = self.engine.catalog();
        let indexes = catalog.tables().flat_map(|table| table.indexes.iter().map(|one| one.tree));
        let mut trees = catalog.tables().map(|table| table.tree).chain(indexes);
        if let Some(lost) = trees.find(|id| self.engine.tree_directory.tree(*id).is_none()) {
            return Err(broken(format!("after {error} {lost} of the catalogue is missing")));
        }
        if matches!(error, Error::Disk(_)) && self.engine.core.log.check().is_ok() {
            // The failed operation had promised nothing: it was preparing a file.
            return Ok(());
        }
        let begun =
            self.clients[0].begin(&self.engine, &self.harness.oracle, Begin::Serializable, false);
        match begun {
            Err(EpisodeEnd::Dead(Error::Poisoned { .. })) => {}
            _ => return Err(broken("a database that has failed accepts transactions")),
        }
        self.begin_reader()
    }

    fn begin_reader(&mut self) -> Result<(), EpisodeEnd> {
        let begin = Begin::ReadOnlyDurable;
        self.clients[1].begin(&self.engine, &self.harness.oracle, begin, false)?;
        for _ in 0..3 {
            if let Some(table) = self.table(1) {
                self.scan(1, &table)?;
            }
            if self.clients[1].open.is_none() {
                break;
            }
        }
        self.clients[1].abort();
        Ok(())
    }
}

/// How many ghosts a tree holds.
fn ghosts(buffer: &Buffer, tree: &Tree) -> usize {
    let (mut from, mut ghosts) = (Vec::new(), 0);
    loop {
        let count_ghosts = |leaf: &Leaf, _| {
            let slots = 0..leaf.count();
            let of_leaf = slots.filter(|slot| leaf.word(*slot).is_ghost()).count();
            (of_leaf, leaf.upper_fence().map(<[u8]>::to_vec))
        };
        let (of_leaf, next) = match without_misses(|| tree.view(buffer, &from, count_ghosts)) {
            Ok(found) => found,
            // Ghosts of a page on disk are removed when it is loaded.
            Err(miss) if buffer.load(miss).is_ok() => continue,
            Err(_) => return ghosts,
        };
        ghosts += of_leaf;
        match next {
            Some(next) => from = next,
            None => return ghosts,
        }
    }
}

pub(super) fn checkpoints(engine: &SimulatedEngine) -> &Checkpoints<SimulatedDisk> {
    engine.checkpoints.as_ref().expect("a database on a disk has checkpoints")
}
