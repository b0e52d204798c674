//! Definitions concurrent with writers on real threads: a handshake makes a writer commit while one is under
//! way.

use crate::error::{Error, Result};
use crate::step::{self, Step};
use crate::stop_on_drop::StopOnDrop;
use crate::{
    Begin, Database, Direction, KeyRange, Kind, Options, Schema, Table, TypedSession, Value,
};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use syncline_vfs::NullDisk;

const ROWS: i64 = 2_000;

/// Only guards against a hang.
const GUARD: Duration = Duration::from_mins(2);

fn schema(name: &str) -> Schema {
    let table = Schema::table(name).column("id", Kind::Int).column("number", Kind::Int);
    table.key(["id"]).build().unwrap()
}

fn row(id: i64) -> [Value<'static>; 2] {
    [Value::Int(id), Value::Int(id * 7919 % ROWS)]
}

fn database() -> (Database<NullDisk>, Table) {
    let options = Options { resident_bytes_max: 64 << 20, ..Options::tiny() };
    let database = Database::transient(options).unwrap();
    let table = database.create_table(schema("t")).unwrap();
    for part in 0..ROWS / 50 {
        let fill = database
            .run(|tx| (part * 50..(part + 1) * 50).try_for_each(|id| tx.insert(&table, &row(id))));
        fill.unwrap();
    }
    (database, table)
}

/// Runs `define`, and stops it at each of the first steps of a kind until a writer on another thread has
/// committed once more. Returns the number of stops.
fn with_concurrent_writer<R>(
    at: Step,
    write: impl FnMut(i64) -> Result<()> + Send,
    define: impl FnOnce() -> R,
) -> (R, u64) {
    let (ask, asked): (Sender<()>, Receiver<()>) = channel();
    let (answer, answered) = channel();
    let mut write = write;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for (round, ()) in (0_i64..).zip(asked.iter()) {
                write(round).unwrap();
                answer.send(()).unwrap();
            }
        });
        let stops = std::rc::Rc::new(std::cell::Cell::new(0));
        let counted = std::rc::Rc::clone(&stops);
        let hook = move |step| {
            if step == at && counted.get() < 20 {
                ask.send(()).unwrap();
                let committed = answered.recv_timeout(GUARD);
                committed.expect("a writer commits during a definition");
                counted.set(counted.get() + 1);
            }
        };
        let defined = step::with(Box::new(hook), define);
        (defined, stops.get())
    })
}

#[test]
fn writers_of_a_table_commit_while_an_index_of_it_is_built() {
    let (database, table) = database();
    let write = |round: i64| {
        database.run(|tx| {
            tx.put(&table, &[Value::Int(round * 61 % ROWS), Value::Int(-round)])?;
            tx.insert(&table, &[Value::Int(ROWS + round), Value::Int(-round)])
        })
    };
    let changed = table.schema().with_index("by_number", ["number"], false);
    let changed = changed.unwrap();
    // Each chunk reads: the gate is open then, and rows that were read before change.
    let (built, stops) =
        with_concurrent_writer(Step::Read, write, || database.change_table(&changed));
    built.unwrap();
    assert_eq!(stops, 20);
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
}

/// A row with a later schema is not damage: the handle is stale.
#[test]
fn a_reader_of_a_row_with_a_later_schema_gets_table_changed() {
    type Read = fn(&mut TypedSession<NullDisk>, &Table) -> Result<()>;
    let get: Read = |session, table| session.get(table, &[Value::Int(7)]).map(drop);
    let scan: Read = |session, table| {
        let all = (KeyRange::ALL, Direction::Ascending, usize::MAX);
        session.scan(table, all.0, all.1, all.2, |_row| Ok(ControlFlow::Continue(())))
    };
    for read in [get, scan] {
        let (database, table) = database();
        let add_column_and_write = |round| {
            if round > 0 {
                return Ok(());
            }
            let more = table.schema().with_nullable("more", Kind::Int, Value::Null)?;
            let changed = database.change_table(&more)?;
            let row = [Value::Int(7), Value::Int(7), Value::Null];
            database.run(|tx| tx.put(&changed, &row))
        };
        let mut session = database.session().unwrap();
        session.begin(Begin::Serializable).unwrap();
        let (read, _) =
            with_concurrent_writer(Step::Read, add_column_and_write, || read(&mut session, &table));
        assert!(matches!(read, Err(Error::TableChanged { .. })), "{read:?}");
    }
}

#[test]
fn writers_and_other_definitions_go_on_while_a_table_is_loaded() {
    let (database, table) = database();
    let write = |round: i64| {
        database.create_table(schema(&format!("beside{round}")))?;
        database.run(|tx| tx.put(&table, &[Value::Int(round), Value::Int(-round)]))
    };
    let schema = schema("loaded").with_index("by_number", ["number"], true);
    let schema = schema.unwrap();
    // Every other key first, so that the table's own rows do not ascend either.
    let ids = (0..ROWS).step_by(2).chain((0..ROWS).skip(1).step_by(2));
    let (loaded, stops) =
        with_concurrent_writer(Step::Build, write, || database.load_table(schema, ids.map(row)));
    let loaded = loaded.unwrap();
    assert_eq!(stops, 20);
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    let read = database.run(|tx| tx.exists(&loaded, &[Value::Int(77)]));
    assert!(read.unwrap());
}

