//! A session and its transaction. Every statement is compared with the oracle.

use super::episode::{EpisodeEnd, broken};
use super::harness::{SimulatedEngine, Tally};
use super::oracle::Oracle;
use super::rows::Table;
use super::transaction::{Bounds, RefusalSource, Transaction, Write, WriteRefusal, refusal};
use crate::access::btree::Tree;
use crate::access::btree::prefetch::{PrefetchTarget, prefetch_leaves};
use crate::conflict::Conflict;
use crate::error::Error;
use crate::ids::TreeId;
use crate::log::Ticket;
use crate::table::loading_rows::LoadingRows;
use crate::txn::{Begin, Direction, Scan, Session};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use syncline_vfs::SimulatedDisk;

/// One session with its open transaction.
pub(super) struct Client {
    session: Session<SimulatedDisk>,
    pub(super) open: Option<Transaction>,
    /// The session's last commit.
    last: u64,
    /// Rows that are being read from the disk while other steps run.
    loading: LoadingRows,
    /// How often it got the error for an object that was made later.
    pub(super) made_later: Cell<u64>,
}

/// Keys and values in the order of a scan.
pub(super) type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// The outcome of a statement.
pub(super) enum StatementOutcome<T> {
    That(T),
    /// The transaction is broken, or the statement was justly refused.
    Refused,
}

impl Client {
    pub(super) fn new(engine: &SimulatedEngine) -> Result<Client, EpisodeEnd> {
        let session = Session::new(&engine.core).map_err(|error| broken(error.to_string()))?;
        let loading = LoadingRows::default();
        Ok(Client { session, open: None, last: 0, loading, made_later: Cell::new(0) })
    }

    /// Begins a transaction. None may be open.
    pub(super) fn begin(
        &mut self,
        engine: &SimulatedEngine,
        oracle: &Oracle,
        begin: Begin,
        alone: bool,
    ) -> Result<(), EpisodeEnd> {
        let log = &engine.core.log;
        if alone {
            self.session.begin_exclusive()?;
        } else {
            self.session.begin(begin)?;
        }
        let point = self.session.read_point().0;
        let durable_lsn = log.durable_lsn().0;
        let is_right = match begin {
            Begin::Serializable | Begin::Snapshot => point == log.published().0,
            Begin::ReadOnly => point == durable_lsn && point >= self.last,
            Begin::ReadOnlyDurable => point == durable_lsn,
        };
        if !is_right {
            let last = self.last;
            return Err(broken(format!(
                "{begin:?} reads at {point}, the durable LSN is {durable_lsn}, the last commit {last}"
            )));
        }
        self.open = Some(Transaction::new(begin, oracle.last, point));
        Ok(())
    }

