//! The answers of single calls.

use super::fixture::Store;
use crate::access::key::KeyRange;
use crate::access::schema::{Kind, Schema, Value};
use crate::error::Error;
use crate::table::{Change, PrefetchKey, Row, TypedSession};
use crate::txn::{Begin, Direction};
use std::ops::ControlFlow;
use syncline_vfs::SimulatedDisk;

fn accounts() -> Store {
    let schema = Schema::table("account")
        .column("id", Kind::Int)
        .column("branch", Kind::Int)
        .column("owner", Kind::Text)
        .column("balance", Kind::Int)
        .key(["id"])
        .index("by_branch", ["branch"])
        .unique("by_owner", ["owner"]);
    Store::new(schema.build().expect("a good schema"), None)
}

fn account(id: i64, branch: i64, owner: &str) -> [Value<'_>; 4] {
    [Value::Int(id), Value::Int(branch), Value::Text(owner), Value::Int(100)]
}

#[test]
fn refusals_name_tables_and_indexes() {
    let store = accounts();
    let (table, mut session) = (&store.table, store.session());
    let fill = session.run(Begin::Serializable, |tx| {
        tx.insert(table, &account(1, 7, "ada"))?;
        tx.insert(table, &account(2, 7, "bob"))
    });
    session.wait(fill.unwrap().1).unwrap();
    let mut refused = |values: [Value<'_>; 4]| {
        let run = session.run(Begin::Serializable, |tx| tx.insert(table, &values));
        run.unwrap_err().to_string()
    };
    assert_eq!(
        refused(account(1, 7, "eve")),
        "table account already has a row with that key; choose another one, or replace the row"
    );
    assert_eq!(
        refused(account(3, 7, "bob")),
        "index by_owner of table account already has a row with that key; choose another one, or \
         replace the row"
    );
    let mut changed = |key: i64, change: Change<'_>| {
        let run =
            session.run(Begin::Serializable, |tx| tx.update(table, &[Value::Int(key)], &[change]));
        run.unwrap_err()
    };
    let low = Change::add(3, Value::Int(-101)).at_least(Value::Int(0));
    assert!(matches!(changed(1, low), Error::Unfit { .. }));
    let more = Change::add(3, Value::Int(i64::MAX));
    assert!(matches!(changed(1, more), Error::Unfit { .. }));
    assert!(matches!(changed(9, low), Error::NoRow { .. }));
    let rename = Change::set(2, Value::Text("ada"));
    assert!(matches!(changed(2, rename), Error::DuplicateKey { index: Some(_), .. }));
    assert!(matches!(changed(9, rename), Error::NoRow { .. }));
    assert!(store.indexes_follow());
    drop(session);
    store.assert_sound();
}

#[test]
fn a_name_used_again_before_it_is_free_is_a_duplicate() {
    let store = accounts();
    let (table, mut session) = (&store.table, store.session());
    let fill = session.run(Begin::Serializable, |tx| {
        tx.insert(table, &account(1, 7, "ada"))?;
        tx.insert(table, &account(2, 7, "bob"))
    });
    fill.unwrap();
    let rename = |name| [Change::set(2, Value::Text(name))];
    for renames in [[("bob", 1), ("eve", 2), ("ada", 1)], [("bob", 1), ("eve", 2), ("bob", 1)]] {
        let run = session.run(Begin::Serializable, |tx| {
            renames
                .iter()
                .try_for_each(|(name, id)| tx.update(table, &[Value::Int(*id)], &rename(name)))
        });
        let error = run.expect_err("two rows had one name for a moment");
        assert!(matches!(error, Error::DuplicateKey { index: Some(_), .. }), "{error}");
    }
    let run = session.run(Begin::Serializable, |tx| {
        tx.update(table, &[Value::Int(2)], &rename("eve"))?;
        tx.update(table, &[Value::Int(1)], &rename("bob"))
    });
    run.expect("the name was free");
    assert!(store.indexes_follow());
}

