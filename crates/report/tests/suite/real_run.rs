//! Records of real runs: the runner drives a small store, and its events are written as they come.

use crate::closed_schema;
use crate::fixture;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_contract::{Cause, LogLocation};
use syncline_record::{Identity, Record, RunRecord, SyncLine, Writer, json, read};
use syncline_report::{html, table};
use syncline_runner::record::{RunInputs, from_run, head_from_run, interval_from_run};
use syncline_runner::{Arrival, Event, Observer, RunPlan, run};
use syncline_testkit::{Answer, Keys, Store};

/// Writes the record during the run.
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
    let mut store = Store::new(|key, _| match key % 7 {
        0 => Answer::Conflict(Cause::Deadlock),
        _ => Answer::Committed,
    });
    store.log_location = LogLocation::Directory(folder.path().to_owned());
    let mut workload = Keys::new(&store);
    workload.abort_every = Some(10);
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
    closed_schema::check(std::slice::from_ref(record));
    let texts = [
        table::show(std::slice::from_ref(record)),
        html::report(std::slice::from_ref(record), &[]),
    ];
    for text in texts {
        assert!(text.contains("keys on scripted"));
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
    assert_eq!(record.end.operations, None, "operations were not requested");
    let read = read(&path).unwrap();
    assert_eq!(read, Record::from(record));
    check_views(&read);
}
