//! Records of real runs: the runner drives a small store, its events are written as they come.

use crate::fixture;
use crate::schema;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use syncline_contract::{
    AccessPattern, Capabilities, Cause, Check, CheckOutcome, Client, ClientModel, Durability,
    Ending, Int, Isolation, Kind, LogLocation, OperationId, Plan, ReportedSettings, Rows, Session,
    Stop, Table, Target, TargetResult, Transaction, Value, Workload, Write,
};
use syncline_record::{Identity, Record, RunRecord, SyncLine, Writer, json, read};
use syncline_report::{html, table};
use syncline_runner::record::{RunInputs, from_run, head_from_run, interval_from_run};
use syncline_runner::{Arrival, Event, Observer, RunPlan, run};

/// A store that keeps numbers in memory, and in which every seventh number conflicts.
struct Numbers {
    kept: Arc<Mutex<BTreeSet<i64>>>,
    folder: PathBuf,
}

struct NumbersSession {
    kept: Arc<Mutex<BTreeSet<i64>>>,
    sent: Option<i64>,
    nothing: Rows,
}

impl Session for NumbersSession {
    fn begin(&mut self, _shape: AccessPattern) {
        self.sent = None;
    }

    fn send(&mut self, _operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        match values {
            [Value::Int(number)] if number % 7 == 0 => Err(Stop::Conflict(Cause::Deadlock)),
            [Value::Int(number)] => {
                self.sent = Some(*number);
                Ok(())
            }
            other => panic!("one whole number is inserted, not {other:?}"),
        }
    }

    async fn receive(&mut self) -> Result<&Rows, Stop> {
        Ok(&self.nothing)
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        self.kept.lock().unwrap().extend(self.sent.take());
        Ok(())
    }

    async fn abort(&mut self) {
        self.sent = None;
    }
}

impl Target for Numbers {
    type Session = NumbersSession;
    type Worker = ();

    fn name(&self) -> String {
        "numbers".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { client_model: ClientModel::Futures, ..Capabilities::least() }
    }

    fn log_place(&self) -> LogLocation {
        LogLocation::Directory(self.folder.clone())
    }

    async fn create(&self, _plan: &Plan) -> TargetResult<()> {
        Ok(())
    }

    async fn evidence(&self) -> TargetResult<ReportedSettings> {
        Ok(ReportedSettings {
            product: "Numbers".to_owned(),
            version: "1".to_owned(),
            durability: Durability::None,
            durability_evidence: "it keeps its numbers in memory".to_owned(),
            isolation: Isolation::NoneClaimed,
            settings: Vec::new(),
        })
    }

    fn worker(&self) -> TargetResult<()> {
        Ok(())
    }

    async fn connect(&self, _plan: &Plan, _worker: &()) -> TargetResult<NumbersSession> {
        let kept = Arc::clone(&self.kept);
        Ok(NumbersSession { kept, sent: None, nothing: Rows::default() })
    }

    async fn remove(&self) -> TargetResult<()> {
        Ok(())
    }
}

/// Each client inserts numbers of its own and takes back every tenth.
struct Counting {
    plan: Plan,
    kept: Arc<Mutex<BTreeSet<i64>>>,
}

struct CountingClient {
    insert: Write<(Int,)>,
    next: i64,
    step: i64,
    committed: Vec<i64>,
}

fn declare(plan: &mut Plan) -> Write<(Int,)> {
    let table = plan.table(Table::new("numbers").column("number", Kind::Int).key(&["number"]));
    plan.insert("insert number", table)
}

impl Client for CountingClient {
    type Tally = Vec<i64>;

    fn draw(&mut self) -> usize {
        self.next += self.step;
        0
    }

    fn shape(&self, _kind: usize) -> AccessPattern {
        AccessPattern::Single
    }

    async fn perform<S: Session>(
        &mut self,
        _kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        transaction.write(&self.insert, (self.next,))?;
        if self.next % 10 == 0 { Err(Stop::Abort) } else { Ok(()) }
    }

    fn ended(&mut self, _kind: usize, ending: Ending) {
        if ending == Ending::Committed {
            self.committed.push(self.next);
        }
    }

    fn tally(self) -> Vec<i64> {
        self.committed
    }
}

impl Workload for Counting {
    type Client = CountingClient;