    /// Reads a row.
    pub(super) fn get(
        &mut self,
        oracle: &Oracle,
        tree: &Arc<Tree>,
        key: &[u8],
    ) -> Result<StatementOutcome<Option<Vec<u8>>>, EpisodeEnd> {
        let answer = self.session.get(tree, key).map(|row| row.map(<[u8]>::to_vec));
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return self.refused(oracle, error, None),
        };
        let txn = self.open.as_mut().expect("a transaction is open");
        txn.move_to(oracle, self.session.read_point().0).map_err(broken)?;
        txn.used(oracle, tree.id).map_err(broken)?;
        txn.got(oracle, (tree.id, key), answer.as_deref()).map_err(broken)?;
        Ok(StatementOutcome::That(answer))
    }

    /// Begins to load the page of a row; true if it is on disk.
    pub(super) fn begin_load(&mut self, tree: &Tree, key: &[u8]) -> bool {
        let buffer = &self.session.core().buffer;
        let mut target = [PrefetchTarget::new(tree, 0..key.len())];
        prefetch_leaves(buffer, key, &mut target);
        self.loading.begin(buffer, &target[0], key).is_some()
    }

    /// Waits for loads that have begun.
    pub(super) fn wait_for_loads(&mut self) {
        let Client { session, loading, .. } = self;
        loading.wait(&session.core().buffer);
    }

    /// True if loads have begun and not ended.
    pub(super) fn is_loading(&self) -> bool {
        self.loading.count > 0
    }

    /// Reads a range.
    pub(super) fn scan(
        &mut self,
        oracle: &Oracle,
        tree: &Arc<Tree>,
        bounds: Bounds,
        (direction, limit): (Direction, usize),
    ) -> Result<StatementOutcome<Rows>, EpisodeEnd> {
        let mut rows = Vec::new();
        let range = Scan {
            lower: bounds.0.as_ref().map(|key| &key[..]),
            upper: bounds.1.as_ref().map(|key| &key[..]),
            direction,
            limit,
        };
        let scanned = self.session.scan(tree, range, |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        });
        if let Err(error) = scanned {
            return self.refused(oracle, error, None);
        }
        let txn = self.open.as_mut().expect("a transaction is open");
        txn.move_to(oracle, self.session.read_point().0).map_err(broken)?;
        txn.used(oracle, tree.id).map_err(broken)?;
        let how = (direction == Direction::Ascending, limit);
        txn.scanned(oracle, (tree.id, bounds), how, &rows).map_err(broken)?;
        Ok(StatementOutcome::That(rows))
    }

    /// Reads the row to which an index entry that was just read leads.
    pub(super) fn get_of_entry(
        &mut self,
        oracle: &Oracle,
        tree: &Arc<Tree>,
        key: &[u8],
    ) -> Result<StatementOutcome<Vec<u8>>, EpisodeEnd> {
        let answer = self.session.get_of_entry(tree, None, key);
        match answer.map(|row| row.map(<[u8]>::to_vec)) {
            Ok(Some(row)) => {
                let txn = self.open.as_mut().expect("a transaction is open");
                txn.move_to(oracle, self.session.read_point().0).map_err(broken)?;
                txn.got(oracle, (tree.id, key), Some(&row)).map_err(broken)?;
                Ok(StatementOutcome::That(row))
            }
            Ok(None) => Err(broken(format!(
                "an index entry leads to no row: {}, {key:?}, {}",
                tree.id,
                self.open
                    .as_ref()
                    .map(|txn| txn.chain(oracle, (tree.id, key), None))
                    .unwrap_or_default()
            ))),
            Err(error) => self.refused(oracle, error, None),
        }
    }

    /// What a scan of keys does for each index entry.
    pub(super) fn check_entry(
        &mut self,
        oracle: &Oracle,
        tree: &Arc<Tree>,
        key: &[u8],
    ) -> Result<StatementOutcome<()>, EpisodeEnd> {
        match self.session.check_inserted(tree, None, key) {
            Ok(()) => Ok(StatementOutcome::That(())),
            Err(error) => self.refused(oracle, error, None),
        }
    }

    /// Writes a row.
    pub(super) fn write(
        &mut self,
        oracle: &Oracle,
        tree: &Arc<Tree>,
        key: &[u8],
        write: Write,
    ) -> Result<StatementOutcome<()>, EpisodeEnd> {
        let session = &mut self.session;
        let wrote = match &write {
            Write::Put(value) => session.put(tree, key, value),
            Write::Insert(value) => session.insert(tree, key, value),
            Write::Update(value) => session.update(tree, key, value),
            Write::Delete => session.delete(tree, key),
            Write::Append(patch) => session.patch(tree, key, super::rows::append, patch),
        };
        if let Err(error) = wrote {
            return self.refused(oracle, error, Some((tree, key, &write)));
        }
        let txn = self.open.as_mut().expect("a transaction is open");
        txn.wrote(tree.id, key, write);
        Ok(StatementOutcome::That(()))
    }

    pub(super) fn save(&mut self) {
        let savepoint = self.session.savepoint();
        self.open.as_mut().expect("a transaction is open").save(savepoint);
    }

    pub(super) fn roll_back(&mut self, at: usize) {
        let txn = self.open.as_mut().expect("a transaction is open");
        if let Some(savepoint) = txn.roll_back(at) {
            self.session.rollback_to(savepoint);
        }
    }

    pub(super) fn abort(&mut self) {
        self.open = None;
        self.session.abort();
    }

    /// Commits, and records the effects. Returns a ticket if it was committed.
    pub(super) fn commit(
        &mut self,
        engine: &SimulatedEngine,
        oracle: &mut Oracle,
        tally: &mut Tally,
        is_unsynced: bool,
    ) -> Result<Option<Ticket>, EpisodeEnd> {
        let txn = self.open.take().expect("a transaction is open");
        if !txn.tables.iter().all(|table| table.is_current(engine)) && txn.has_writes() {
            // The layer above does the same: it could not maintain an index that was made meanwhile.
            self.session.abort();
            return Ok(None);
        }
        let committed = if is_unsynced {
            self.session.commit_unsynced().map(|csn| engine.core.log.ticket(csn))
        } else {
            self.session.commit()
        };
        let published = engine.core.log.published().0;
        let answer = match committed {
            Ok(ticket) if txn.has_writes() => {
                if ticket.csn.0 != published {
                    return Err(broken(format!("{} is not the last, {published}", ticket.csn)));
                }
                self.last = published;
                tally.commits += 1;
                committed_at(oracle, &txn, tally, published)
            }
            Ok(ticket) if ticket.csn.0 > published => {
                Err(broken(format!("a reader's ticket is {}", ticket.csn)))
            }
            Ok(_) => txn.holds(oracle, txn.point).map_err(broken),
            Err(error) => {
                self.open = Some(txn);
                match error {
                    Error::LogLong { bytes, .. } => {
                        tally.long += 1;
                        if bytes != engine.core.log.live_bytes() {
                            return Err(broken(format!("the log does not hold {bytes} bytes")));
                        }
                    }
                    Error::Conflict(_) => tally.conflicts += 1,
                    _ => tally.refused += 1,
                }
                let refused = self.refused::<()>(oracle, error, None);
                self.open = None;
                oracle.take(published);
                return refused.map(|_| None);
            }
        };
        answer.map(|()| committed.ok())
    }

    /// Checks that an error is justified.
    fn refused<T>(
        &self,
        oracle: &Oracle,
        error: Error,
        write: Option<(&Arc<Tree>, &[u8], &Write)>,
    ) -> Result<StatementOutcome<T>, EpisodeEnd> {
        let txn = self.open.as_ref().expect("a transaction is open");
        if let Error::Conflict(conflict) = error {
            let is_other = matches!(
                conflict,
                Conflict::SnapshotTooOld | Conflict::Dropped | Conflict::MadeLater
            );
            if conflict == Conflict::MadeLater {
                txn.check_made_later(oracle).map_err(broken)?;
                self.made_later.set(self.made_later.get() + 1);
            }
            if oracle.last == txn.began && !is_other {
                return Err(broken(format!("{conflict}, but no other transaction has committed")));
            }
            if txn.is_read_only() && !is_other {
                return Err(broken(format!("{conflict}, but it only reads")));
            }
            return Ok(StatementOutcome::Refused);
        }
        let Some((why, tree, key)) = refusal(&error) else {
            return EpisodeEnd::of(error).map(|()| StatementOutcome::Refused);
        };
        let write = write.map(|(_, _, write)| write);
        self.is_refused(oracle, txn, (tree, key), (why, write)).map_err(broken)?;
        Ok(StatementOutcome::Refused)
    }

    /// Whatever a refusal depends on must be stable before it is returned.
    fn is_stable(&self, csn: u64) -> Result<(), String> {
        let durable_lsn = self.session.core().log.durable_lsn();
        if csn > durable_lsn.0 {
            return Err(format!(
                "a refusal stems from {csn}, but the durable LSN is {durable_lsn}"
            ));
        }
        Ok(())
    }

    fn is_refused(
        &self,
        oracle: &Oracle,
        txn: &Transaction,
        (tree, key): (TreeId, &[u8]),
        (why, write): (WriteRefusal, Option<&Write>),
    ) -> Result<(), String> {
        // A refusal by the rows depends on their current state or, if an earlier read is refused, on the read
        // point; a refusal by the transaction's own writes depends on no state.
        let mut unstable = None;
        for csn in [oracle.last, txn.point] {
            match txn.refuses(oracle, (tree, key), (why, write), csn) {
                Some(RefusalSource::OwnWrites) => return Ok(()),
                Some(RefusalSource::Data) => match self.is_stable(oracle.maker(tree, key, csn)) {
                    Ok(()) => return Ok(()),
                    Err(what) => unstable = unstable.or(Some(what)),
                },
                None => {}
            }
        }
        if let Some(what) = unstable {
            let chain = txn.chain(oracle, (tree, key), write);
            return Err(format!("{what}: {why:?}, {chain}"));
        }
        let chain = txn.chain(oracle, (tree, key), write);
        Err(format!("{tree}, {key:?} was refused as {why:?}, but nothing refuses it: {chain}"))
    }
}

impl Table {
    /// True if the transaction knows all indexes and columns of the table.
    pub(super) fn is_current(&self, engine: &SimulatedEngine) -> bool {
        let catalog = engine.catalog();
        let now = catalog.table(self.entry.schema.name());
        // A dropped table is left to the engine: the commit conflicts.
        let now = now.filter(|now| now.id == self.entry.id);
        now.is_none_or(|now| {
            let has_all_indexes =
                now.indexes.iter().all(|index| self.entry.indexes.contains(index));
            has_all_indexes && now.schema.version() == self.entry.schema.version()
        })
    }
}

/// Compares a commit with the oracle, and then records it there.
fn committed_at(
    oracle: &mut Oracle,
    txn: &Transaction,
    tally: &mut Tally,
    csn: u64,
) -> Result<(), EpisodeEnd> {
    match txn.holds(oracle, csn - 1) {
        Ok(()) => {}
        Err(_) if txn.begin == Begin::Snapshot => tally.skewed += 1,
        Err(what) => return Err(broken(format!("commit {csn} is wrong: {what}"))),
    }
    let effects = txn.effects(oracle, csn).map_err(broken)?;
    oracle.commit(csn, effects);
    Ok(())
}
