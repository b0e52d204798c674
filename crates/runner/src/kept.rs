//! Loaded rows that stay for a later run, and the mark by which that run knows them.
//!
//! The mark is a row of a table of its own in the store. It is written when every row is loaded, so
//! that an interrupted load has none, and says what the rows were made from. Invariants:
//! 1. A store whose mark is missing or another is refused, and left as it is.
//! 2. A store that was there before the run is never removed by it.

use crate::error::Error;
use crate::executor::block_on;
use crate::plan::RunPlan;
use std::borrow::Cow;
use syncline_contract::{
    Asked, Failure, FailureKind, Int, Kind, Lock, Plan, Read, Session, Shape, Stop, Table, Target,
    TargetResult, Text, Transaction, Workload, Write,
};

/// The most bytes of a mark.
const MARK_BYTES: u32 = 500;

/// The one key of the table of marks.
const KEY: i64 = 1;

/// The tables of a run in its store: the workload's, and where rows are kept the mark's.
#[derive(Debug)]
pub(crate) struct Ground<'w> {
    pub(crate) plan: Cow<'w, Plan>,
    mark: Option<Mark>,
}

#[derive(Debug)]
struct Mark {
    text: String,
    write: Write<(Int, Text)>,
    read: Read<(Int,), (Text,)>,
}

impl<'w> Ground<'w> {
    /// Of a workload in a run. The workload's operations keep their places.
    pub(crate) fn of<W: Workload>(workload: &'w W, run: &RunPlan) -> Ground<'w> {
        let mut plan = Cow::Borrowed(workload.plan());
        if let Some(asked) = run.pipeline.filter(|asked| *asked != plan.pipeline) {
            plan.to_mut().pipeline = asked;
        }
        let mark = workload.loaded_as().filter(|_| run.reuse).map(|rows| {
            let plan = plan.to_mut();
            let table = Table::new("syncline_mark")
                .column("id", Kind::Int)
                .text("loaded", MARK_BYTES)
                .key(&["id"]);
            let table = plan.table(table);
            Mark {
                text: format!("{}: {rows}", workload.name()),
                write: plan.insert("insert mark", table),
                read: plan.get("read mark", table, &["loaded"], Lock::None),
            }
        });
        Ground { plan, mark }
    }

    /// Opens what an earlier run has kept, if the run keeps rows and there is anything.
    pub(crate) fn reopen<T: Target>(&self, target: &T) -> Result<bool, Error> {
        let Some(mark) = &self.mark else {
            return Ok(false);
        };
        let failed = |source| Error::Target {
            target: target.name(),
            doing: "its kept rows were looked at",
            source,
        };
        let there = block_on(target.reopen(&self.plan), &()).map_err(failed)?;
        if there {
            mark.hold_against(self.found(target, mark).map_err(failed)?)
                .map_err(failed)?;
        }
        Ok(there)
    }

    /// Marks the rows as loaded to the end.
    pub(crate) fn mark<T: Target>(&self, target: &T) -> Result<(), Error> {
        let Some(mark) = &self.mark else {
            return Ok(());
        };
        let written = self.with(target, Shape::Several, async |transaction| {
            transaction.write(&mark.write, (KEY, &mark.text))
        });
        written.map_err(|source| Error::Target {
            target: target.name(),
            doing: "its rows were marked as loaded",
            source,
        })
    }

    fn found<T: Target>(&self, target: &T, mark: &Mark) -> TargetResult<Option<String>> {
        self.with(target, Shape::ReadOnly, async |transaction| {
            let found = transaction.read_if_any(&mark.read, (KEY,)).await?;
            Ok(found.map(|(text,)| text.to_owned()))
        })
    }

    /// One transaction of its own.
    fn with<T: Target, R>(
        &self,
        target: &T,
        shape: Shape,
        perform: impl AsyncFnOnce(&mut Transaction<'_, T::Session>) -> Result<R, Stop>,
    ) -> TargetResult<R> {
        let part = target.worker()?;
        let ended = async {
            let connected = target.connect(&self.plan, &part).await;
            let mut session = connected.map_err(|failure| Stop::Failed(Box::new(failure)))?;
            let mut asked = Asked::new(false);
            session.begin(shape);
            let result = perform(&mut Transaction::new(&mut session, &mut asked)).await?;
            session.commit().await?;
            Ok(result)
        };
        block_on(ended, &part).map_err(|stop| match stop {
            Stop::Failed(failure) | Stop::Unknown(failure) => *failure,
            Stop::Abort | Stop::Conflict(_) => {
                let what = "somebody else was in the way of the only transaction";
                Failure::new(FailureKind::Statement, what)
            }
        })
    }
}

impl Mark {
    fn hold_against(&self, found: Option<String>) -> TargetResult<()> {
        let refused = |what: String| Err(Failure::new(FailureKind::Limit, what));
        match found {
            Some(text) if text == self.text => Ok(()),
            Some(text) => refused(format!(
                "it keeps rows of \"{text}\" and the run needs \"{}\"; name another place or remove it",
                self.text
            )),
            None => refused(
                "its rows were not loaded to the end; remove it, or name another place".to_owned(),
            ),
        }
    }
}
