//! Cases about single rows by key: get, insert, update, delete, and what each refuses.

use super::fixture::Fixture;
use super::outcome::{Verdict, same};
use super::test_schema::cents;
use crate::session::{AccessPattern, Session};
use crate::target::Target;

/// A get finds a row by its key, simple or compound, and no other.
pub(super) fn get_hits_and_misses<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut seat = fixture.client().await?;
        seat.commits(AccessPattern::Several, async |tx| {
            scene.plain(tx, 7, 70)?;
            scene.fill(tx)
        })
        .await?;
        let mut tx = seat.begin(AccessPattern::ReadOnly);
        let found = tx.read(&scene.get_whole, (7,)).await?;
        same(found, (70,), "the row with key 7")?;
        let missed = tx.read_if_any(&scene.get_whole, (8,)).await?;
        same(missed, None, "the row with key 8, which nobody inserted,")?;
        let part = tx.read(&scene.get_part, (2, -3)).await?;
        same(part, ("green", 2, cents(2), 10), "the part with key (2, -3)")?;
        let missed = tx.read_if_any(&scene.get_part, (-3, 2)).await?;
        same(missed, None, "the part with key (-3, 2), which nobody inserted,")?;
        seat.session.commit().await?;
        Ok(())
    })
}

/// A second row with a key that is there is refused, and the first stays as it was.
pub(super) fn duplicate_key_is_refused<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut seat = fixture.client().await?;
        seat.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 1)).await?;
        for shape in [AccessPattern::Single, AccessPattern::Several] {
            let what = "a second insert of one key";
            seat.is_refused(shape, scene.insert.id, what, async |tx| scene.plain(tx, 1, 2)).await?;
        }
        let kept =
            seat.commits(AccessPattern::Single, async |tx| tx.read(&scene.get_whole, (1,)).await);
        same(kept.await?, (1,), "the first row of a key that was inserted twice")
    })
}

/// An update sets and adds, to and from null, and touches only its row and columns.
pub(super) fn update_sets_and_adds<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut seat = fixture.client().await?;
        seat.commits(AccessPattern::Several, async |tx| {
            scene.plain(tx, 1, 10)?;
            scene.plain(tx, 2, 20)
        })
        .await?;
        seat.commits(AccessPattern::Several, async |tx| {
            tx.write(&scene.set, (1, -5, Some("set"), Some(3)))?;
            tx.write(&scene.add, (1, -4, 0.25, cents(-130)))?;
            tx.write(&scene.add_amount, (1, Some(4)))
        })
        .await?;
        let set = (1, -9, 0.75, cents(-30), "plain", &b"plain"[..], 0, Some("set"), Some(7));
        let mut tx = seat.begin(AccessPattern::Single);
        same(tx.read(&scene.get, (1,)).await?, set, "the updated row")?;
        seat.session.commit().await?;
        seat.commits(AccessPattern::Several, async |tx| {
            tx.write(&scene.set, (1, 1, None, None))?;
            tx.write(&scene.add_amount, (1, Some(4)))
        })
        .await?;
        let nulled = (1, 1, 0.75, cents(-30), "plain", &b"plain"[..], 0, None, None);
        let mut tx = seat.begin(AccessPattern::ReadOnly);
        let what = "the row set to null, to which an addition changes nothing,";
        same(tx.read(&scene.get, (1,)).await?, nulled, what)?;
        same(tx.read(&scene.get_whole, (2,)).await?, (20,), "the row beside the updated one")?;
        seat.session.commit().await?;
        Ok(())
    })
}

/// An update or delete of a row that is not there is refused, also behind other writes.
pub(super) fn absent_rows_are_refused<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut seat = fixture.client().await?;
        seat.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 1)).await?;
        for shape in [AccessPattern::Single, AccessPattern::Several] {
            let (update, delete) = (scene.set_whole.id, scene.delete.id);
            seat.is_refused(shape, update, "an update of a row that is not there", async |tx| {
                tx.write(&scene.set_whole, (9, 9))
            })
            .await?;
            seat.is_refused(shape, delete, "a delete of a row that is not there", async |tx| {
                tx.write(&scene.delete, (9,))
            })
            .await?;
        }
        let what = "an update of a row deleted before";
        seat.is_refused(AccessPattern::Several, scene.set_whole.id, what, async |tx| {
            tx.write(&scene.delete, (1,))?;
            tx.write(&scene.set_whole, (1, 2))
        })
        .await
    })
}

