//! Begins, panics, conflicts and caps of single transactions.

use crate::support::{in_memory, options, returns, row, table};
use std::panic::{AssertUnwindSafe, catch_unwind};
use syncline_engine::{
    Begin, Change, Conflict, Database, Error, Kind, Options, PrefetchKey, Schema, Value,
};

// D12
#[test]
fn a_begin_too_many_or_too_few_is_an_error_and_leaves_the_session_as_it_was() {
    let database = in_memory();
    let table = table(&database, "t");
    let mut session = database.session().unwrap();
    assert!(matches!(session.put(&table, &row(1)), Err(Error::NotBegun)));
    assert!(matches!(session.commit(), Err(Error::NotBegun)));
    assert!(matches!(session.read_point(), Err(Error::NotBegun)));
    session.begin(Begin::Serializable).unwrap();
    session.put(&table, &row(1)).unwrap();
    let is_begun = |error: Error| matches!(error, Error::AlreadyBegun);
    assert!(session.begin(Begin::ReadOnly).is_err_and(is_begun));
    assert!(session.begin_exclusive().is_err_and(is_begun));
    assert!(session.transaction(Begin::Snapshot).is_err_and(is_begun));
    let run = session.run(Begin::Serializable, |_| Ok(()));
    assert!(run.is_err_and(is_begun));
    session.commit().unwrap();
    session.begin(Begin::ReadOnly).unwrap();
    assert!(session.get(&table, &[1.into()]).unwrap().is_some());
    assert!(matches!(session.delete(&table, &[1.into()]), Err(Error::ReadOnly)));
    session.commit().unwrap();
}

// H5
#[test]
fn a_body_that_panics_ends_its_transaction_and_the_session_goes_on() {
    let database = in_memory();
    returns(move || {
        let table = table(&database, "t");
        let mut session = database.session().unwrap();
        for begin in [Begin::Serializable, Begin::Snapshot] {
            let run = AssertUnwindSafe(|| {
                session.run(begin, |tx| -> syncline_engine::Result<()> {
                    tx.put(&table, &row(1))?;
                    panic!("a bug of the caller")
                })
            });
            assert!(catch_unwind(run).is_err());
            assert!(!session.is_open());
        }
        // An exclusive transaction that panics does not block others either.
        let retries = database.options().retries;
        let mut runs = 0;
        let run = AssertUnwindSafe(|| {
            session.run(Begin::Serializable, |tx| {
                runs += 1;
                assert!(runs <= retries + 1, "a bug of the caller");
                let _exists = tx.get(&table, &[0.into()])?.is_some();
                database.run(|inner| inner.put(&table, &row(0)))?;
                tx.put(&table, &row(1))
            })
        });
        assert!(catch_unwind(run).is_err());
        session.run(Begin::Serializable, |tx| tx.put(&table, &row(2))).unwrap();
        let there = database.run(|tx| tx.exists(&table, &[1.into()]));
        assert!(!there.unwrap());
    });
}

// H5
#[test]
fn a_closure_that_panics_over_a_row_releases_the_row() {
    let database = in_memory();
    returns(move || {
        let table = table(&database, "t");
        database.run(|tx| tx.put(&table, &row(1))).unwrap();
        let mut session = database.session().unwrap();
        let mut prefetch_key = PrefetchKey::default();
        session.prepare_key(&table, &[1.into()], &mut prefetch_key).unwrap();
        session.begin(Begin::Serializable).unwrap();
        let look = AssertUnwindSafe(|| {
            session
                .show_prefetched(&table, &prefetch_key, |_| -> () { panic!("a bug of the caller") })
        });
        assert!(catch_unwind(look).is_err());
        session.put(&table, &row(1)).unwrap();
        session.commit().unwrap();
        database.run(|tx| tx.put(&table, &row(1))).unwrap();
    });
}

