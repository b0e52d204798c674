//! An episode of the database: random steps of some sessions, until the power goes off or a fault strikes.

use super::client::Client;
use super::concurrent_steps;
use super::definitions;
use super::executor_pass::Pass;
use super::harness::{Harness, SimulatedEngine, verify};
use super::transaction::Transaction;
use crate::access::btree::Tree;
use crate::buffer::{Buffer, Leaf, without_misses};
use crate::database::checkpoints::{Checkpoints, Step};
use crate::error::Error;
use crate::log::{Durability, Ticket};
use crate::txn::{Begin, step};
use std::sync::Arc;
use syncline_vfs::SimulatedDisk;

pub(super) const CLIENTS: usize = 4;

/// Why an episode has ended early.
#[derive(Debug)]
pub(super) enum EpisodeEnd {
    /// A promise is broken.
    Broken(String),
    /// The database has failed: right if the power is off or a fault struck.
    Dead(Error),
}

pub(super) fn broken(what: impl Into<String>) -> EpisodeEnd {
    EpisodeEnd::Broken(what.into())
}

impl EpisodeEnd {
    /// What an error that is no answer of the data means: a limit is reached, or the end.
    pub(super) fn of(error: Error) -> Result<(), EpisodeEnd> {
        match error {
            Error::Full { .. }
            | Error::Capped { .. }
            | Error::TooLarge { .. }
            | Error::LogLong { .. } => Ok(()),
            Error::Disk(_) | Error::Poisoned { .. } | Error::Indeterminate { .. } => {
                Err(EpisodeEnd::Dead(error))
            }
            other => Err(broken(format!("an answer that nobody asked for: {other}"))),
        }
    }
}

impl From<Error> for EpisodeEnd {
    fn from(error: Error) -> EpisodeEnd {
        match EpisodeEnd::of(error) {
            Ok(()) => broken("a limit was told of where none is"),
            Err(end) => end,
        }
    }
}

/// See the module.
pub(super) struct Episode<'w> {
    pub(super) harness: &'w mut Harness,
    pub(super) engine: Arc<SimulatedEngine>,
    pub(super) clients: Vec<Client>,
    tickets: Vec<Ticket>,
    /// The log is corked.
    pass: Option<Pass>,
    /// The client for whom the gate is closed.
    alone: Option<usize>,
}

/// Lives some steps. What was acknowledged is promised by the oracle afterwards, however it ended.
pub(super) fn live(
    harness: &mut Harness,
    engine: Arc<SimulatedEngine>,
    steps: u32,
) -> Result<(), EpisodeEnd> {
    let clients = (0..CLIENTS).map(|_| Client::new(&engine)).collect::<Result<_, _>>()?;
    let mut episode =
        Episode { harness, engine, clients, tickets: Vec::new(), pass: None, alone: None };
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
    let met = episode.clients.iter().map(|client| client.made_later.get());
    episode.harness.tally.made_later += met.sum::<u64>();
    episode.harness.tally.recycled += episode.engine.core.log.stats().segments_recycled;
    lived
}

