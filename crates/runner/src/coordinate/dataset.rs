//! Loaded rows that are kept for a later run, and the mark by which that run identifies them.
//!
//! The mark is a row in its own table in the store. It is written after all rows are loaded, so that an
//! interrupted load has none. It records the source of the rows and their content (`fingerprint.rs`). The
//! states of the rows, as the mark records them:
//!
//! ```text
//! no mark ── loaded ──> fingerprint ── a run that changes rows starts ──> changing
//!                            ├──────── it has ended, rows read again ──────────┤
//!                            └──────── its clients never started ──────────────┤
//!                                    spent <── it inserted or deleted rows ────┘
//! ```
//!
//! Invariants:
//! 1. A store is refused, and left unchanged, if its mark is missing or different, or if its rows are
//!    changing, are spent or have a different fingerprint.
//! 2. A run never removes a store that existed before it.

use crate::coordinate::fingerprint::FingerprintPlan;
use crate::coordinate::interruptible::{
    COMMIT_AFTER_STOP_NS, NO_LIMIT_NS, Unanswered, block_on_until_stopped,
};
use crate::drive::executor::block_on;
use crate::error::Error;
use crate::plan::RunPlan;
use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use syncline_contract::{
    AccessPattern, Action, Failure, FailureKind, Int, Kind, Lock, Plan, Read, RequestTracker,
    Session, Set, Stop, Table, Target, TargetResult, Text, Transaction, Workload, Write,
};

/// Size limit of the source of the rows in a mark.
const MARK_BYTES: u32 = 500;
/// Size limit of the state of the rows in a mark.
const ROWS_BYTES: u32 = 100;
/// The state while a run changes the rows.
const CHANGING: &str = "changing";
/// The state of rows from which no run can start any more.
const SPENT: &str = "spent";
/// The state of rows of which the store cannot compute a fingerprint.
const NOT_READ: &str = "not read";

/// The one key of the table of marks.
const KEY: i64 = 1;

/// The tables of a run in its store: the workload's, and the mark's if rows are kept.
#[derive(Debug)]
pub(crate) struct Dataset<'w> {
    pub(crate) plan: Cow<'w, Plan>,
    mark: Option<Mark>,
    /// True if the workload has no tables and runs on whatever the store contains.
    visits: bool,
    /// Set when a stop is requested.
    stop: &'w AtomicBool,
}

#[derive(Debug)]
struct Mark {
    text: String,
    write: Write<(Int, Text, Text)>,
    change: Write<(Int, Text)>,
    read: Read<(Int,), (Text, Text)>,
    /// The number of the workload's tables.
    tables: usize,
    /// `None` unless rows are added to existing ones.
    adds: Option<AppendPlan>,
    /// True if transactions of the workload may change rows.
    changes: bool,
    /// True if the workload inserts or deletes rows.
    spends: bool,
    /// The state that the mark recorded before the run began.
    left: OnceLock<String>,
}

/// How rows are added to existing ones.
#[derive(Debug)]
struct AppendPlan {
    /// The source that the mark must record before.
    before: String,
    /// Overwrites the whole mark.
    write: Write<(Int, Text, Text)>,
}

/// A mark as it was read from the store.
struct StoredMark {
    loaded: String,
    rows: String,
}

