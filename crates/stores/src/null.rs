//! The null target: answers at once with rows of the right kinds and stores nothing, so that a run on
//! it measures the laboratory itself.
//!
//! A get returns one row, a scan with a fixed limit as many rows as its limit (at most [`ROWS_MAX`]),
//! any other read one row. The rows are created once for each worker, when its first session connects,
//! so that a thousand sessions remain small; a read then costs two moves in a queue. Writes and commits
//! succeed without reading their values.
//!
//! With a delay, each commit keeps its thread busy for that time: a store of known cost, to test
//! measurements and comparisons.

use crate::error::Error;
use crate::url::{Listing, Url};
use std::cell::OnceCell;
use std::rc::Rc;
use syncline_contract::{
    AccessPattern, Action, Capabilities, ClientModel, Decimal, Durability, Failure, FailureKind,
    Isolation, Kind, Limit, LogLocation, OperationId, Plan, Queue, ReportedSettings, Rows, Session,
    Side, Stop, TableId, Target, TargetResult, Value, Worker, options,
};
use syncline_instrument::{Nanos, clock};

/// The maximum number of rows of an answer.
pub const ROWS_MAX: u64 = 1_000;

/// The maximum length of a returned text or bytes value.
const BYTES_MAX: usize = 100;

const FILLER: &str = "the null target returns this text for every read of a text, whatever was written: it keeps none.....";

/// The target that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null {
    /// How long each commit keeps its thread busy, in nanoseconds.
    pub delay_ns: Nanos,
}

options! {
    /// The options of `null`.
    #[derive(Debug)]
    struct UrlOptions {
        delay_ns: u64 = 0 in 0..=1_000_000_000,
            "how long each commit keeps its thread busy: a store of known cost";
    }
}

pub(crate) const LISTING: &Listing = &Listing {
    name: "null",
    what: "does nothing, at once: measures syncline itself",
    form: "null, or null?options",
    options: UrlOptions::LISTING,
};

/// Opens the target that a `null:` URL names.
pub(crate) fn open(url: &Url) -> Result<Null, Error> {
    let given = url.option_args(LISTING)?;
    if url.path.as_ref().is_some_and(|path| !path.is_empty()) {
        return Err(Error::Malformed {
            url: url.text.clone(),
            why: "the null target stores nothing, so it has no path",
            form: LISTING.form,
        });
    }
    Ok(Null { delay_ns: UrlOptions::read(&given)?.delay_ns })
}

impl Target for Null {
    type Session = NullSession;
    type Worker = NullWorker;

    fn name(&self) -> String {
        "null".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            client_model: ClientModel::Futures,
            workers_max: None,
            clients_max: None,
            keeps_rows: false,
            aborts: true,
            scans: true,
            indexes: true,
            joins: true,
            aggregates: true,
            keys_by_server: true,
            loads: true,
            reopens: false,
            pipelines: true,
            statements: Some("any"),
            protocols: true,
        }
    }

    fn log_location(&self) -> LogLocation {
        LogLocation::Nowhere("the null target keeps no log".to_owned())
    }

    async fn create(&self, _plan: &Plan) -> TargetResult<()> {
        Ok(())
    }

    async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        Ok(ReportedSettings {
            product: "null".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            durability: Durability::None,
            durability_evidence: "it keeps nothing".to_owned(),
            isolation: Isolation::NoneClaimed,
            settings: Vec::new(),
        })
    }

    fn worker(&self) -> TargetResult<NullWorker> {
        Ok(NullWorker::default())
    }

    async fn connect(&self, plan: &Plan, worker: &NullWorker) -> TargetResult<NullSession> {
        let made = || plan.operations().iter().map(|one| answer(plan, &one.action)).collect();
        let answers = Rc::clone(worker.answers.get_or_init(made));
        Ok(NullSession { answers, delay_ns: self.delay_ns, waiting: Queue::default() })
    }

    async fn remove(&self) -> TargetResult<()> {
        Ok(())
    }
}

/// The answer of each operation of a plan; `None` for a write.
type Answers = Rc<[Option<Rows>]>;

/// The state that the sessions of one worker share; a worker belongs to one run, and so to one plan.
#[derive(Debug, Default)]
pub struct NullWorker {
    answers: OnceCell<Answers>,
}

impl Worker for NullWorker {}

/// A session of the null target.
#[derive(Debug)]
pub struct NullSession {
    answers: Answers,
    delay_ns: Nanos,
    waiting: Queue<usize>,
}

impl Session for NullSession {
    #[inline]
    fn begin(&mut self, _shape: AccessPattern) {}

