//! Cases for single rows by key: get, insert, update, delete, and what each refuses.

use super::fixture::Fixture;
use super::outcome::{Verdict, same};
use super::test_schema::cents;
use crate::session::{AccessPattern, Session};
use crate::target::Target;

/// A get finds a row by its simple or compound key, and no other row.
pub(super) fn get_hits_and_misses<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = fixture.client().await?;
        client
            .commits(AccessPattern::Several, async |tx| {
                scene.plain(tx, 7, 70)?;
                scene.fill(tx)
            })
            .await?;
        let mut tx = client.begin(AccessPattern::ReadOnly);
        let found = tx.read(&scene.get_whole, (7,)).await?;
        same(found, (70,), "the row with key 7")?;
        let missed = tx.read_if_any(&scene.get_whole, (8,)).await?;
        same(missed, None, "the row with key 8, which was never inserted,")?;
        let part = tx.read(&scene.get_part, (2, -3)).await?;
        same(part, ("green", 2, cents(2), 10), "the part with key (2, -3)")?;
        let missed = tx.read_if_any(&scene.get_part, (-3, 2)).await?;
        same(missed, None, "the part with key (-3, 2), which was never inserted,")?;
        client.session.commit().await?;
        Ok(())
    })
}

/// A second row with an existing key is refused, and the first stays unchanged.
pub(super) fn duplicate_key_is_refused<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = fixture.client().await?;
        client.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 1)).await?;
        for pattern in [AccessPattern::Single, AccessPattern::Several] {
            let what = "a second insert of one key";
            client
                .is_refused(pattern, scene.insert.id, what, async |tx| scene.plain(tx, 1, 2))
                .await?;
        }
        let kept =
            client.commits(AccessPattern::Single, async |tx| tx.read(&scene.get_whole, (1,)).await);
        same(kept.await?, (1,), "the first row of a key that was inserted twice")
    })
}

/// An update sets and adds, to and from null, and affects only its row and columns.
pub(super) fn update_sets_and_adds<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = fixture.client().await?;
        client
            .commits(AccessPattern::Several, async |tx| {
                scene.plain(tx, 1, 10)?;
                scene.plain(tx, 2, 20)
            })
            .await?;
        client
            .commits(AccessPattern::Several, async |tx| {
                tx.write(&scene.set, (1, -5, Some("set"), Some(3)))?;
                tx.write(&scene.add, (1, -4, 0.25, cents(-130)))?;
                tx.write(&scene.add_amount, (1, Some(4)))
            })
            .await?;
        let set = (1, -9, 0.75, cents(-30), "plain", &b"plain"[..], 0, Some("set"), Some(7));
        let mut tx = client.begin(AccessPattern::Single);
        same(tx.read(&scene.get, (1,)).await?, set, "the updated row")?;
        client.session.commit().await?;
        client
            .commits(AccessPattern::Several, async |tx| {
                tx.write(&scene.set, (1, 1, None, None))?;
                tx.write(&scene.add_amount, (1, Some(4)))
            })
            .await?;
        let nulled = (1, 1, 0.75, cents(-30), "plain", &b"plain"[..], 0, None, None);
        let mut tx = client.begin(AccessPattern::ReadOnly);
        let what = "the row set to null, to which an addition changes nothing,";
        same(tx.read(&scene.get, (1,)).await?, nulled, what)?;
        same(tx.read(&scene.get_whole, (2,)).await?, (20,), "the row next to the updated one")?;
        client.session.commit().await?;
        Ok(())
    })
}

/// An update or delete of an absent row is refused, even after other writes.
pub(super) fn absent_rows_are_refused<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = fixture.client().await?;
        client.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 1)).await?;
        for pattern in [AccessPattern::Single, AccessPattern::Several] {
            let (update, delete) = (scene.set_whole.id, scene.delete.id);
            client
                .is_refused(pattern, update, "an update of an absent row", async |tx| {
                    tx.write(&scene.set_whole, (9, 9))
                })
                .await?;
            client
                .is_refused(pattern, delete, "a delete of an absent row", async |tx| {
                    tx.write(&scene.delete, (9,))
                })
                .await?;
        }
        let what = "an update of a row deleted before";
        client
            .is_refused(AccessPattern::Several, scene.set_whole.id, what, async |tx| {
                tx.write(&scene.delete, (1,))?;
                tx.write(&scene.set_whole, (1, 2))
            })
            .await
    })
}

