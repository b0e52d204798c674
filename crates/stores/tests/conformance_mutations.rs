//! The contract's suite finds each deliberate fault of a store.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use syncline_contract::conformance::conforms;
use syncline_contract::{
    AccessPattern, Action, Capabilities, Cause, Failure, FailureKind, LogLocation, OperationId,
    Plan, ReportedSettings, Row, Rows, Session, Stop, TableId, Target, TargetResult, Value,
};
use syncline_stores::{AnySession, AnyTarget, AnyWorker};

/// What the store does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    AbortCommits,
    CommitForgets,
    UpdatesMissSilently,
    FailuresNameNoOperation,
    DuplicatesLookLikeConflicts,
    TextIsCut,
    DecimalsLoseTheirScale,
    AnswersComeBackwards,
    LimitsAreIgnored,
    EverythingIsSingle,
    LoadDropsTheLastRow,
    RemoveForgets,
}

/// A good store with one fault.
struct Faulty {
    fault: Fault,
    target: AnyTarget,
}

struct FaultySession {
    fault: Fault,
    session: AnySession,
    plan: Plan,
    waiting: usize,
    answers: Vec<Rows>,
    borrowed_rows: Rows,
}

impl Target for Faulty {
    type Session = FaultySession;
    type Worker = AnyWorker;

    fn name(&self) -> String {
        format!("{:?}", self.fault)
    }

    fn capabilities(&self) -> Capabilities {
        self.target.capabilities()
    }

    fn log_location(&self) -> LogLocation {
        self.target.log_location()
    }

    async fn create(&self, plan: &Plan) -> TargetResult<()> {
        self.target.create(plan).await
    }

    async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        self.target.reported_settings().await
    }

    fn worker(&self) -> TargetResult<AnyWorker> {
        self.target.worker()
    }

    async fn connect(&self, plan: &Plan, worker: &AnyWorker) -> TargetResult<FaultySession> {
        Ok(FaultySession {
            fault: self.fault,
            session: self.target.connect(plan, worker).await?,
            plan: plan.clone(),
            waiting: 0,
            answers: Vec::new(),
            borrowed_rows: Rows::default(),
        })
    }

    async fn remove(&self) -> TargetResult<()> {
        self.target.remove().await?;
        if self.fault == Fault::RemoveForgets {
            return Err(Failure::new(FailureKind::Storage, "a file is left behind"));
        }
        Ok(())
    }
}