#[test]
fn additions_do_not_conflict_and_reads_do() {
    let store = accounts();
    let (table, mut one, mut other) = (&store.table, store.session(), store.session());
    let key = [Value::Int(1)];
    one.run(Begin::Serializable, |tx| tx.insert(table, &account(1, 7, "ada"))).unwrap();
    one.begin(Begin::Serializable).unwrap();
    other.begin(Begin::Serializable).unwrap();
    for session in [&mut one, &mut other] {
        session.update(table, &key, &[Change::add(3, Value::Int(5))]).unwrap();
    }
    one.commit().unwrap();
    other.commit().unwrap();
    // Now one of them has read the row.
    one.begin(Begin::Serializable).unwrap();
    other.begin(Begin::Serializable).unwrap();
    let read = one.get(table, &key).unwrap().unwrap().value(3).unwrap();
    assert_eq!(read, Value::Int(110));
    one.update(table, &key, &[Change::add(3, Value::Int(1))]).unwrap();
    other.update(table, &key, &[Change::add(3, Value::Int(1))]).unwrap();
    other.commit().unwrap();
    assert!(matches!(one.commit(), Err(Error::Conflict(_))));
}

#[test]
fn show_prefetched_returns_the_same_rows_as_get() {
    let schema = Schema::table("note").column("id", Kind::Int);
    let schema = schema.column("text", Kind::Text).key(["id"]).build();
    let store = Store::new(schema.unwrap(), None);
    let (table, mut session, mut behind) = (&store.table, store.session(), store.session());
    let long = "long ".repeat(2000);
    let commit = |session: &mut TypedSession<SimulatedDisk>| {
        let ticket = session.commit().unwrap();
        session.wait(ticket).unwrap();
    };
    let insert = |session: &mut TypedSession<SimulatedDisk>, id, text| {
        let note = [Value::Int(id), Value::Text(text)];
        session.insert(table, &note).unwrap();
    };
    session.begin(Begin::Serializable).unwrap();
    insert(&mut session, 1, "old");
    insert(&mut session, 2, &long);
    commit(&mut session);
    behind.begin(Begin::Snapshot).unwrap();
    session.begin(Begin::Serializable).unwrap();
    let change = Change::set(1, Value::Text("new"));
    session.update(table, &[Value::Int(1)], &[change]).unwrap();
    insert(&mut session, 3, "own");
    let texts = |session: &mut TypedSession<SimulatedDisk>| -> Vec<Option<String>> {
        let mut prefetch_key = PrefetchKey::default();
        let texts = (1..=4).map(|id| {
            session.prepare_key(table, &[Value::Int(id)], &mut prefetch_key).unwrap();
            let text = |row: Row<'_>| row.value(1).unwrap().as_text().map(str::to_owned);
            let got = session.get_prefetched(table, &prefetch_key).unwrap().map(text);
            let shown = session.show_prefetched(table, &prefetch_key, text).unwrap();
            assert_eq!(shown, got, "row {id}");
            shown.flatten()
        });
        texts.collect()
    };
    let owned = |texts: [Option<&str>; 4]| texts.map(|text| text.map(str::to_owned)).to_vec();
    let now = owned([Some("new"), Some(&long), Some("own"), None]);
    assert_eq!(texts(&mut session), now);
    commit(&mut session);
    session.begin(Begin::ReadOnly).unwrap();
    assert_eq!(texts(&mut session), now);
    // An older version, and rows that did not exist yet.
    assert_eq!(texts(&mut behind), owned([Some("old"), Some(&long), None, None]));
}

#[test]
fn a_dropped_transaction_leaves_nothing() {
    let store = accounts();
    let (table, mut session) = (&store.table, store.session());
    let tx = session.transaction(Begin::Serializable).unwrap();
    tx.insert(table, &account(1, 7, "ada")).unwrap();
    assert!(tx.get(table, &[Value::Int(1)]).unwrap().is_some());
    drop(tx);
    assert!(!session.is_open());
    let tx = session.transaction(Begin::Serializable).unwrap();
    assert!(tx.get(table, &[Value::Int(1)]).unwrap().is_none());
    tx.insert(table, &account(1, 7, "ada")).unwrap();
    let ticket = tx.commit().unwrap();
    session.wait(ticket).unwrap();
    let tx = session.transaction(Begin::ReadOnly).unwrap();
    let row = tx.get_by(table.by("by_owner").unwrap(), &[Value::Text("ada")]).unwrap();
    let row = row.expect("it was committed");
    assert_eq!(
        format!("{row:?}"),
        "{\"id\": Ok(Int(1)), \"branch\": Ok(Int(7)), \"owner\": Ok(Text(\"ada\")), \
         \"balance\": Ok(Int(100))}"
    );
    tx.abort();
}

