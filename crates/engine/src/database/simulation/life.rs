//! A life of the database: random steps of some sessions, until the power goes off or a fault strikes.

use super::beside;
use super::client::Client;
use super::define;
use super::pass::Pass;
use super::transaction::Transaction;
use super::world::{SimulatedEngine, World, verify};
use crate::access::btree::Tree;
use crate::buffer::{Buffer, Leaf, without_misses};
use crate::database::checkpoints::{Checkpoints, Step};
use crate::error::Error;
use crate::log::{Durability, Ticket};
use crate::txn::{Begin, step};
use std::sync::Arc;
use syncline_disk::SimulatedDisk;

pub(super) const CLIENTS: usize = 4;

/// Why a life has ended early.
#[derive(Debug)]
pub(super) enum End {
    /// A promise is broken.
    Broken(String),
    /// The database has failed: right if the power is off or a fault struck.
    Dead(Error),
}

pub(super) fn broken(what: impl Into<String>) -> End {
    End::Broken(what.into())
}

impl End {
    /// What an error that is no answer of the data means: a limit is reached, or the end.
    pub(super) fn of(error: Error) -> Result<(), End> {
        match error {
            Error::Full { .. }
            | Error::Capped { .. }
            | Error::TooLarge { .. }
            | Error::LogLong { .. } => Ok(()),
            Error::Disk(_) | Error::Poisoned { .. } | Error::Indeterminate { .. } => {
                Err(End::Dead(error))
            }
            other => Err(broken(format!("an answer that nobody asked for: {other}"))),
        }
    }
}

impl From<Error> for End {
    fn from(error: Error) -> End {
        match End::of(error) {
            Ok(()) => broken("a limit was told of where none is"),
            Err(end) => end,
        }
    }
}

/// See the module.
pub(super) struct Life<'w> {
    pub(super) world: &'w mut World,
    pub(super) engine: Arc<SimulatedEngine>,
    pub(super) clients: Vec<Client>,
    tickets: Vec<Ticket>,
    /// The log is corked.
    pass: Option<Pass>,
    /// The client for whom the gate is closed.
    alone: Option<usize>,
}

/// Lives some steps. What was acknowledged is promised by the oracle afterwards, however it ended.
pub(super) fn live(world: &mut World, engine: Arc<SimulatedEngine>, steps: u32) -> Result<(), End> {
    let clients = (0..CLIENTS)
        .map(|_| Client::new(&engine))
        .collect::<Result<_, _>>()?;
    let mut life = Life {
        world,
        engine,
        clients,
        tickets: Vec::new(),
        pass: None,
        alone: None,
    };
    let mut lived = Ok(());
    for _ in 0..steps {
        lived = life.step();
        life.acknowledge();
        if lived.is_err() {
            break;
        }
    }
    let lived = match lived {
        Err(End::Dead(error)) => life.is_closed(&error).and(Err(End::Dead(error))),
        other => other,
    };
    let taken = life.engine.core.log.published().0;
    life.world.oracle.take(taken);
    let met = life.clients.iter().map(|client| client.made_later.get());
    life.world.tally.made_later += met.sum::<u64>();
    life.world.tally.recycled += life.engine.core.log.stats().segments_recycled;
    lived
}