/// A put creates or replaces a row; a remove deletes it if it exists.
pub(super) fn put_and_remove_take_either<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = fixture.client().await?;
        for (colour, stock) in [("red", 1), ("blue", 2)] {
            let part = (7, 1, colour, stock, cents(stock), stock);
            client
                .commits(AccessPattern::Single, async |tx| tx.write(&scene.put_part, part))
                .await?;
            let mut tx = client.begin(AccessPattern::ReadOnly);
            let found = tx.read(&scene.get_part, (7, 1)).await?;
            let expected = (colour, stock, cents(stock), stock);
            same(found, expected, "a row after it was put")?;
            client.session.commit().await?;
        }
        // Within one transaction, on top of its own writes.
        client
            .commits(AccessPattern::Several, async |tx| {
                tx.write(&scene.remove_part, (7, 1))?;
                tx.write(&scene.put_part, (7, 1, "green", 3, cents(3), 3))?;
                tx.write(&scene.put_part, (7, 2, "black", 4, cents(4), 4))?;
                tx.write(&scene.remove_part, (7, 2))
            })
            .await?;
        let mut tx = client.begin(AccessPattern::ReadOnly);
        let found = tx.read(&scene.get_part, (7, 1)).await?;
        same(found, ("green", 3, cents(3), 3), "a row put after its removal")?;
        let gone = tx.read_if_any(&scene.get_part, (7, 2)).await?;
        same(gone, None, "a row removed after it was put")?;
        client.session.commit().await?;
        for _ in 0..2 {
            client
                .commits(AccessPattern::Single, async |tx| tx.write(&scene.remove_part, (7, 1)))
                .await?;
        }
        let mut tx = client.begin(AccessPattern::ReadOnly);
        let gone = tx.read_if_any(&scene.get_part, (7, 1)).await?;
        same(gone, None, "a row removed twice")?;
        client.session.commit().await?;
        Ok(())
    })
}

/// A change updates its row if it exists; also on top of the transaction's own writes.
pub(super) fn change_takes_either<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = fixture.client().await?;
        for pattern in [AccessPattern::Single, AccessPattern::Several] {
            client
                .commits(pattern, async |tx| tx.write(&scene.change_part, (7, 1, "blue", 2)))
                .await?;
            let mut tx = client.begin(AccessPattern::ReadOnly);
            let absent = tx.read_if_any(&scene.get_part, (7, 1)).await?;
            same(absent, None, "a row that was only changed")?;
            client.session.commit().await?;
        }
        client
            .commits(AccessPattern::Single, async |tx| {
                tx.write(&scene.put_part, (7, 1, "red", 1, cents(1), 1))
            })
            .await?;
        client
            .commits(AccessPattern::Single, async |tx| {
                tx.write(&scene.change_part, (7, 1, "blue", 2))
            })
            .await?;
        client
            .commits(AccessPattern::Several, async |tx| {
                tx.write(&scene.change_part, (7, 1, "green", 4))?;
                tx.write(&scene.remove_part, (7, 2))?;
                tx.write(&scene.change_part, (7, 2, "green", 4))
            })
            .await?;
        let mut tx = client.begin(AccessPattern::ReadOnly);
        let found = tx.read(&scene.get_part, (7, 1)).await?;
        same(found, ("green", 7, cents(1), 1), "a row changed twice")?;
        let absent = tx.read_if_any(&scene.get_part, (7, 2)).await?;
        same(absent, None, "an absent row after a change")?;
        client.session.commit().await?;
        Ok(())
    })
}

/// A deleted row is gone, and its key can be used again.
pub(super) fn delete_frees_the_key<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = fixture.client().await?;
        client.commits(AccessPattern::Several, async |tx| scene.plain(tx, 1, 1)).await?;
        client.commits(AccessPattern::Single, async |tx| tx.write(&scene.delete, (1,))).await?;
        let gone = client
            .commits(AccessPattern::Single, async |tx| tx.read_if_any(&scene.get_whole, (1,)).await)
            .await?;
        same(gone, None, "a deleted row")?;
        client.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 2)).await?;
        let again =
            client.commits(AccessPattern::Single, async |tx| tx.read(&scene.get_whole, (1,)).await);
        same(again.await?, (2,), "a row inserted again after its deletion")
    })
}