impl FaultySession {
    fn spoil(&self, operation: OperationId, values: &[Value<'_>]) -> Vec<Value<'static>> {
        let asked = |action: &Action| {
            matches!(action, Action::Scan { limit: syncline_contract::Limit::Parameter, .. })
        };
        let last = values.len().saturating_sub(1);
        let spoilt = values.iter().enumerate().map(|(position, value)| match *value {
            Value::Text(text) if self.fault == Fault::TextIsCut => {
                Value::Text(text.chars().take(20).collect::<String>().leak())
            }
            Value::Int(_)
                if self.fault == Fault::LimitsAreIgnored
                    && position == last
                    && asked(&self.plan.operation(operation).action) =>
            {
                Value::Int(1000)
            }
            Value::Text(text) => Value::Text(text.to_owned().leak()),
            Value::Bytes(bytes) => Value::Bytes(bytes.to_owned().leak()),
            Value::Null => Value::Null,
            Value::Int(number) => Value::Int(number),
            Value::Float(number) => Value::Float(number),
            Value::Decimal(decimal) => Value::Decimal(decimal),
            Value::Timestamp(time) => Value::Timestamp(time),
        });
        spoilt.collect()
    }

    fn spoil_stop(&self, stop: Stop) -> Result<(), Stop> {
        let Stop::Failed(mut failure) = stop else {
            return Err(stop);
        };
        match self.fault {
            Fault::UpdatesMissSilently if failure.what.contains("no row") => Ok(()),
            Fault::DuplicatesLookLikeConflicts => Err(Stop::Conflict(Cause::Locked)),
            Fault::FailuresNameNoOperation => {
                failure.operation = None;
                Err(Stop::Failed(failure))
            }
            _ => Err(Stop::Failed(failure)),
        }
    }
}

impl Session for FaultySession {
    fn begin(&mut self, pattern: AccessPattern) {
        let pattern =
            if self.fault == Fault::EverythingIsSingle { AccessPattern::Single } else { pattern };
        self.session.begin(pattern);
        self.waiting = 0;
        self.answers.clear();
    }

    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        let action = &self.plan.operation(operation).action;
        self.waiting += usize::from(!self.plan.answer(action).is_empty());
        let values = self.spoil(operation, values);
        self.session.send(operation, &values).or_else(|stop| self.spoil_stop(stop))
    }

    async fn receive(&mut self) -> Result<&Rows, Stop> {
        if self.fault == Fault::AnswersComeBackwards {
            for _ in 0..std::mem::take(&mut self.waiting) {
                let rows = self.session.receive().await?.clone();
                self.answers.push(rows);
            }
            self.borrowed_rows = self.answers.pop().unwrap_or_default();
            return Ok(&self.borrowed_rows);
        }
        let rows = self.session.receive().await?;
        if self.fault != Fault::DecimalsLoseTheirScale {
            return Ok(rows);
        }
        let mut spoilt = Rows::new(rows.width());
        for value in rows.iter().flat_map(Row::values) {
            spoilt.push(match value {
                Value::Decimal(decimal) => Value::Int(decimal.units),
                value => value,
            });
        }
        self.borrowed_rows = spoilt;
        Ok(&self.borrowed_rows)
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        if self.fault == Fault::CommitForgets {
            self.session.abort().await;
            return Ok(());
        }
        self.session.commit().await
    }

    async fn abort(&mut self) {
        if self.fault == Fault::AbortCommits && self.session.commit().await.is_ok() {
            return;
        }
        self.session.abort().await;
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        let mut kept = Rows::new(batch.width());
        let dropped = usize::from(self.fault == Fault::LoadDropsTheLastRow);
        for row in batch.iter().take(batch.len().saturating_sub(dropped)) {
            kept.push_row(&row.values().collect::<Vec<_>>());
        }
        self.session.load(table, &kept).await
    }
}

fn cases_that_find(fault: Fault, folder: &Path) -> Vec<&'static str> {
    let number = AtomicUsize::new(0);
    let outcome = conforms(|| {
        let file = format!("{fault:?}{}.db", number.fetch_add(1, Ordering::Relaxed));
        let url = format!("sqlite:{}?durability=os", folder.join(file).display());
        let target = AnyTarget::open(&url).expect("a good URL");
        Faulty { fault, target }
    });
    outcome.findings.iter().map(|finding| finding.case).collect()
}

#[test]
fn every_deliberate_fault_is_found_by_the_case_that_tests_it() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    for (fault, cases) in [
        (Fault::AbortCommits, &["abort undoes", "abort undoes index entries"][..]),
        (Fault::CommitForgets, &["a commit is visible"]),
        (Fault::UpdatesMissSilently, &["absent rows are refused"]),
        (Fault::FailuresNameNoOperation, &["a duplicate key is refused"]),
        (Fault::DuplicatesLookLikeConflicts, &["a duplicate key is refused"]),
        (Fault::TextIsCut, &["values come back as written"]),
        (Fault::DecimalsLoseTheirScale, &["answers have the declared kinds"]),
        (Fault::AnswersComeBackwards, &["answers keep the order of asking"]),
        (Fault::LimitsAreIgnored, &["scans by key"]),
        (
            Fault::EverythingIsSingle,
            &["abort undoes", "no update is lost", "uncommitted rows are hidden"],
        ),
        (Fault::LoadDropsTheLastRow, &["batches are loaded"]),
        (Fault::RemoveForgets, &["remove without create"]),
    ] {
        let found = cases_that_find(fault, folder.path());
        for case in cases {
            assert!(found.contains(case), "{fault:?} is found by {found:?}, not by \"{case}\"");
        }
    }
}