    #[inline]
    fn send(&mut self, operation: OperationId, _values: &[Value<'_>]) -> Result<(), Stop> {
        if self.answers[operation.0].is_some() {
            self.waiting.push(operation.0);
        }
        Ok(())
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        let oldest = self.waiting.pop();
        let rows = oldest.and_then(|operation| self.answers[operation].as_ref());
        rows.ok_or_else(|| {
            Failure::new(FailureKind::Statement, "no operation is waiting for an answer").into()
        })
    }

    #[inline]
    async fn commit(&mut self) -> Result<(), Stop> {
        self.waiting.clear();
        if self.delay_ns > 0 {
            spin(self.delay_ns);
        }
        Ok(())
    }

    #[inline]
    async fn abort(&mut self) {
        self.waiting.clear();
    }

    async fn load(&mut self, _table: TableId, _batch: &Rows) -> Result<(), Stop> {
        Ok(())
    }
}

/// Keeps the thread busy for that time.
#[cold]
fn spin(length_ns: Nanos) {
    let until = clock::now().saturating_add(length_ns);
    while clock::now() < until {
        std::hint::spin_loop();
    }
}

/// The answer of an operation; `None` for a write.
fn answer(plan: &Plan, action: &Action) -> Option<Rows> {
    if action.writes() {
        return None;
    }
    let columns = match action {
        Action::Statement { .. } => vec![(Kind::Int, false)],
        _ => plan.answer(action),
    };
    let bytes_max = bytes_max(plan, action);
    let mut rows = Rows::new(columns.len());
    for _ in 0..row_count(action) {
        for ((kind, _), bytes_max) in columns.iter().zip(&bytes_max) {
            rows.push(value(*kind, *bytes_max));
        }
    }
    Some(rows)
}

fn row_count(action: &Action) -> u64 {
    match action {
        Action::Scan { limit: Limit::Fixed(rows), .. } => (*rows).min(ROWS_MAX),
        _ => 1,
    }
}

/// The maximum length of each returned column.
fn bytes_max(plan: &Plan, action: &Action) -> Vec<usize> {
    let of = |table: TableId, column: usize| {
        let declared = plan.tables()[table.0].columns[column].bytes_max;
        declared.map_or(BYTES_MAX, |bytes| BYTES_MAX.min(bytes as usize))
    };
    match action {
        Action::Get { table, columns, .. } => columns.iter().map(|c| of(*table, c.0)).collect(),
        Action::Scan { path, columns, .. } => columns.iter().map(|c| of(path.table, c.0)).collect(),
        Action::Join { path, right, columns, .. } => columns
            .iter()
            .map(|(side, column)| match side {
                Side::Left => of(path.table, column.0),
                Side::Right => of(*right, column.0),
            })
            .collect(),
        Action::Sorted { path, column, .. } => vec![of(path.table, column.0)],
        // The minimum and maximum of a text column return a text of any length; a user's statement
        // returns a number.
        Action::Aggregate { .. } | Action::Statement { .. } => vec![BYTES_MAX],
        Action::Insert { .. }
        | Action::Put { .. }
        | Action::Update { .. }
        | Action::Change { .. }
        | Action::Delete { .. }
        | Action::Remove { .. } => Vec::new(),
    }
}

fn value(kind: Kind, bytes_max: usize) -> Value<'static> {
    match kind {
        Kind::Int => Value::Int(1),
        Kind::Float => Value::Float(1.0),
        Kind::Decimal { scale } => Value::Decimal(Decimal { units: 100, scale }),
        Kind::Text => Value::Text(&FILLER[..bytes_max]),
        Kind::Bytes => Value::Bytes(&FILLER.as_bytes()[..bytes_max]),
        Kind::Timestamp => Value::Timestamp(1_735_689_600_000_000),
    }
}

const _: () = assert!(FILLER.len() == BYTES_MAX);

#[cfg(test)]
mod tests {
    use super::{Null, NullWorker, ROWS_MAX};
    use syncline_contract::conformance::{block_on, conforms};
    use syncline_contract::{
        AccessPattern, By, Int, Kind, Limit, Lock, Order, Path, Plan, Range, Read, Scan, Session,
        Table, Target, Text, Value,
    };
    use syncline_instrument::clock;

    #[test]
    fn it_conforms_as_a_store_without_rows() {
        let outcome = conforms(Null::default);
        assert!(outcome.findings.is_empty(), "{outcome}");
        assert!(outcome.tested.contains(&"answers have the declared kinds"));
    }

    #[test]
    fn it_reports_that_nothing_is_stored() {
        let reported = block_on(&(), Null::default().reported_settings()).unwrap();
        assert_eq!(reported.durability.word(), "none");
        assert!(!Null::default().capabilities().keeps_rows);
    }

    #[test]
    fn a_commit_takes_at_least_its_delay() {
        let (null, plan) = (Null { delay_ns: 200_000 }, Plan::new());
        let took_ns = block_on(&(), async {
            let mut session = null.connect(&plan, &NullWorker::default()).await.unwrap();
            session.begin(AccessPattern::Single);
            let began = clock::now();
            session.commit().await.unwrap();
            clock::now() - began
        });
        assert!(took_ns >= 200_000, "{took_ns}");
    }

    #[test]
    fn a_scan_returns_as_many_rows_as_its_limit() {
        let mut plan = Plan::new();
        let table = Table::new("t").column("id", Kind::Int).text("short", 7).key(&["id"]);
        let table = plan.table(table);
        let path = Path { table, by: By::Key, equal: 0, range: Range::All };
        let mut scan = |name, rows| -> Read<(), (Int, Text)> {
            let (order, limit, lock) = (Order::Ascending, Limit::Fixed(rows), Lock::None);
            plan.scan(name, Scan { path, order, limit, columns: &["id", "short"], lock })
        };
        scan("few", 3);
        scan("many", 1_000_000);
        block_on(&(), async {
            let null = Null::default();
            let mut session = null.connect(&plan, &NullWorker::default()).await.unwrap();
            for (operation, rows) in [(0, 3), (1, ROWS_MAX as usize)] {
                session.begin(AccessPattern::Single);
                session.send(syncline_contract::OperationId(operation), &[]).unwrap();
                let answer = session.receive().await.unwrap();
                assert_eq!(answer.len(), rows);
                assert!(matches!(answer.row(0).value(1), Value::Text(text) if text.len() == 7));
                session.commit().await.unwrap();
            }
            assert!(session.receive().await.is_err(), "no operation is pending");
        });
    }
}