#[test]
fn an_index_scan_goes_both_ways_and_stops_on_break() {
    let store = accounts();
    let (table, mut session) = (&store.table, store.session());
    let owners: Vec<String> = (0..300).map(|id| format!("owner {id}")).collect();
    let fill = session.run(Begin::Serializable, |tx| -> crate::Result<_> {
        for (id, owner) in owners.iter().enumerate() {
            tx.insert(table, &account(id as i64, id as i64 % 3, owner))?;
        }
        Ok(())
    });
    fill.unwrap();
    let mut ids = |direction, limit, stop| {
        let mut ids = Vec::new();
        let branch = [Value::Int(1)];
        session.begin(Begin::Serializable).unwrap();
        let by_branch = table.by("by_branch").unwrap();
        let walked = session.scan(by_branch, KeyRange::prefix(&branch), direction, limit, |row| {
            ids.push(row.value(0)?.as_int().expect("an identifier"));
            Ok(if ids.len() == stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        });
        walked.unwrap();
        session.commit().unwrap();
        ids
    };
    let all: Vec<i64> = (0..100).map(|nth| 3 * nth + 1).collect();
    assert_eq!(ids(Direction::Ascending, usize::MAX, 0), all);
    assert_eq!(ids(Direction::Ascending, 50, 0), all[..50]);
    assert_eq!(ids(Direction::Ascending, usize::MAX, 9), all[..9]);
    let down: Vec<i64> = all.iter().rev().copied().collect();
    assert_eq!(ids(Direction::Descending, usize::MAX, 0), down);
    assert_eq!(ids(Direction::Descending, 70, 0), down[..70]);
}

#[test]
fn scan_keys_returns_the_keys_of_the_rows_and_nothing_else() {
    let store = accounts();
    let (table, mut session) = (&store.table, store.session());
    let fill = session.run(Begin::Serializable, |tx| {
        (0..40).try_for_each(|id| tx.insert(table, &account(id, id % 3, &format!("owner {id}"))))
    });
    fill.unwrap();
    session.begin(Begin::Serializable).unwrap();
    session.insert(table, &account(70, 1, "own")).unwrap();
    session.delete(table, &[Value::Int(4)]).unwrap();
    let branch = [Value::Int(1)];
    let range = KeyRange::prefix(&branch);
    for (direction, limit) in [(Direction::Ascending, usize::MAX), (Direction::Descending, 9)] {
        let (mut ids, mut keys) = (Vec::new(), Vec::new());
        let by_branch = || table.by("by_branch").unwrap();
        let rows = session.scan(by_branch(), range, direction, limit, |row| {
            ids.push(row.value(0)?.as_int());
            Ok(ControlFlow::Continue(()))
        });
        rows.unwrap();
        let rows = session.scan_keys(by_branch(), range, direction, limit, |row| {
            keys.push(row.value(0)?.as_int());
            let error = row.value(3).unwrap_err();
            assert!(matches!(error, Error::OnlyKey { .. }), "{error}");
            Ok(ControlFlow::Continue(()))
        });
        rows.unwrap();
        assert_eq!(keys, ids);
        assert_eq!(keys.len(), limit.min(13));
    }
    session.abort();
}

#[test]
fn a_stale_handle_is_refused() {
    let store = accounts();
    let (table, mut session) = (&store.table, store.session());
    let closed = store.core.close_gate().unwrap();
    table.tree().drop_pages(&store.core.buffer);
    drop(closed);
    session.begin(Begin::Serializable).unwrap();
    let error = session.insert(table, &account(1, 7, "ada")).unwrap_err();
    assert_eq!(error.to_string(), "table account has been dropped or changed; open it again");
    session.abort();
    assert!(table.by("by_name").is_err() && table.column("name").is_err());
}
