//! Cases about a store's life: loading, keys given by the store, removing and making again, and
//! refusing what is not ours.

use super::block_on::block_on;
use super::fixture::Fixture;
use super::outcome::{Finding, Verdict, holds, same};
use super::test_schema::{TestSchema, cents};
use crate::rows::Rows;
use crate::session::{AccessPattern, Session};
use crate::target::Target;
use crate::value::Value;
use std::collections::BTreeSet;

const LOADED: i64 = 1_000;

/// Batches of whole rows are loaded, and are there when the load returns.
pub(super) fn loads<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut seat = fixture.client().await?;
        let mut batch = Rows::new(9);
        for half in [0..LOADED / 2, LOADED / 2..LOADED] {
            batch.reset(9);
            for id in half {
                batch.push_row(&sample(id));
            }
            seat.session.load(scene.samples, &batch).await?;
        }
        batch.reset(9);
        seat.session.load(scene.samples, &batch).await?;
        let mut other = fixture.client().await?;
        for id in [0, 1, LOADED / 2, LOADED - 1] {
            let mut tx = other.begin(AccessPattern::Single);
            let row = (id, -id, 0.5, cents(id), "loaded", &b"\0"[..], id, None, Some(id));
            same(tx.read(&scene.get, (id,)).await?, row, "a loaded row")?;
            other.session.commit().await?;
        }
        let beyond = other
            .commits(AccessPattern::Single, async |tx| {
                tx.read_if_any(&scene.get_whole, (LOADED,)).await
            })
            .await?;
        same(beyond, None, "a row behind the last loaded one")
    })
}

fn sample(id: i64) -> [Value<'static>; 9] {
    [
        Value::Int(id),
        Value::Int(-id),
        Value::Float(0.5),
        Value::Decimal(cents(id)),
        Value::Text("loaded"),
        Value::Bytes(b"\0"),
        Value::Timestamp(id),
        Value::Null,
        Value::Int(id),
    ]
}

/// Keys given by the store are distinct over clients and transactions.
pub(super) fn given_keys_are_distinct<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let by_server = fixture.scene.by_server.as_ref().expect("the scene declares it");
    let Some(all) = &by_server.all else {
        return Ok(());
    };
    fixture.run(async {
        let (mut one, mut other) = (fixture.client().await?, fixture.client().await?);
        for _ in 0..20 {
            one.commits(AccessPattern::Single, async |tx| tx.write(&by_server.insert, ("one",)))
                .await?;
            other
                .commits(AccessPattern::Several, async |tx| {
                    tx.write(&by_server.insert, ("other",))?;
                    tx.write(&by_server.insert, ("other",))
                })
                .await?;
        }
        let mut tx = one.begin(AccessPattern::Single);
        tx.ask(all, ())?;
        let (mut keys, mut ones) = (BTreeSet::new(), 0);
        for row in tx.answers(all).await? {
            let (key, body) = row?;
            keys.insert(key);
            ones += usize::from(body == "one");
        }
        one.session.commit().await?;
        same((keys.len(), ones), (60, 20), "the number of distinct keys, and of one client's rows,")
    })
}

/// Keys given by the store keep clear of those that were loaded.
pub(super) fn given_keys_keep_clear_of_loaded<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let by_server = fixture.scene.by_server.as_ref().expect("the scene declares it");
    fixture.run(async {
        let mut seat = fixture.client().await?;
        let mut batch = Rows::new(2);
        for id in 1..=10 {
            batch.push_row(&[Value::Int(id), Value::Text("loaded")]);
        }
        seat.session.load(by_server.notes, &batch).await?;
        for _ in 0..5 {
            seat.commits(AccessPattern::Single, async |tx| tx.write(&by_server.insert, ("given",)))
                .await?;
        }
        for id in 1..=10 {
            let mut tx = seat.begin(AccessPattern::Single);
            let kept = tx.read_if_any(&by_server.get, (id,)).await?;
            same(kept, Some(("loaded",)), "a loaded row after keys were given")?;
            seat.session.commit().await?;
        }
        Ok(())
    })
}

/// A store that was removed can be made again and is empty; removing twice is safe.
pub(super) fn remove_and_create_again<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut seat = fixture.client().await?;
        seat.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 1)).await?;
        drop(seat);
        fixture.target.remove().await?;
        fixture.target.remove().await?;
        fixture.target.create(&scene.plan).await?;
        Ok::<(), super::outcome::CaseFailure>(())
    })?;
    // A worker's part belongs to one life of the store.
    let worker = &fixture.target.worker()?;
    let again = Fixture { worker, ..*fixture };
    again.run(async {
        let mut seat = again.client().await?;
        let left = seat
            .commits(AccessPattern::Single, async |tx| tx.read_if_any(&scene.get_whole, (1,)).await)
            .await?;
        same(left, None, "a row of the store's former life")
    })
}

/// What a store says of itself is not empty.
pub(super) fn evidence_is_given<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let evidence = fixture.run(fixture.target.evidence())?;
    holds(!evidence.product.is_empty(), || "its evidence names no product".to_owned())?;
    holds(!evidence.version.is_empty(), || "its evidence names no version".to_owned())?;
    holds(!evidence.durability_evidence.is_empty(), || {
        "its evidence does not say why its durability holds".to_owned()
    })?;
    let unsaid = evidence.settings.iter().find(|setting| setting.said_by.is_empty());
    holds(unsaid.is_none(), || {
        format!("nobody says its setting {}", unsaid.map_or("", |setting| &setting.name))
    })
}

/// Findings about a target whose place holds something that is not ours: creating must fail, and
/// removing must then leave it. Whoever calls this looks afterwards that it is still there.
pub fn refuses_foreign<T: Target>(target: &T) -> Vec<Finding> {
    let case = "create refuses what is not ours";
    let scene = TestSchema::new(&target.capabilities());
    let worker = match target.worker() {
        Ok(worker) => worker,
        Err(failure) => {
            let what = format!("it makes no worker: {failure}");
            return vec![Finding { case, what }];
        }
    };
    let mut findings = Vec::new();
    let mut find = |what: String| findings.push(Finding { case, what });
    match block_on(&worker, target.create(&scene.plan)) {
        Ok(()) => find("it created its tables over what is not ours".to_owned()),
        Err(failure) if failure.what.is_empty() => find("it refuses without a word".to_owned()),
        Err(_) => {}
    }
    if let Err(failure) = block_on(&worker, target.remove()) {
        find(format!("removing after a failed create failed: {failure}"));
    }
    findings
}
