//! The states: a database, a session and arguments with one thing wrong.

use std::path::Path;
use std::sync::Arc;
use syncline_engine::log::{Ticket, Worker};
use syncline_engine::{
    Begin, Database, Kind, Mark, Options, PrefetchKey, Prefetcher, Result, Schema, Table,
    TypedSession, Value,
};
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::{Fault, FaultRule, Metadata};

/// The thing that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing: a serializable transaction is open and has written a row.
    Sound,
    NoTransaction,
    AfterAbort,
    ReadOnly,
    /// The transaction has got a conflict and is broken.
    AfterConflict,
    /// A call of the transaction was refused.
    AfterError,
    /// Another session has an exclusive transaction, begun on this thread.
    ExclusiveHere,
    /// The same, begun on another thread.
    ExclusiveElsewhere,
    /// The call is made by a body that runs exclusively.
    NestedRun,
    /// Table, mark and ticket belong to another database.
    OtherDatabase,
    DroppedTable,
    ChangedTable,
    ClosedDatabase,
    /// The log has failed.
    FailedDatabase,
    WrongColumn,
    WrongKind,
    WrongCount,
    /// The mark belongs to an earlier transaction.
    OtherMark,
    /// The call is made by a closure that is reading a row in place.
    InShownRow,
    /// Closures panic.
    PanickingClosure,
}

pub(super) const STATES: [State; 20] = [
    State::Sound,
    State::NoTransaction,
    State::AfterAbort,
    State::ReadOnly,
    State::AfterConflict,
    State::AfterError,
    State::ExclusiveHere,
    State::ExclusiveElsewhere,
    State::NestedRun,
    State::OtherDatabase,
    State::DroppedTable,
    State::ChangedTable,
    State::ClosedDatabase,
    State::FailedDatabase,
    State::WrongColumn,
    State::WrongKind,
    State::WrongCount,
    State::OtherMark,
    State::InShownRow,
    State::PanickingClosure,
];

pub(super) type TestDatabase = Database<SimulatedDisk>;
pub(super) type Session = TypedSession<SimulatedDisk>;

/// Database, session and arguments for a call.
pub(super) struct Fixture {
    pub(super) state: State,
    /// None once it is closed.
    pub(super) database: Option<Arc<TestDatabase>>,
    pub(super) session: Session,
    pub(super) table: Table,
    pub(super) prefetch_key: PrefetchKey,
    pub(super) prefetcher: Prefetcher<SimulatedDisk>,
    pub(super) worker: Worker<SimulatedDisk>,
    pub(super) ticket: Ticket,
    pub(super) mark: Option<Mark>,
    pub(super) key: Vec<Value<'static>>,
    pub(super) name: Vec<Value<'static>>,
    pub(super) row: Vec<Value<'static>>,
    pub(super) column: usize,
    /// Holds an exclusive transaction, or works on the other database.
    holder: Option<Session>,
    other: Option<TestDatabase>,
}

/// The table of all fixtures.
pub(super) fn schema(name: &str) -> Schema {
    let schema = Schema::table(name)
        .column("k", Kind::Int)
        .column("name", Kind::Text)
        .column("v", Kind::Int)
        .key(["k"])
        .unique("by_name", ["name"]);
    schema.build().unwrap()
}

fn database() -> (SimulatedDisk, TestDatabase) {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let options = Options { exclusive_wait_ms: 1, ..Options::tiny() };
    let database = Database::create_on(&disk, Path::new("db"), options).unwrap();
    let table = database.create_table(schema("t")).unwrap();
    let row = [Value::Int(1), Value::Text("one"), Value::Int(10)];
    database.run(|tx| tx.insert(&table, &row)).unwrap();
    (disk, database)
}

impl Fixture {
    pub(super) fn new(state: State) -> Fixture {
        let (disk, database) = database();
        let mut session = database.session().unwrap();
        let table = database.table("t").unwrap();
        let (key, name) = (vec![Value::Int(1)], vec![Value::Text("one")]);
        let mut prefetch_key = PrefetchKey::default();
        session.prepare_key(&table, &key, &mut prefetch_key).unwrap();
        let ((), ticket) =
            session.run(Begin::Serializable, |_| Ok::<_, syncline_engine::Error>(())).unwrap();
        let mut fixture = Fixture {
            state,
            prefetcher: database.prefetcher(),
            worker: database.worker(),
            database: Some(Arc::new(database)),
            session,
            table,
            prefetch_key,
            ticket,
            mark: None,
            key,
            name,
            row: vec![Value::Int(2), Value::Text("two"), Value::Int(20)],
            column: 2,
            holder: None,
            other: None,
        };
        fixture.begin();
        fixture.spoil(&disk);
        fixture
    }

    pub(super) fn database(&self) -> Option<Arc<TestDatabase>> {
        self.database.clone()
    }

