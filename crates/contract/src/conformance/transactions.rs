//! Cases for the transactions of one client: order of answers, own writes, abort, errors, visibility.

use super::fixture::Fixture;
use super::outcome::{Verdict, same};
use super::scans::{filled, numbers};
use super::test_schema::cents;
use crate::session::{AccessPattern, Session};
use crate::target::Target;

/// Reads requested together are answered in the order of the requests, with writes between them.
pub(super) fn answers_keep_order<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = fixture.client().await?;
        client
            .commits(AccessPattern::Several, async |tx| {
                (1..=9).try_for_each(|id| scene.plain(tx, id, id * 10))
            })
            .await?;
        let mut tx = client.begin(AccessPattern::Several);
        for id in [3, 1, 99, 9] {
            tx.ask(&scene.get_whole, (id,))?;
        }
        tx.write(&scene.set_whole, (1, 11))?;
        tx.ask(&scene.get_whole, (1,))?;
        let third = tx.answer(&scene.get_whole).await?;
        same(third, (30,), "the first answer of five")?;
        tx.ask(&scene.get_whole, (2,))?;
        same(tx.answer(&scene.get_whole).await?, (10,), "the second answer of five")?;
        same(tx.answer_if_any(&scene.get_whole).await?, None, "the third answer, of no row,")?;
        same(tx.answer(&scene.get_whole).await?, (90,), "the fourth answer of five")?;
        same(tx.answer(&scene.get_whole).await?, (11,), "the answer after a write")?;
        same(tx.answer(&scene.get_whole).await?, (20,), "the answer to the last request")?;
        client.session.commit().await?;
        Ok(())
    })
}

/// A transaction reads what it has written.
pub(super) fn own_writes_are_read<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = filled(fixture).await?;
        let mut tx = client.begin(AccessPattern::Several);
        scene.plain(&mut tx, 1, 5)?;
        same(tx.read(&scene.get_whole, (1,)).await?, (5,), "a row inserted in the transaction")?;
        tx.write(&scene.set_whole, (1, 6))?;
        same(tx.read(&scene.get_whole, (1,)).await?, (6,), "a row updated in the transaction")?;
        tx.write(&scene.delete, (1,))?;
        let gone = tx.read_if_any(&scene.get_whole, (1,)).await?;
        same(gone, None, "a row deleted in the transaction")?;
        client.session.abort().await;
        let Some(scans) = &scene.scans else {
            return Ok(());
        };
        let mut tx = client.begin(AccessPattern::Several);
        tx.write(&scene.insert_part, (3, 1, "red", 1, cents(1), 5))?;
        let (number,) = tx.read(&scans.of_box, (3,)).await?;
        same(number, 1, "a scan of a box filled in the transaction")?;
        client.session.commit().await?;
        Ok(())
    })
}

/// An abort undoes inserts, updates and deletes.
pub(super) fn abort_undoes<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = filled(fixture).await?;
        client
            .commits(AccessPattern::Several, async |tx| {
                scene.plain(tx, 1, 1)?;
                scene.plain(tx, 2, 2)
            })
            .await?;
        client
            .aborts(async |tx| {
                scene.plain(tx, 3, 3)?;
                tx.write(&scene.set_whole, (1, 100))?;
                tx.write(&scene.delete, (2,))
            })
            .await?;
        let mut tx = client.begin(AccessPattern::ReadOnly);
        let inserted = tx.read_if_any(&scene.get_whole, (3,)).await?;
        same(inserted, None, "a row whose insert was aborted")?;
        same(tx.read(&scene.get_whole, (1,)).await?, (1,), "a row whose update was aborted")?;
        same(tx.read(&scene.get_whole, (2,)).await?, (2,), "a row whose delete was aborted")?;
        client.session.commit().await?;
        client.commits(AccessPattern::Single, async |tx| scene.plain(tx, 3, 33)).await?;
        Ok(())
    })
}