impl<'w> Dataset<'w> {
    /// The dataset of a workload in a run. The workload's operations keep their positions in the plan.
    pub(crate) fn of<W: Workload>(
        workload: &'w W,
        run: &RunPlan,
        stop: &'w AtomicBool,
    ) -> Dataset<'w> {
        let mut plan = Cow::Borrowed(workload.plan());
        if let Some(requested) = run.pipeline.filter(|requested| *requested != plan.pipeline) {
            plan.to_mut().pipeline = requested;
        }
        let mark = workload.loaded_as().filter(|_| run.reuse).map(|rows| {
            let tables = plan.tables().len();
            let changes = plan.operations().iter().any(|one| {
                // A user's statement may do anything.
                one.action.writes() || matches!(one.action, Action::Statement { .. })
            });
            let plan = plan.to_mut();
            let table = Table::new("syncline_mark")
                .column("id", Kind::Int)
                .text("loaded", MARK_BYTES)
                .text("rows_are", ROWS_BYTES)
                .key(&["id"]);
            let table = plan.table(table);
            let adds = run.adds_to.as_ref().map(|there| {
                let sets = [("loaded", Set::To), ("rows_are", Set::To)];
                AppendPlan {
                    before: format!("{}: {there}", workload.name()),
                    write: plan.update("change whole mark", table, &sets),
                }
            });
            Mark {
                text: format!("{}: {rows}", workload.name()),
                adds,
                write: plan.insert("insert mark", table),
                change: plan.update("change mark", table, &[("rows_are", Set::To)]),
                read: plan.get("read mark", table, &["loaded", "rows_are"], Lock::None),
                tables,
                changes,
                spends: workload.leaves_other_rows(),
                left: OnceLock::new(),
            }
        });
        let visits = run.reuse && plan.tables().is_empty();
        Dataset { plan, mark, visits, stop }
    }

    /// True if rows that the run loaded itself are kept after it.
    pub(crate) fn stays(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| !mark.spends)
    }

    /// Opens the rows that an earlier run has kept; false if there are none or the run does not keep rows.
    pub(crate) fn reopen<T: Target>(&self, target: &T) -> Result<bool, Error> {
        let failed = |why: Unanswered| why.into_error(target, "its kept rows were checked");
        if self.mark.is_none() && !self.visits {
            return Ok(false);
        }
        let there = block_on(target.reopen(&self.plan));
        let there = there.map_err(|failure| failed(failure.into()))?;
        if !there && self.adds() {
            let nothing = refused("there are no rows to add to");
            return nothing.map_err(|failure: Failure| failed(failure.into()));
        }
        if let Some(mark) = self.mark.as_ref().filter(|_| there) {
            let stored = self.read_mark(target, mark).map_err(failed)?;
            let left = mark.compare_with(stored);
            let left = left.map_err(|failure| failed(failure.into()))?;
            let now = self.rows_are(target, mark).map_err(failed)?;
            Mark::compare(&left, &now).map_err(|failure| failed(failure.into()))?;
            if mark.adds.is_none() {
                mark.left.get_or_init(|| left);
            }
        }
        Ok(there)
    }

    /// True if the run adds rows to existing ones.
    pub(crate) fn adds(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.adds.is_some())
    }

    /// Marks the rows as changing before rows are added, so that no run starts from the rows of an
    /// interrupted load.
    pub(crate) fn begin_adding<T: Target>(&self, target: &T) -> Result<(), Error> {
        let Some(mark) = &self.mark else {
            return Ok(());
        };
        let written = self.write_mark(target, mark, CHANGING);
        written.map_err(|why| why.into_error(target, "its kept rows were marked as changing"))
    }

    /// Marks the rows as completely loaded.
    pub(crate) fn mark<T: Target>(&self, target: &T) -> Result<(), Error> {
        let Some(mark) = &self.mark else {
            return Ok(());
        };
        let failed = |why: Unanswered| why.into_error(target, "its rows were marked as loaded");
        let rows = self.rows_are(target, mark).map_err(failed)?;
        let written =
            self.with(target, AccessPattern::Several, async |transaction| match &mark.adds {
                None => transaction.write(&mark.write, (KEY, &mark.text, &rows)),
                Some(adds) => transaction.write(&adds.write, (KEY, &mark.text, &rows)),
            });
        written.map_err(failed)?;
        mark.left.get_or_init(|| rows);
        Ok(())
    }

    /// True if rows are kept and the run may change them.
    pub(crate) fn changes(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.changes)
    }

    /// Marks the rows as changing, if they are kept and the run may change them.
    pub(crate) fn begin_changes<T: Target>(&self, target: &T) -> Result<(), Error> {
        match &self.mark {
            Some(mark) if mark.changes && takes_writes(target) => {
                let written = self.write_mark(target, mark, CHANGING);
                written
                    .map_err(|why| why.into_error(target, "its kept rows were marked as changing"))
            }
            _ => Ok(()),
        }
    }

    /// Restores the mark after a run whose clients never started, so that the rows are unchanged. If that
    /// fails, the next run refuses the rows.
    pub(crate) fn revert_changes_mark<T: Target>(&self, target: &T) -> Result<(), Unanswered> {
        match &self.mark {
            Some(mark) if mark.changes && takes_writes(target) => {
                let left = mark.left.get();
                let left =
                    left.expect("the state was stored when the rows were loaded or reopened");
                self.write_mark(target, mark, left)
            }
            _ => Ok(()),
        }
    }

    /// Marks the rows with their new content, if they are kept and may have changed.
    pub(crate) fn end_changes<T: Target>(&self, target: &T) -> Result<(), Unanswered> {
        match &self.mark {
            Some(mark) if mark.spends && takes_writes(target) => {
                self.write_mark(target, mark, SPENT)
            }
            Some(mark) if mark.changes && takes_writes(target) => {
                let rows = self.rows_are(target, mark)?;
                self.write_mark(target, mark, &rows)
            }
            _ => Ok(()),
        }
    }

    fn write_mark<T: Target>(&self, target: &T, mark: &Mark, rows: &str) -> Result<(), Unanswered> {
        self.with(target, AccessPattern::Several, async |transaction| {
            transaction.write(&mark.change, (KEY, rows))
        })
    }

    /// The fingerprint of the workload's rows, as text for the mark.
    fn rows_are<T: Target>(&self, target: &T, mark: &Mark) -> Result<String, Unanswered> {
        match FingerprintPlan::of(&self.plan, mark.tables, &target.capabilities()) {
            Some(reading) => Ok(reading.take(target, self.stop)?.to_string()),
            None => Ok(NOT_READ.to_owned()),
        }
    }

    fn read_mark<T: Target>(
        &self,
        target: &T,
        mark: &Mark,
    ) -> Result<Option<StoredMark>, Unanswered> {
        self.with(target, AccessPattern::ReadOnly, async |transaction| {
            let stored = transaction.read_if_any(&mark.read, (KEY,)).await?;
            Ok(stored.map(|(loaded, rows)| StoredMark {
                loaded: loaded.to_owned(),
                rows: rows.to_owned(),
            }))
        })
    }

    /// Performs one transaction on a separate session.
    fn with<T: Target, R>(
        &self,
        target: &T,
        shape: AccessPattern,
        perform: impl AsyncFnOnce(&mut Transaction<'_, T::Session>) -> Result<R, Stop>,
    ) -> Result<R, Unanswered> {
        let part = target.worker()?;
        let ended = async {
            let connected = target.connect(&self.plan, &part).await;
            let mut session = connected.map_err(|failure| Stop::Failed(Box::new(failure)))?;
            let mut requests = RequestTracker::new(false);
            session.begin(shape);
            let result = perform(&mut Transaction::new(&mut session, &mut requests)).await?;
            session.commit().await?;
            Ok(result)
        };
        let after_stop_ns = match shape {
            AccessPattern::ReadOnly => NO_LIMIT_NS,
            _ => COMMIT_AFTER_STOP_NS,
        };
        let ended = block_on_until_stopped(ended, &part, self.stop, after_stop_ns);
        let ended = ended.ok_or(Unanswered::Stopped)?;
        ended.map_err(|stop| {
            Unanswered::Failed(match stop {
                Stop::Failed(failure) | Stop::Unknown(failure) => *failure,
                Stop::Abort | Stop::Conflict(_) => {
                    let what = "the transaction on the mark conflicted with another session";
                    Failure::new(FailureKind::Statement, what)
                }
            })
        })
    }
}