// D6
#[test]
fn a_closure_with_a_borrowed_row_cannot_use_the_engine() {
    let database = in_memory();
    returns(move || {
        let table = table(&database, "t");
        database.run(|tx| tx.put(&table, &row(1))).unwrap();
        let (mut one, mut other) = (database.session().unwrap(), database.session().unwrap());
        let mut prefetch_key = PrefetchKey::default();
        one.prepare_key(&table, &[1.into()], &mut prefetch_key).unwrap();
        one.begin(Begin::Serializable).unwrap();
        other.begin(Begin::Serializable).unwrap();
        let errors = one.show_prefetched(&table, &prefetch_key, |_| {
            [
                other.put(&table, &row(1)).err(),
                other.get(&table, &[1.into()]).err(),
                database.run(|tx| tx.put(&table, &row(1))).err(),
                database.checkpoint().err(),
            ]
        });
        let errors = errors.unwrap().expect("the row is there");
        let is_right = |error: &Option<Error>| matches!(error, Some(Error::InShownRow));
        assert!(errors.iter().all(is_right), "{errors:?}");
        other.put(&table, &row(1)).unwrap();
        other.commit().unwrap();
    });
}

// D10
#[test]
fn a_read_only_body_that_keeps_losing_gets_its_conflict_after_the_retries() {
    for begin in [Begin::ReadOnly, Begin::ReadOnlyDurable] {
        let database =
            Database::transient(Options { version_bytes_max: 64 << 10, retries: 3, ..options() });
        let database = database.unwrap();
        returns(move || {
            let table = table(&database, "t");
            let long = [7; 1_000];
            let put = |key: i64| database.run(|tx| tx.put(&table, &[key.into(), long[..].into()]));
            (0..300).for_each(|key| put(key).unwrap());
            let mut runs = 0;
            let mut session = database.session().unwrap();
            let report = session.run(begin, |tx| {
                runs += 1;
                let _first = tx.get(&table, &[0.into()])?.is_some();
                // Each time others change more than the cap on versions allows.
                (0..300).for_each(|key| put(key).unwrap());
                (0..300).try_for_each(|key| tx.get(&table, &[key.into()]).map(drop))
            });
            let conflict = Error::Conflict(Conflict::SnapshotTooOld).to_string();
            assert_eq!(report.unwrap_err().to_string(), conflict);
            assert_eq!(runs, 3 + 2);
            assert!(!session.is_open());
        });
    }
}

// D10
#[test]
fn the_conflict_of_another_session_ends_the_runs_of_a_body_that_returns_it() {
    let database = in_memory();
    returns(move || {
        for begin in [Begin::Serializable, Begin::Snapshot, Begin::ReadOnly] {
            let mut session = database.session().unwrap();
            let mut runs = 0;
            let run = session.run(begin, |_| -> syncline_engine::Result<()> {
                runs += 1;
                Err(Error::Conflict(Conflict::Locked))
            });
            assert!(matches!(run, Err(Error::Conflict(Conflict::Locked))));
            assert_eq!(runs, 1);
        }
    });
}

/// An error of an application, which says nothing of the engine's.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Engine,
    Refused,
}

impl From<Error> for Refusal {
    fn from(_: Error) -> Refusal {
        Refusal::Engine
    }
}

#[test]
fn a_body_whose_own_error_hides_a_conflict_runs_again() {
    let database = in_memory();
    let table = table(&database, "t");
    database.run(|tx| tx.put(&table, &row(1))).unwrap();
    let mut runs = 0;
    let run: Result<(), Refusal> = database.run(|tx| {
        runs += 1;
        let exists = tx.exists(&table, &[1.into()])?;
        if runs == 1 {
            assert!(exists);
            database.run(|tx| tx.delete(&table, &[1.into()])).unwrap();
            assert!(tx.get(&table, &[1.into()]).is_err());
            return Err(Refusal::Refused);
        }
        assert!(!exists);
        Ok(())
    });
    assert_eq!((run, runs), (Ok(()), 2));
}