impl Episode<'_> {
    fn step(&mut self) -> Result<(), EpisodeEnd> {
        match self.harness.random.u8(0..100) {
            _ if self.alone.is_none() && self.wants_definition() => definitions::define(self),
            0..62 => self.statement(),
            62..80 => self.finish(),
            80..88 => self.wait(),
            88..98 => self.checkpoint(),
            _ => self.housekeep(),
        }
    }

    /// Rarely, but soon where there is no table.
    fn wants_definition(&mut self) -> bool {
        let some = self.engine.catalog().tables().count();
        // What is built aside finishes the running checkpoint.
        let slow = if self.harness.pace.is_slow { 8 } else { 1 };
        let one_in = [4, 40 * slow, 80 * slow, 120 * slow, 120 * slow][some];
        self.harness.random.u32(0..one_in) == 0
    }

    /// The last commit up to which everything is stable is acknowledged to whoever asks.
    fn acknowledge(&mut self) {
        if self.harness.options.log.durability != Durability::None {
            let durable_lsn = self.engine.core.log.horizon().0;
            self.harness.oracle.promise(durable_lsn);
        }
    }

    pub(super) fn begin(&mut self, at: usize) -> Result<(), EpisodeEnd> {
        let random = &mut self.harness.random;
        let begin = match random.u8(0..10) {
            0..5 => Begin::Serializable,
            5..8 => Begin::Snapshot,
            8 => Begin::ReadOnly,
            _ => Begin::ReadOnlyAtHorizon,
        };
        let may_be_alone = begin == Begin::Serializable && self.alone.is_none();
        let alone = may_be_alone && random.u8(0..12) == 0;
        self.clients[at].begin(&self.engine, &self.harness.oracle, begin, alone)?;
        if alone {
            self.alone = Some(at);
        }
        Ok(())
    }

    /// A client's transaction is over.
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
        let is_kept = self.harness.options.log.durability != Durability::None;
        if is_kept && self.engine.core.log.horizon() < ticket.csn {
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
                        "{live_bytes} bytes of log are left behind a checkpoint"
                    )));
                }
            }
            4 => {
                let step = checkpoints.make_room(&engine.core);
                self.went_on(step)?;
            }
            _ if self.harness.pace.is_slow && self.harness.random.u8(0..30) > 0 => {}
            _ => {
                let step = checkpoints.drive(&engine.core);
                self.went_on(step)?;
            }
        }
        Ok(())
    }

    /// A full disk is no failure: it is tried again at the next occasion.
    fn went_on(&mut self, step: crate::Result<Step>) -> Result<(), EpisodeEnd> {
        match step {
            Ok(Step::Finished(csn)) => {
                self.harness.tally.checkpoints += 1;
                let durable_lsn = self.engine.core.log.horizon();
                if csn > durable_lsn {
                    return Err(broken(format!("a checkpoint of {csn}, before it is stable")));
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
            _ => {
                self.engine.core.sweep();
                return Ok(());
            }
        }
        match verify(&self.engine) {
            Ok(()) => self.compare(),
            Err(super::harness::Failure::Broken(what)) => Err(broken(what)),
            Err(super::harness::Failure::Refused(error)) => EpisodeEnd::of(error),
        }
    }

    /// Nobody is open and everything is stable: then no ghost is left of rows that were deleted.
    fn rest(&mut self) -> Result<(), EpisodeEnd> {
        for client in &mut self.clients {
            client.abort();
        }
        self.engine.core.log.flush()?;
        self.engine.core.sweep();
        if self.engine.core.waiting_ghosts() > 0 {
            // A checkpoint is in the way: the pool of pre-images is full.
            return Ok(());
        }
        for tree in self.engine.tree_directory.trees() {
            let left = ghosts(&self.engine.core.buffer, &tree);
            if left > 0 {
                return Err(broken(format!("{left} ghosts are left in {}", tree.id)));
            }
        }
        Ok(())
    }

    /// The newest state of all trees is the one after the last commit.
    fn compare(&self) -> Result<(), EpisodeEnd> {
        let last = self.engine.core.log.published().0;
        self.harness.oracle.compare(&self.engine, last).map_err(broken)
    }

    /// A database that has failed commits nothing any more, and readers read on.
    fn is_closed(&mut self, error: &Error) -> Result<(), EpisodeEnd> {
        for client in &mut self.clients {
            client.abort();
        }
        self.alone = None;
        let catalog = self.engine.catalog();
        let indexes = catalog.tables().flat_map(|table| table.indexes.iter().map(|one| one.tree));
        let mut trees = catalog.tables().map(|table| table.tree).chain(indexes);
        if let Some(lost) = trees.find(|id| self.engine.tree_directory.tree(*id).is_none()) {
            return Err(broken(format!("after {error} {lost} of the catalogue is gone")));
        }
        if matches!(error, Error::Disk(_)) && self.engine.core.log.check().is_ok() {
            // What failed had promised nothing: the making of a file.
            return Ok(());
        }
        let begun =
            self.clients[0].begin(&self.engine, &self.harness.oracle, Begin::Serializable, false);
        match begun {
            Err(EpisodeEnd::Dead(Error::Poisoned { .. })) => {}
            _ => return Err(broken("a database that has failed takes transactions")),
        }
        self.begin_reader()
    }

    fn begin_reader(&mut self) -> Result<(), EpisodeEnd> {
        let begin = Begin::ReadOnlyAtHorizon;
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
        let look = |leaf: &Leaf, _| {
            let slots = 0..leaf.count();
            let of_leaf = slots.filter(|slot| leaf.word(*slot).is_ghost()).count();
            (of_leaf, leaf.upper_fence().map(<[u8]>::to_vec))
        };
        let seen = without_misses(|| tree.view(buffer, &from, look));
        let (of_leaf, next) = seen.expect("every page is there");
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
