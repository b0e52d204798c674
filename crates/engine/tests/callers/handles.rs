//! Handles, marks and tickets work only where they belong.

use crate::support::{in_memory, on_disk, options, row, schema, table};
use std::ops::ControlFlow;
use syncline_engine::{
    Begin, Database, Direction, Error, KeyRange, Kind, PrefetchKey, Schema, Table, Value,
};
use syncline_vfs::Disk;

/// Every call that takes a table, with one that it must refuse.
fn refused<D: Disk>(database: &Database<D>, stray: &Table, is_right: fn(&Error) -> bool) {
    let mut session = database.session().unwrap();
    let mut prefetch_key = PrefetchKey::default();
    let is_encoded = session.prepare_key(stray, &[Value::Int(1)], &mut prefetch_key).is_ok();
    session.begin(Begin::Serializable).unwrap();
    let scan = |row: syncline_engine::Row<'_>| row.value(0).map(|_| ControlFlow::Continue(()));
    let (all, up) = (KeyRange::ALL, Direction::Ascending);
    let key = [Value::Int(1)];
    let calls = [
        session.get(stray, &key).err(),
        session.get_by(stray, &key).err(),
        session.get_prefetched(stray, &prefetch_key).err(),
        session.show_prefetched(stray, &prefetch_key, |_| ()).err(),
        session.scan(stray, all, up, 9, scan).err(),
        session.scan_keys(stray, all, up, 9, scan).err(),
        session.insert(stray, &row(1)).err(),
        session.put(stray, &row(1)).err(),
        session.update(stray, &key, &[]).err(),
        session.delete(stray, &key).err(),
        database.pages_of(stray).err(),
    ];
    for (number, error) in calls.iter().enumerate() {
        let is_refused = error.as_ref().is_some_and(is_right);
        assert!(is_refused, "call {number}: {error:?}");
    }
    let added = database.prefetcher().add(stray, &prefetch_key).err();
    assert!(is_encoded || added.as_ref().is_some_and(is_right), "{added:?}");
    session.commit().unwrap();
}

fn is_other(error: &Error) -> bool {
    matches!(error, Error::OtherDatabase { .. })
}

fn is_changed(error: &Error) -> bool {
    matches!(error, Error::TableChanged { .. })
}

// D1
#[test]
fn a_table_of_another_database_is_refused_by_every_call_and_named_with_both() {
    let ((_one_folder, one), (_other_folder, other)) = (on_disk(), on_disk());
    let stray = table(&one, "a");
    let victim = Schema::table("b").column("name", Kind::Text).key(["name"]);
    let victim = other.create_table(victim.build().unwrap()).unwrap();
    other.run(|tx| tx.insert(&victim, &["a row".into()])).unwrap();
    refused(&other, &stray, is_other);
    let error = other.run(|tx| tx.insert(&stray, &row(7))).unwrap_err().to_string();
    let ids = [&one, &other].map(|database| database.settings().unwrap().database.to_string());
    assert!(error.starts_with("table a belongs to database "), "{error}");
    assert!(ids.iter().all(|id| error.contains(id)), "{error}");
    let mut rows = 0;
    other
        .run(|tx| {
            tx.scan(&victim, KeyRange::ALL, Direction::Ascending, 9, |row| {
                rows += 1;
                assert_eq!(row.value(0)?, Value::Text("a row"));
                Ok(ControlFlow::Continue(()))
            })
        })
        .unwrap();
    assert_eq!((rows, other.verify().unwrap()), (1, Vec::new()));
}

// D1
#[test]
fn a_table_of_an_earlier_opening_is_refused() {
    let (folder, database) = on_disk();
    let stray = table(&database, "t");
    database.close().unwrap();
    let database = Database::open(folder.path().join("db"), options()).unwrap();
    refused(&database, &stray, is_other);
    let error = database.run(|tx| tx.insert(&stray, &row(7))).unwrap_err().to_string();
    assert!(error.contains("an earlier opening of database"), "{error}");
    let again = database.table("t").unwrap();
    database.run(|tx| tx.insert(&again, &row(7))).unwrap();
}

// D1
#[test]
fn a_table_that_was_dropped_or_changed_is_refused() {
    let database = in_memory();
    let dropped = table(&database, "dropped");
    let changed = table(&database, "changed");
    database.drop_table("dropped").unwrap();
    let more = schema("changed").with_nullable("more", Kind::Int, Value::Null);
    database.change_table(&more.unwrap()).unwrap();
    refused(&database, &dropped, is_changed);
    refused(&database, &changed, is_changed);
    let anew = table(&database, "dropped");
    database.run(|tx| tx.insert(&anew, &row(1))).unwrap();
    refused(&database, &dropped, is_changed);
}