#[test]
fn a_refusal_of_the_body_aborts_its_transaction_and_is_returned() {
    let database = in_memory();
    let table = table(&database, "t");
    let mut runs = 0;
    let run: Result<(), Refusal> = database.run(|tx| {
        runs += 1;
        tx.put(&table, &row(1))?;
        Err(Refusal::Refused)
    });
    assert_eq!((run, runs), (Err(Refusal::Refused), 1));
    assert!(!database.run(|tx| tx.exists(&table, &[1.into()])).unwrap());
}

// D8
#[test]
fn a_write_that_no_record_can_hold_is_refused_and_the_rest_commits() {
    let mut options = options();
    options.log.record_bytes_max = 64 << 10;
    let database = Database::transient(options).unwrap();
    let table = table(&database, "t");
    let mut session = database.session().unwrap();
    session.begin(Begin::Serializable).unwrap();
    let long = [7; 10_000];
    let put = |key: i64| [Value::Int(key), Value::Bytes(&long)];
    let refused =
        (0..100).find_map(|key| session.insert(&table, &put(key)).err().map(|error| (key, error)));
    let (refused, error) = refused.expect("a write is refused");
    assert_eq!(refused, 6, "{error}");
    assert_eq!(
        error.to_string(),
        "the transaction needs a log record of 70105 bytes or more, over the cap of 65536; split the \
         transaction, or raise record_bytes_max"
    );
    // Rows that are written again count once, rolled-back ones not at all.
    for _ in 0..20 {
        session.put(&table, &put(5)).unwrap();
    }
    let mark = session.mark().unwrap();
    session.delete(&table, &[0.into()]).unwrap();
    session.insert(&table, &put(7)).unwrap();
    session.rollback_to(mark).unwrap();
    assert!(matches!(session.insert(&table, &put(7)), Err(Error::TooLarge { .. })));
    let ticket = session.commit().unwrap();
    session.wait(ticket).unwrap();
    let most = Error::TooLarge { bytes: (64 << 20) + 1, bytes_max: 64 << 20 };
    assert!(!most.to_string().contains("raise"), "{most}");
}

// D12
#[test]
fn a_missing_column_or_index_is_an_error() {
    let database = in_memory();
    let schema = Schema::table("t")
        .column("k", Kind::Int)
        .column("a", Kind::Text)
        .column("b", Kind::Text)
        .column("v", Kind::Bytes)
        .index("by_a", ["a"])
        .key(["k"]);
    let table = database.create_table(schema.build().unwrap()).unwrap();
    let values = [1.into(), "x".into(), "y".into(), Value::Bytes(b"v")];
    database.run(|tx| tx.insert(&table, &values)).unwrap();
    let mut session = database.session().unwrap();
    session.begin(Begin::Serializable).unwrap();
    for change in [Change::set(9, 1), Change::add(usize::MAX, 1)] {
        let updated = session.update(&table, &[1.into()], &[change]);
        assert!(matches!(updated, Err(Error::NoColumn { columns: 4, .. })), "{updated:?}");
    }
    assert!(matches!(table.by("by_b"), Err(Error::NoSuch { .. })));
    let by_a = session.get_by(table.by("by_a").unwrap(), &["x".into()]);
    assert!(matches!(by_a, Err(Error::NotUnique { .. })), "{by_a:?}");
    assert_eq!(table.schema().text_run(&[1, 9]), None);
    let other = Schema::table("other").column("k", Kind::Int);
    let other = other.column("a", Kind::Text).column("b", Kind::Text).column("c", Kind::Text);
    let run = other.key(["k"]).build().unwrap().text_run(&[1, 2, 3]).unwrap();
    let row = session.get(&table, &[1.into()]).unwrap().unwrap();
    assert!(matches!(row.value(4), Err(Error::NoColumn { column: 4, .. })));
    assert_eq!(row.value(3).unwrap(), Value::Bytes(b"v"));
    assert!(matches!(row.texts(run), Err(Error::OtherTable { .. })));
    let run = table.schema().text_run(&[1, 2]).unwrap();
    assert_eq!(row.texts(run).unwrap().unwrap().text(), "xy");
}