/// An abort undoes index entries too.
pub(super) fn abort_undoes_index_entries<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    let indexed = scene.indexed.as_ref().expect("the schema declares the case's operations");
    fixture.run(async {
        let mut client = filled(fixture).await?;
        client
            .aborts(async |tx| {
                tx.write(&scene.insert_part, (3, 1, "red", 99, cents(1), 500))?;
                tx.write(&scene.set_colour, (1, 1, "green"))?;
                tx.write(&scene.delete_part, (1, 3))
            })
            .await?;
        let stock = numbers(&mut client, &indexed.of_colour_from_backwards, ("red", 3)).await?;
        same(stock, [7, 5, 3], "a scan by index after an abort")?;
        // The aborted transaction's key in the unique index can be used again.
        client
            .commits(AccessPattern::Single, async |tx| {
                tx.write(&scene.insert_part, (3, 1, "red", 99, cents(1), 500))
            })
            .await?;
        Ok(())
    })
}

/// After a refused statement nothing of its transaction remains, and the session continues.
pub(super) fn session_survives_errors<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = fixture.client().await?;
        client.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 1)).await?;
        for round in 2..5 {
            let what = "an insert of an existing key";
            client
                .is_refused(AccessPattern::Several, scene.insert.id, what, async |tx| {
                    scene.plain(tx, 100, round)?;
                    tx.ask(&scene.get_whole, (1,))?;
                    scene.plain(tx, 1, round)
                })
                .await?;
            let left = client
                .commits(AccessPattern::ReadOnly, async |tx| {
                    tx.read_if_any(&scene.get_whole, (100,)).await
                })
                .await?;
            same(left, None, "a row of a transaction that failed later")?;
            client
                .commits(AccessPattern::Several, async |tx| scene.plain(tx, round, round))
                .await?;
        }
        Ok(())
    })
}

/// An acknowledged commit is visible to clients that connect before and after it.
pub(super) fn commit_is_visible<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let (mut writer, mut before) = (fixture.client().await?, fixture.client().await?);
        let absent = before
            .commits(AccessPattern::Single, async |tx| tx.read_if_any(&scene.get_whole, (1,)).await)
            .await?;
        same(absent, None, "a row before its insert")?;
        writer.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 1)).await?;
        writer
            .commits(AccessPattern::Several, async |tx| {
                scene.plain(tx, 2, 2)?;
                tx.write(&scene.set_whole, (1, 10))
            })
            .await?;
        let mut after = fixture.client().await?;
        for (when, client) in [("before", &mut before), ("after", &mut after)] {
            let mut tx = client.begin(AccessPattern::ReadOnly);
            let what = format!("a committed row, read by a client that connected {when},");
            same(tx.read_if_any(&scene.get_whole, (1,)).await?, Some((10,)), &what)?;
            same(tx.read_if_any(&scene.get_whole, (2,)).await?, Some((2,)), &what)?;
            client.session.commit().await?;
        }
        Ok(())
    })
}

/// A session dropped during a transaction leaves nothing in the store and keeps no lock.
pub(super) fn dropped_session_leaves_nothing<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = fixture.client().await?;
        client.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 1)).await?;
        let mut tx = client.begin(AccessPattern::Several);
        tx.write(&scene.set_whole, (1, 2))?;
        scene.plain(&mut tx, 2, 2)?;
        same(tx.read(&scene.get_whole, (2,)).await?, (2,), "a row inserted in the transaction")?;
        drop(client);
        let mut other = fixture.client().await?;
        let mut tx = other.begin(AccessPattern::ReadOnly);
        same(tx.read(&scene.get_whole, (1,)).await?, (1,), "a row updated by a dropped session")?;
        let left = tx.read_if_any(&scene.get_whole, (2,)).await?;
        same(left, None, "a row inserted by a dropped session")?;
        other.session.commit().await?;
        other
            .commits(AccessPattern::Several, async |tx| {
                tx.write(&scene.set_whole, (1, 3))?;
                scene.plain(tx, 2, 3)
            })
            .await?;
        Ok(())
    })
}
