//! Every wait for an exclusive transaction ends.

use crate::support::{in_memory, on_disk, options, returns, row, schema, table};
use std::sync::mpsc::channel;
use syncline_engine::{Begin, Database, Error, Kind, Table, TypedSession, Value};
use syncline_vfs::Disk;

/// Every call that waits for the commit gate.
fn waiting_calls<D: Disk>(
    database: &Database<D>,
    table: &Table,
) -> Vec<(&'static str, Option<Error>)> {
    let more = schema("t").with_nullable("more", Kind::Int, Value::Null).unwrap();
    let rows: [[Value<'_>; 2]; 1] = [row(1)];
    let mut session = database.session().unwrap();
    let put = session.run(Begin::Serializable, |tx| tx.put(table, &row(9)));
    vec![
        ("commit", put.err()),
        ("begin_exclusive", session.begin_exclusive().err()),
        ("checkpoint", database.checkpoint().err()),
        ("verify", database.verify().err()),
        ("create_table", database.create_table(schema("new")).err()),
        ("load_table", database.load_table(schema("loaded"), rows).err()),
        ("change_table", database.change_table(&more).err()),
        ("drop_table", database.drop_table("t").err()),
    ]
}

fn opened<D: Disk>(database: &Database<D>, table: &Table) -> TypedSession<D> {
    let mut session = database.session().unwrap();
    session.begin_exclusive().unwrap();
    session.put(table, &row(1)).unwrap();
    session
}

// D6
#[test]
fn the_thread_of_an_exclusive_transaction_is_refused_at_once_and_can_still_commit_it() {
    let (_folder, database) = on_disk();
    returns(move || {
        let table = table(&database, "t");
        let mut session = opened(&database, &table);
        for (call, error) in waiting_calls(&database, &table) {
            assert!(matches!(error, Some(Error::ExclusiveHere)), "{call}: {error:?}");
        }
        // Calls that wait for nothing still work.
        database.flush().unwrap();
        database.inspect().unwrap();
        let reader = &mut database.session().unwrap();
        reader.begin(Begin::ReadOnly).unwrap();
        assert!(reader.get(&table, &[9.into()]).unwrap().is_none());
        let ticket = session.commit().unwrap();
        session.wait(ticket).unwrap();
        database.checkpoint().unwrap();
        assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    });
}

// D6
#[test]
fn other_threads_wait_for_an_exclusive_transaction_until_the_limit_and_then_name_it() {
    let (_folder, database) = on_disk();
    returns(move || {
        let table = table(&database, "t");
        let mut session = opened(&database, &table);
        std::thread::scope(|scope| {
            let elsewhere = scope.spawn(|| waiting_calls(&database, &table));
            for (call, error) in elsewhere.join().unwrap() {
                let is_named = matches!(&error, Some(Error::ExclusiveTooLong { held_ms, .. }) if *held_ms >= 50);
                // The thread of this test has no name, so the error names it by its number.
                assert!(is_named, "{call}: {error:?}");
            }
        });
        session.abort();
        database.run(|tx| tx.put(&table, &row(2))).unwrap();
    });
}

// D6
#[test]
fn an_exclusive_transaction_can_move_and_commit_on_another_thread_while_a_writer_waits() {
    let database = Database::transient(syncline_engine::Options::default()).unwrap();
    returns(move || {
        let table = table(&database, "t");
        let session = opened(&database, &table);
        let (began, begun) = channel();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                began.send(()).unwrap();
                database.run(|tx| tx.put(&table, &row(2)))
            });
            begun.recv().unwrap();
            let mut moved = session;
            let committed = scope.spawn(move || moved.commit().map(drop));
            committed.join().unwrap().unwrap();
            writer.join().unwrap().unwrap();
        });
    });
}

// D6
#[test]
fn a_database_is_closed_or_dropped_while_its_thread_holds_an_exclusive_transaction() {
    for is_closed in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        // The checkpoint thread soon waits for the gate, too.
        let options = syncline_engine::Options {
            checkpoint_log_bytes: 1,
            exclusive_wait_ms: 86_400_000,
            ..options()
        };
        let database = Database::create(folder.path().join("db"), options.clone()).unwrap();
        let directory = folder.path().join("db");
        returns(move || {
            let table = table(&database, "t");
            database.run(|tx| tx.put(&table, &row(7))).unwrap();
            let mut session = opened(&database, &table);
            if is_closed {
                assert!(matches!(database.close(), Err(Error::ExclusiveHere)));
            } else {
                drop(database);
            }
            assert!(matches!(session.commit(), Err(Error::Poisoned { .. })));
            let database = Database::open(directory, options).unwrap();
            let table = database.table("t").unwrap();
            let there = |key: i64| database.run(|tx| tx.exists(&table, &[key.into()]));
            assert!(there(7).unwrap() && !there(1).unwrap());
        });
    }
}

// D5, H4
#[test]
fn a_body_that_commits_through_another_session_is_refused_once_it_runs_exclusively() {
    let database = in_memory();
    returns(move || {
        let table = table(&database, "t");
        let mut runs = 0;
        let refused = database.run(|tx| {
            runs += 1;
            let _exists = tx.get(&table, &[0.into()])?.is_some();
            database.run(|inner| inner.put(&table, &row(0)))?;
            tx.put(&table, &row(1))
        });
        assert!(matches!(refused, Err(Error::ExclusiveHere)), "{refused:?}");
        assert_eq!(runs, database.options().retries + 2);
        let there = database.run(|tx| tx.exists(&table, &[1.into()]));
        assert!(!there.unwrap(), "the refused body has left a row");
        // A checkpoint or a change of tables in such a body is refused as well.
        let refused = database.run(|tx| {
            let _exists = tx.get(&table, &[0.into()])?.is_some();
            let mut other = database.session()?;
            let put = other.run(Begin::Serializable, |inner| inner.put(&table, &row(0)));
            match put {
                Ok(_) => tx.put(&table, &row(1)),
                Err(_) => database.checkpoint().map(drop),
            }
        });
        assert!(matches!(refused, Err(Error::ExclusiveHere)), "{refused:?}");
    });
}