/// A put makes a row or replaces it whole; a removal takes it away, or finds nothing to do.
pub(super) fn put_and_remove_take_either<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut seat = fixture.client().await?;
        for (colour, stock) in [("red", 1), ("blue", 2)] {
            let part = (7, 1, colour, stock, cents(stock), stock);
            seat.commits(AccessPattern::Single, async |tx| tx.write(&scene.put_part, part)).await?;
            let mut tx = seat.begin(AccessPattern::ReadOnly);
            let found = tx.read(&scene.get_part, (7, 1)).await?;
            let wanted = (colour, stock, cents(stock), stock);
            same(found, wanted, "a row after it was put")?;
            seat.session.commit().await?;
        }
        // Within one transaction, over its own writes.
        seat.commits(AccessPattern::Several, async |tx| {
            tx.write(&scene.remove_part, (7, 1))?;
            tx.write(&scene.put_part, (7, 1, "green", 3, cents(3), 3))?;
            tx.write(&scene.put_part, (7, 2, "black", 4, cents(4), 4))?;
            tx.write(&scene.remove_part, (7, 2))
        })
        .await?;
        let mut tx = seat.begin(AccessPattern::ReadOnly);
        let found = tx.read(&scene.get_part, (7, 1)).await?;
        same(found, ("green", 3, cents(3), 3), "a row put after its removal")?;
        let gone = tx.read_if_any(&scene.get_part, (7, 2)).await?;
        same(gone, None, "a row removed after it was put")?;
        seat.session.commit().await?;
        for _ in 0..2 {
            seat.commits(AccessPattern::Single, async |tx| tx.write(&scene.remove_part, (7, 1)))
                .await?;
        }
        let mut tx = seat.begin(AccessPattern::ReadOnly);
        let gone = tx.read_if_any(&scene.get_part, (7, 1)).await?;
        same(gone, None, "a row removed twice")?;
        seat.session.commit().await?;
        Ok(())
    })
}

/// A change changes its row, or finds nothing to do; also over the transaction's own writes.
pub(super) fn change_takes_either<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut seat = fixture.client().await?;
        for shape in [AccessPattern::Single, AccessPattern::Several] {
            seat.commits(shape, async |tx| tx.write(&scene.change_part, (7, 1, "blue", 2))).await?;
            let mut tx = seat.begin(AccessPattern::ReadOnly);
            let absent = tx.read_if_any(&scene.get_part, (7, 1)).await?;
            same(absent, None, "a row that only a change has named")?;
            seat.session.commit().await?;
        }
        seat.commits(AccessPattern::Single, async |tx| {
            tx.write(&scene.put_part, (7, 1, "red", 1, cents(1), 1))
        })
        .await?;
        seat.commits(AccessPattern::Single, async |tx| {
            tx.write(&scene.change_part, (7, 1, "blue", 2))
        })
        .await?;
        seat.commits(AccessPattern::Several, async |tx| {
            tx.write(&scene.change_part, (7, 1, "green", 4))?;
            tx.write(&scene.remove_part, (7, 2))?;
            tx.write(&scene.change_part, (7, 2, "green", 4))
        })
        .await?;
        let mut tx = seat.begin(AccessPattern::ReadOnly);
        let found = tx.read(&scene.get_part, (7, 1)).await?;
        same(found, ("green", 7, cents(1), 1), "a row changed twice")?;
        let absent = tx.read_if_any(&scene.get_part, (7, 2)).await?;
        same(absent, None, "a row changed where there was none")?;
        seat.session.commit().await?;
        Ok(())
    })
}

/// A deleted row is gone, and its key is free.
pub(super) fn delete_frees_the_key<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut seat = fixture.client().await?;
        seat.commits(AccessPattern::Several, async |tx| scene.plain(tx, 1, 1)).await?;
        seat.commits(AccessPattern::Single, async |tx| tx.write(&scene.delete, (1,))).await?;
        let gone = seat
            .commits(AccessPattern::Single, async |tx| tx.read_if_any(&scene.get_whole, (1,)).await)
            .await?;
        same(gone, None, "a deleted row")?;
        seat.commits(AccessPattern::Single, async |tx| scene.plain(tx, 1, 2)).await?;
        let again =
            seat.commits(AccessPattern::Single, async |tx| tx.read(&scene.get_whole, (1,)).await);
        same(again.await?, (2,), "a row inserted again after its deletion")
    })
}