// D1
#[test]
fn a_prefetch_key_works_only_for_its_table() {
    let database = in_memory();
    let (one, other) = (table(&database, "one"), table(&database, "other"));
    database.run(|tx| tx.insert(&other, &row(1))).unwrap();
    let mut session = database.session().unwrap();
    let mut prefetch_key = PrefetchKey::default();
    session.begin(Begin::Serializable).unwrap();
    let is_other = |error: Error| matches!(error, Error::OtherTable { .. });
    assert!(session.get_prefetched(&other, &prefetch_key).is_err_and(is_other));
    session.prepare_key(&one, &[Value::Int(1)], &mut prefetch_key).unwrap();
    assert!(session.get_prefetched(&other, &prefetch_key).is_err_and(is_other));
    assert!(session.show_prefetched(&other, &prefetch_key, |_| ()).is_err_and(is_other));
    // A key that cannot be made makes the prefetch key unusable.
    session.prepare_key(&other, &[Value::Text("1")], &mut prefetch_key).unwrap_err();
    assert!(session.get_prefetched(&other, &prefetch_key).is_err_and(is_other));
    session.prepare_key(&other, &[Value::Int(1)], &mut prefetch_key).unwrap();
    assert!(session.get_prefetched(&other, &prefetch_key).unwrap().is_some());
}

// D7
#[test]
fn a_mark_is_valid_only_for_its_own_transaction() {
    let database = in_memory();
    let table = table(&database, "t");
    let (mut one, mut other) = (database.session().unwrap(), database.session().unwrap());
    assert!(matches!(one.mark(), Err(Error::NotBegun)));
    one.begin(Begin::Serializable).unwrap();
    let earlier = one.mark().unwrap();
    one.abort();
    assert!(matches!(one.rollback_to(earlier), Err(Error::NotBegun)));
    one.begin(Begin::Serializable).unwrap();
    other.begin(Begin::Serializable).unwrap();
    one.put(&table, &row(1)).unwrap();
    let elsewhere = other.mark().unwrap();
    for stray in [earlier, elsewhere] {
        assert!(matches!(one.rollback_to(stray), Err(Error::OtherMark { .. })));
    }
    one.commit().unwrap();
    let there = database.run(|tx| tx.exists(&table, &[1.into()]));
    assert!(there.unwrap(), "a mark of another transaction undid the write");
}

// D7
#[test]
fn a_mark_after_a_rollback_target_is_refused_and_those_before_it_stay_valid() {
    let database = in_memory();
    let table = table(&database, "t");
    let mut session = database.session().unwrap();
    session.begin(Begin::Serializable).unwrap();
    let first = session.mark().unwrap();
    session.put(&table, &row(1)).unwrap();
    let second = session.mark().unwrap();
    session.put(&table, &row(2)).unwrap();
    let third = session.mark().unwrap();
    session.rollback_to(second).unwrap();
    session.put(&table, &row(3)).unwrap();
    session.put(&table, &row(4)).unwrap();
    assert!(matches!(session.rollback_to(third), Err(Error::OtherMark { .. })));
    session.rollback_to(second).unwrap();
    session.rollback_to(first).unwrap();
    session.put(&table, &row(5)).unwrap();
    assert!(matches!(session.rollback_to(second), Err(Error::OtherMark { .. })));
    session.commit().unwrap();
    let count = database.run(|tx| -> Result<_, Error> {
        let mut keys = Vec::new();
        tx.scan(&table, KeyRange::ALL, Direction::Ascending, 9, |row| {
            keys.push(row.value(0)?.as_int());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(keys)
    });
    assert_eq!(count.unwrap(), [Some(5)]);
}

// D1
#[test]
fn a_ticket_of_another_database_is_refused() {
    let (one, other) = (in_memory(), in_memory());
    let (on_one, on_other) = (table(&one, "t"), table(&other, "t"));
    let mut session = one.session().unwrap();
    let ((), ticket) = session.run(Begin::Serializable, |tx| tx.put(&on_one, &row(1))).unwrap();
    other.run(|tx| tx.put(&on_other, &row(1))).unwrap();
    let elsewhere = other.session().unwrap();
    assert!(matches!(elsewhere.wait(ticket), Err(Error::OtherTicket { .. })));
    session.wait(ticket).unwrap();
}