impl Life<'_> {
    fn step(&mut self) -> Result<(), End> {
        match self.world.random.u8(0..100) {
            _ if self.alone.is_none() && self.wants_definition() => define::define(self),
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
        let slow = if self.world.pace.is_slow { 8 } else { 1 };
        let one_in = [4, 40 * slow, 80 * slow, 120 * slow, 120 * slow][some];
        self.world.random.u32(0..one_in) == 0
    }

    /// The last commit up to which everything is stable is acknowledged to whoever asks.
    fn acknowledge(&mut self) {
        if self.world.options.log.durability != Durability::None {
            let horizon = self.engine.core.log.horizon().0;
            self.world.oracle.promise(horizon);
        }
    }

    pub(super) fn begin(&mut self, at: usize) -> Result<(), End> {
        let random = &mut self.world.random;
        let begin = match random.u8(0..10) {
            0..5 => Begin::Serializable,
            5..8 => Begin::Snapshot,
            8 => Begin::ReadOnly,
            _ => Begin::ReadOnlyAtHorizon,
        };
        let may_be_alone = begin == Begin::Serializable && self.alone.is_none();
        let alone = may_be_alone && random.u8(0..12) == 0;
        self.clients[at].begin(&self.engine, &self.world.oracle, begin, alone)?;
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

    fn finish(&mut self) -> Result<(), End> {
        let at = self.world.random.usize(0..CLIENTS);
        if self.clients[at].open.is_none() {
            return Ok(());
        }
        let others_wait = self.alone.is_some_and(|alone| alone != at);
        let has_writes = self.clients[at]
            .open
            .as_ref()
            .is_some_and(Transaction::has_writes);
        if self.world.random.u8(0..8) == 0 {
            self.clients[at].abort();
        } else if !others_wait || !has_writes {
            let World {
                oracle,
                tally,
                random,
                pace,
                ..
            } = &mut *self.world;
            let is_unsynced = random.u8(0..6) == 0;
            let (client, engine) = (&mut self.clients[at], &self.engine);
            let mut commit = || client.commit(engine, oracle, tally, is_unsynced);
            let ticket = if random.bool() {
                step::with(beside::work(engine, *pace, random.u64(..)), commit)
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
    fn wait(&mut self) -> Result<(), End> {
        let random = &mut self.world.random;
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
        let is_kept = self.world.options.log.durability != Durability::None;
        if is_kept && self.engine.core.log.horizon() < ticket.csn {
            return Err(broken(format!(
                "{} is complete before the horizon",
                ticket.csn
            )));
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), End> {
        let engine = Arc::clone(&self.engine);
        let checkpoints = checkpoints(&engine);
        let cap = self.world.log_bytes_max;
        if self.world.pace.is_lazy
            && (engine.core.log.live_bytes() <= cap || self.world.random.u8(0..8) > 0)
        {
            return Ok(());
        }
        match self.world.random.u8(0..16) {
            0..3 if self.alone.is_none() => {
                checkpoints.begin(&engine.core, &engine.forest)?;
            }
            3 if self.alone.is_none() && !self.world.pace.is_slow => {
                let run = checkpoints.run(&engine.core, &engine.forest);
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
            _ if self.world.pace.is_slow && self.world.random.u8(0..30) > 0 => {}
            _ => {
                let step = checkpoints.drive(&engine.core);
                self.went_on(step)?;
            }
        }
        Ok(())
    }

    /// A full disk is no failure: it is tried again at the next occasion.
    fn went_on(&mut self, step: crate::Result<Step>) -> Result<(), End> {
        match step {
            Ok(Step::Finished(csn)) => {
                self.world.tally.checkpoints += 1;
                let horizon = self.engine.core.log.horizon();
                if csn > horizon {
                    return Err(broken(format!(
                        "a checkpoint of {csn}, before it is stable"
                    )));
                }
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(error) => {
                self.world.tally.full += 1;
                End::of(error)
            }
        }
    }

    fn housekeep(&mut self) -> Result<(), End> {
        if self.alone.is_some() {
            return Ok(());
        }
        match self.world.random.u8(0..8) {
            0..2 => {}
            2 => return self.rest(),
            _ => {
                self.engine.core.sweep();
                return Ok(());
            }
        }
        match verify(&self.engine) {
            Ok(()) => self.compare(),
            Err(super::world::Failure::Broken(what)) => Err(broken(what)),
            Err(super::world::Failure::Refused(error)) => End::of(error),
        }
    }

    /// Nobody is open and everything is stable: then no ghost is left of rows that were deleted.
    fn rest(&mut self) -> Result<(), End> {
        for client in &mut self.clients {
            client.abort();
        }
        self.engine.core.log.flush()?;
        self.engine.core.sweep();
        if self.engine.core.waiting_ghosts() > 0 {
            // A checkpoint is in the way: the pool of pre-images is full.
            return Ok(());
        }
        for tree in self.engine.forest.trees() {
            let left = ghosts(&self.engine.core.buffer, &tree);
            if left > 0 {
                return Err(broken(format!("{left} ghosts are left in {}", tree.id)));
            }
        }
        Ok(())
    }

    /// The newest state of all trees is the one after the last commit.
    fn compare(&self) -> Result<(), End> {
        let last = self.engine.core.log.published().0;
        self.world
            .oracle
            .compare(&self.engine, last)
            .map_err(broken)
    }

    /// A database that has failed commits nothing any more, and readers read on.
    fn is_closed(&mut self, error: &Error) -> Result<(), End> {
        for client in &mut self.clients {
            client.abort();
        }
        self.alone = None;
        let catalog = self.engine.catalog();
        let indexes = catalog
            .tables()
            .flat_map(|table| table.indexes.iter().map(|one| one.tree));
        let mut trees = catalog.tables().map(|table| table.tree).chain(indexes);
        if let Some(lost) = trees.find(|id| self.engine.forest.tree(*id).is_none()) {
            return Err(broken(format!(
                "after {error} {lost} of the catalogue is gone"
            )));
        }
        if matches!(error, Error::Disk(_)) && self.engine.core.log.check().is_ok() {
            // What failed had promised nothing: the making of a file.
            return Ok(());
        }
        let begun =
            self.clients[0].begin(&self.engine, &self.world.oracle, Begin::Serializable, false);
        match begun {
            Err(End::Dead(Error::Poisoned { .. })) => {}
            _ => return Err(broken("a database that has failed takes transactions")),
        }
        self.begin_reader()
    }

    fn begin_reader(&mut self) -> Result<(), End> {
        let begin = Begin::ReadOnlyAtHorizon;
        self.clients[1].begin(&self.engine, &self.world.oracle, begin, false)?;
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
    engine
        .checkpoints
        .as_ref()
        .expect("a database on a disk has checkpoints")
}
