//! Events for operators, as a subscriber of `tracing` receives them.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};
use syncline_engine::{Database, Kind, Options, Result, Schema, values};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps every event of the engine as one line.
struct Recorder(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0.insert_str(0, &format!("{value:?}:"));
        } else {
            write!(self.0, " {}={value:?}", field.name()).expect("text takes text");
        }
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "syncline_engine"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().expect("no test panics with it").push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The events of this thread while `body` runs.
fn events_of(body: impl FnOnce() -> Result<()>) -> Vec<String> {
    let events = Arc::new(Mutex::new(Vec::new()));
    let subscriber = Recorder(Arc::clone(&events));
    tracing::subscriber::with_default(subscriber, body).expect("the disk is sound");
    let events = events.lock().expect("no test panics with it");
    events.clone()
}

#[test]
fn opening_and_checkpoints_are_events_and_commits_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("db");
    let events = events_of(|| {
        let database = Database::create(&path, Options::tiny())?;
        let schema = Schema::table("t").column("id", Kind::Int).key(["id"]).build()?;
        let table = database.create_table(schema)?;
        for id in 0..20 {
            database.run(|transaction| transaction.insert(&table, values![id]))?;
        }
        database.checkpoint()?;
        drop(database);
        Database::open(&path, Options::tiny()).map(drop)
    });
    let [created, checkpoint, opened] = &events[..] else { panic!("{events:#?}") };
    assert!(created.starts_with("database opened: directory="), "{created}");
    assert!(created.ends_with("redone_commits=0 redone_rows=0"), "{created}");
    assert!(checkpoint.starts_with("checkpoint finished: csn="), "{checkpoint}");
    assert!(opened.starts_with("database opened: directory="), "{opened}");
}