    /// Begins the transaction in which the call is made, and writes a row.
    fn begin(&mut self) {
        let session = &mut self.session;
        if self.state == State::OtherMark {
            session.begin(Begin::Serializable).unwrap();
            self.mark = Some(session.mark().unwrap());
            session.abort();
        }
        if self.state == State::ReadOnly {
            session.begin(Begin::ReadOnly).unwrap();
        } else {
            session.begin(Begin::Serializable).unwrap();
            self.mark = self.mark.or(Some(session.mark().unwrap()));
            let own = [Value::Int(5), Value::Text("five"), Value::Int(50)];
            session.put(&self.table, &own).unwrap();
        }
        self.mark = self.mark.or(Some(session.mark().unwrap()));
    }

    /// Brings about the state.
    fn spoil(&mut self, disk: &SimulatedDisk) {
        let database = self.database().unwrap();
        match self.state {
            State::NoTransaction => {
                self.session = database.session().unwrap();
            }
            State::AfterAbort => self.session.abort(),
            State::AfterConflict => self.lose(&database),
            State::AfterError => {
                self.session.insert(&self.table, &[]).unwrap_err();
            }
            State::ExclusiveHere => {
                let mut holder = database.session().unwrap();
                holder.begin_exclusive().unwrap();
                self.holder = Some(holder);
            }
            State::ExclusiveElsewhere => {
                let mut holder = database.session().unwrap();
                let begun = std::thread::spawn(move || {
                    holder.begin_exclusive().unwrap();
                    holder
                });
                self.holder = Some(begun.join().unwrap());
            }
            State::OtherDatabase => self.use_other(),
            State::DroppedTable => database.drop_table("t").unwrap(),
            State::ChangedTable => {
                let more = self.table.schema().with_nullable("more", Kind::Int, Value::Null);
                database.change_table(&more.unwrap()).unwrap();
            }
            State::ClosedDatabase => {
                drop(database);
                self.database = None;
            }
            State::FailedDatabase => {
                // The thread that prepares log files may come before the commit.
                disk.arm(FaultRule {
                    repeat: true,
                    ..FaultRule::next(Fault::WriteError, "db/log")
                });
                let table = database.table("t").unwrap();
                let row = [Value::Int(6), Value::Text("six"), Value::Int(60)];
                database.run(|tx| tx.put(&table, &row)).unwrap_err();
            }
            State::WrongColumn => self.column = 3,
            State::WrongKind => {
                self.key = vec![Value::Text("one")];
                self.name = vec![Value::Int(1)];
                self.row[2] = Value::Float(20.0);
            }
            State::WrongCount => {
                self.key.push(Value::Int(1));
                self.name.push(Value::Int(1));
                self.row.pop();
            }
            State::Sound
            | State::ReadOnly
            | State::NestedRun
            | State::OtherMark
            | State::InShownRow
            | State::PanickingClosure => {}
        }
    }

    /// Reads a row, lets another session change it and a second one, and reads the second one.
    fn lose(&mut self, database: &TestDatabase) {
        assert!(self.session.get(&self.table, &self.key).unwrap().is_some());
        let table = &self.table;
        let changed = database.run(|tx| {
            tx.put(table, &[Value::Int(1), Value::Text("one"), Value::Int(11)])?;
            tx.put(table, &[Value::Int(7), Value::Text("seven"), Value::Int(70)])
        });
        changed.unwrap();
        self.session.get(table, &[Value::Int(7)]).unwrap_err();
    }

    fn use_other(&mut self) {
        let (_disk, other) = database();
        let mut session = other.session().unwrap();
        self.table = other.table("t").unwrap();
        session.begin(Begin::Serializable).unwrap();
        self.mark = Some(session.mark().unwrap());
        self.ticket = session.commit().unwrap();
        (self.holder, self.other) = (Some(session), Some(other));
    }

    /// Makes the call where the state requires it.
    pub(super) fn make(
        &mut self,
        call: fn(&mut Fixture) -> Option<Result<()>>,
    ) -> Option<Result<()>> {
        match (self.state, self.database()) {
            (State::NestedRun, Some(database)) => {
                let mut outer = database.session().unwrap();
                outer.begin_exclusive().unwrap();
                let answer = call(self);
                outer.abort();
                answer
            }
            (State::InShownRow, Some(database)) => {
                let mut shows = database.session().unwrap();
                let (table, prefetch_key) = (self.table.clone(), self.prefetch_key.clone());
                shows.begin(Begin::ReadOnly).unwrap();
                // The closure must not be the last owner of the database.
                let shown = shows.show_prefetched(&table, &prefetch_key, |_row| call(self));
                shown.unwrap().expect("the row is there")
            }
            (_, database) => {
                drop(database);
                call(self)
            }
        }
    }

    pub(super) fn panics(&self) -> bool {
        self.state == State::PanickingClosure
    }

    /// Asserts that the call has broken nothing: with the arguments corrected, the database works.
    pub(super) fn works_on(mut self) {
        self.session.abort();
        (self.holder, self.other) = (None, None);
        let Some(database) = self.database.take() else {
            return;
        };
        if self.state == State::FailedDatabase {
            return;
        }
        let table = match database.table("t") {
            Ok(table) => table,
            Err(_) => database.create_table(schema("t")).unwrap(),
        };
        let mut row = vec![Value::Int(8), Value::Text("eight"), Value::Int(80)];
        row.resize(table.schema().columns().len(), Value::Null);
        database.run(|tx| tx.put(&table, &row)).unwrap();
        assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    }
}