#[test]
fn writers_commit_while_the_pages_of_a_dropped_table_are_freed() {
    let (database, _table) = database();
    let other = database.create_table(schema("other")).unwrap();
    let write = |round| database.run(|tx| tx.insert(&other, &row(round)));
    let (dropped, stops) = with_concurrent_writer(Step::Build, write, || database.drop_table("t"));
    dropped.unwrap();
    assert!(stops > 1, "{stops}");
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn a_load_whose_rows_share_a_key_across_runs_is_refused_and_leaves_nothing() {
    let (database, _table) = database();
    let pages = |database: &Database<NullDisk>| database.stats().resident_bytes;
    let before = pages(&database);
    for is_index in [false, true] {
        let twice = |id| {
            if is_index { [Value::Int(id), Value::Int(id % 999)] } else { row(id % 999) }
        };
        let schema = schema("loaded").with_index("by_number", ["number"], true);
        let loaded = database.load_table(schema.unwrap(), (0..1_000).map(twice));
        match loaded {
            Err(Error::DuplicateBuilt { index, .. }) => assert_eq!(index.is_some(), is_index),
            other => panic!("{other:?}"),
        }
        assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    }
    let buffer = &database.engine().core.buffer;
    buffer.free_all_retired();
    assert!(pages(&database) < before + (1 << 20));
    database.load_table(schema("loaded"), (0..10).map(row)).unwrap();
}

#[test]
fn an_iterator_of_a_load_may_use_the_database() {
    let (database, table) = database();
    let rows = (0..100).map(|id| {
        if id == 50 {
            database.create_table(schema("within")).unwrap();
        }
        let number = database.run(|tx| -> Result<_> {
            let row = tx.get(&table, &[Value::Int(id)])?.expect("a row of the table");
            match row.value(1)? {
                Value::Int(number) => Ok(number),
                other => panic!("{other:?}"),
            }
        });
        [Value::Int(id), Value::Int(number.unwrap())]
    });
    database.load_table(schema("loaded"), rows).unwrap();
    // The name of the new table may be taken meanwhile.
    let rows = (0..2).map(|id| {
        if id == 1 {
            database.create_table(schema("taken")).unwrap();
        }
        row(id)
    });
    let refused = database.load_table(schema("taken"), rows);
    assert!(matches!(refused, Err(Error::Taken { .. })), "{refused:?}");
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn writers_commit_during_verify_and_are_never_reported_as_damage() {
    let (database, table) = database();
    let changed = table.schema().with_index("by_number", ["number"], false);
    let table = database.change_table(&changed.unwrap()).unwrap();
    for at in [Step::Build, Step::Read] {
        // Whole leaves appear and disappear, before and after the walk's position.
        let write = |round: i64| {
            let from = (round * 389) % ROWS;
            database.run(|tx| {
                (from..from + 40).try_for_each(|id| {
                    if tx.get(&table, &[Value::Int(id)])?.is_some() {
                        tx.delete(&table, &[Value::Int(id)])
                    } else {
                        tx.insert(&table, &row(id))
                    }
                })
            })
        };
        let (problems, stops) = with_concurrent_writer(at, write, || database.verify());
        assert_eq!(problems.unwrap(), Vec::<String>::new());
        assert!(stops > 8, "{stops}");
    }
}

#[test]
fn an_index_build_ends_although_writers_never_pause() {
    let (database, table) = database();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2_i64 {
            let (database, is_done) = (&database, &is_done);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread as u64);
                while !is_done.load(Ordering::Relaxed) {
                    let table = database.table("t").unwrap();
                    let (id, number) = (random.i64(0..ROWS), random.i64(..));
                    let row = [Value::Int(id), Value::Int(number)];
                    match database.run(|tx| tx.put(&table, &row)) {
                        Ok(()) | Err(Error::TableChanged { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        let _over = StopOnDrop::new(&is_done);
        let mut table = table;
        for _ in 0..4 {
            let with = table.schema().with_index("by_number", ["number"], false);
            table = database.change_table(&with.unwrap()).unwrap();
            assert_eq!(database.verify().unwrap(), Vec::<String>::new());
            let without = table.schema().without_index("by_number").unwrap();
            table = database.change_table(&without).unwrap();
        }
    });
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn a_build_that_reaches_the_memory_cap_leaves_nothing() {
    let database = Database::transient(Options::tiny()).unwrap();
    let schema = |name: &str| {
        let table = Schema::table(name).column("id", Kind::Int).column("text", Kind::Text);
        table.key(["id"]).build().unwrap()
    };
    let text = "t".repeat(40);
    let row = |id| [Value::Int(id), Value::Text(&text)];
    let refused = database.load_table(schema("t"), (0..200_000).map(row));
    assert!(matches!(refused, Err(Error::Capped { .. })), "{refused:?}");
    assert!(database.tables().is_empty());
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    // The memory of the load is free again: most of the cap fits, and then an index does not.
    let rows = 30_000;
    let table = database.load_table(schema("t"), (0..rows).map(row)).unwrap();
    let changed = table.schema().with_index("by_text", ["text"], false);
    let refused = database.change_table(&changed.unwrap());
    assert!(matches!(refused, Err(Error::Capped { .. })), "{refused:?}");
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    let there = database.run(|tx| tx.exists(&table, &[Value::Int(rows - 1)]));
    assert!(there.unwrap());
}