    fn name(&self) -> &'static str {
        "counting"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![("take-back", "10".to_owned())]
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["insert"]
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn client(&self, number: usize, clients: usize, _seed: u64) -> CountingClient {
        // Handles are equal in every plan that was declared alike.
        let insert = declare(&mut Plan::new());
        CountingClient { insert, next: number as i64, step: clients as i64, committed: Vec::new() }
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Vec<i64>>,
        _session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        let kept = self.kept.lock().unwrap();
        let missing = tallies.iter().flatten().filter(|number| !kept.contains(number)).count();
        let outcome = match missing {
            0 => CheckOutcome::Held,
            count => CheckOutcome::Violated(format!("{count} numbers are missing")),
        };
        Ok(vec![Check { name: "every acknowledged number is there".to_owned(), outcome }])
    }

    fn check_names(&self) -> Vec<&'static str> {
        vec!["every acknowledged number is there"]
    }
}

/// Writes the record while the run goes on.
struct Recorder<'a> {
    folder: PathBuf,
    given: &'a RunInputs,
    writer: RefCell<Option<Writer>>,
}

impl Observer for Recorder<'_> {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Started(head) => {
                let head = head_from_run(head, self.given);
                let writer = Writer::create_run(&self.folder, &self.given.identity, &head);
                *self.writer.borrow_mut() = Some(writer.unwrap());
            }
            Event::Interval(interval) => {
                let mut writer = self.writer.borrow_mut();
                writer.as_mut().unwrap().interval(&interval_from_run(interval, 1)).unwrap();
            }
            _ => {}
        }
    }
}

fn recorded(plan: &RunPlan) -> (PathBuf, RunRecord, tempfile::TempDir) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let kept = Arc::default();
    let store = Numbers { kept: Arc::clone(&kept), folder: folder.path().to_owned() };
    let mut declared = Plan::new();
    declare(&mut declared);
    let workload = Counting { plan: declared, kept };
    let given = RunInputs {
        identity: Identity::new("run", fixture::STARTED_NS, 9),
        url: None,
        alias: None,
        host: None,
        repeat: 1,
        map: None,
        interleave: false,
        dropped_syncs: None,
        sync_line: SyncLine::unknown(None, "not probed"),
    };
    let recorder =
        Recorder { folder: folder.path().to_owned(), given: &given, writer: RefCell::new(None) };
    let result = run(&store, &workload, plan, &AtomicBool::new(false), &recorder).unwrap();
    let mut record = from_run(&[result], &given);
    let path = recorder.writer.take().unwrap().finish_run(&mut record, None).unwrap();
    (path, record, folder)
}

fn check_views(record: &Record) {
    schema::check(std::slice::from_ref(record));
    let texts = [
        table::show(std::slice::from_ref(record)),
        html::report(std::slice::from_ref(record), &[]),
    ];
    for text in texts {
        assert!(text.contains("counting on numbers"));
    }
    assert!(!json(std::slice::from_ref(record)).contains("NaN"));
}

#[test]
fn a_real_run_is_recorded_read_and_shown() {
    let plan = RunPlan {
        clients: 4,
        duration: None,
        transactions: Some(50_000),
        warm_up: Duration::ZERO,
        interval: Duration::from_millis(10),
        operations: true,
        ..RunPlan::default()
    };
    let (path, record, _folder) = recorded(&plan);
    let outcomes = &record.end.outcomes;
    assert_eq!(outcomes.attempted, 50_000);
    assert!(outcomes.adds_up() && outcomes.aborted > 0 && outcomes.conflicted > 0);
    assert_eq!(outcomes.conflict_causes["deadlock"], outcomes.conflicted);
    assert_eq!(record.end.stopped_by.as_deref(), Some("transactions"));
    assert_eq!(record.end.checks[0].outcome, "held");
    assert!(record.end.operations.as_ref().is_some_and(|operations| operations[0].count > 0));
    let read = read(&path).unwrap();
    assert_eq!(read, Record::from(record));
    check_views(&read);
}

#[test]
fn a_real_open_loop_is_recorded_with_its_arrivals() {
    let plan = RunPlan {
        clients: 2,
        duration: Some(Duration::from_millis(60)),
        warm_up: Duration::from_millis(5),
        interval: Duration::from_millis(20),
        arrival: Arrival::Fixed { rate_per_s: 5_000.0 },
        ..RunPlan::default()
    };
    let (path, record, _folder) = recorded(&plan);
    let arrivals = record.end.arrivals.as_ref().unwrap();
    assert_eq!(arrivals.offered, arrivals.started + arrivals.abandoned);
    assert!(arrivals.offered > 0);
    assert!(record.end.transactions[0].response_ns.is_some());
    assert_eq!(record.end.operations, None, "operations were not asked for");
    let read = read(&path).unwrap();
    assert_eq!(read, Record::from(record));
    check_views(&read);
}