/// The source of the rows that an earlier run of the workload has kept in the store, as
/// [`Workload::loaded_as`] returns it. `None` if the store is empty, or has rows of another workload or an
/// incomplete load. Leaves the store unchanged.
pub fn loaded_as<T: Target, W: Workload>(
    target: &T,
    workload: &W,
) -> Result<Option<String>, Error> {
    let run = RunPlan { reuse: true, ..RunPlan::default() };
    let stop = AtomicBool::new(false);
    let dataset = Dataset::of(workload, &run, &stop);
    let Some(mark) = &dataset.mark else {
        return Ok(None);
    };
    let read = || -> Result<Option<StoredMark>, Unanswered> {
        if !block_on(target.reopen(&dataset.plan))? {
            return Ok(None);
        }
        let stored = dataset.read_mark(target, mark);
        block_on(target.keep())?;
        stored
    };
    let stored = read().map_err(|why| why.into_error(target, "its kept rows were checked"))?;
    let of = format!("{}: ", workload.name());
    let text = stored.map(|stored| stored.loaded);
    Ok(text.and_then(|text| text.strip_prefix(&of).map(str::to_owned)))
}

impl Mark {
    /// The state of the rows in the mark, if they are the rows that the run needs.
    fn compare_with(&self, stored: Option<StoredMark>) -> TargetResult<String> {
        match stored {
            None => refused("its rows were not loaded to the end"),
            Some(stored) if stored.loaded != self.needs() => refused(&format!(
                "it keeps rows of \"{}\" and the run needs \"{}\"",
                stored.loaded,
                self.needs()
            )),
            Some(stored) if stored.rows == CHANGING => {
                refused("a run that changes its rows has not ended, so their content is unknown")
            }
            Some(stored) if stored.rows == SPENT => {
                refused("a run that inserts or deletes has left other rows there than were loaded")
            }
            Some(stored) => Ok(stored.rows),
        }
    }

    /// The source that the mark must record when the run begins.
    fn needs(&self) -> &str {
        self.adds.as_ref().map_or(&self.text, |adds| &adds.before)
    }

    fn compare(left: &str, now: &str) -> TargetResult<()> {
        if left == now {
            return Ok(());
        }
        refused(&format!("its rows are not those that were left there: {now} instead of {left}"))
    }
}

/// False if the store takes no writes in this run, so that the mark need not and cannot be changed.
fn takes_writes<T: Target>(target: &T) -> bool {
    target.read_only_reason().is_none()
}

fn refused<T>(what: &str) -> TargetResult<T> {
    let what =
        format!("{what}; remove it (in a server: syncline clean URL), or use another location");
    Err(Failure::new(FailureKind::Limit, what))
}
