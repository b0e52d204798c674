//! Cases for joins and aggregates.

use super::fixture::Fixture;
use super::outcome::{Verdict, same};
use super::scans::{filled, numbers};
use super::test_schema::cents;
use crate::session::{AccessPattern, Session};
use crate::target::Target;

const DECLARED: &str = "the schema declares the case's operations";

/// A join returns each left row with every matching right row, and no row without a match.
pub(super) fn joins<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let joins = fixture.scene.joins.as_ref().expect(DECLARED);
    fixture.run(async {
        let mut client = filled(fixture).await?;
        let mut tx = client.begin(AccessPattern::ReadOnly);
        tx.ask(&joins.parts_with_label, (2,))?;
        tx.ask(&joins.box_with_parts, (1,))?;
        tx.ask(&joins.box_with_parts, (3,))?;
        let rows: Result<Vec<_>, _> = tx.answers(&joins.parts_with_label).await?.collect();
        let mut rows = rows?;
        rows.sort_unstable();
        let expected = [-20, -3, 4, 10].map(|number| (number, "second"));
        same(rows, expected, "the parts of box 2, each with its box")?;
        let rows: Result<Vec<_>, _> = tx.answers(&joins.box_with_parts).await?.collect();
        let mut rows = rows?;
        rows.sort_unstable();
        same(rows, [1, 2, 3].map(|number| ("first", number)), "box 1 with each of its parts")?;
        let none = tx.answers(&joins.box_with_parts).await?.count();
        same(none, 0, "the number of rows of a join without a match")?;
        client.session.commit().await?;
        Ok(())
    })
}

/// Aggregates over some rows.
pub(super) fn aggregates<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let figures = fixture.scene.figures.as_ref().expect(DECLARED);
    fixture.run(async {
        let mut client = filled(fixture).await?;
        same(numbers(&mut client, &figures.count, (2,)).await?, [4], "the count of box 2")?;
        same(numbers(&mut client, &figures.colours, (2,)).await?, [3], "the colours of box 2")?;
        let from = numbers(&mut client, &figures.count_from, (2, -3)).await?;
        same(from, [3], "the count of box 2 from -3 on")?;
        let mut tx = client.begin(AccessPattern::ReadOnly);
        same(tx.read(&figures.stock, (1,)).await?, (Some(12),), "the sum of stock")?;
        let price = tx.read(&figures.price, (1,)).await?;
        same(price, (Some(cents(399)),), "the sum of a decimal")?;
        let colour = tx.read(&figures.least_colour, (1,)).await?;
        same(colour, (Some("blue"),), "the least text")?;
        same(tx.read(&figures.most_stock, (1,)).await?, (Some(7),), "the greatest stock")?;
        client.session.commit().await?;
        client
            .commits(AccessPattern::Several, async |tx| {
                fixture.scene.plain(tx, 1, 1)?;
                fixture.scene.plain(tx, 2, 2)
            })
            .await?;
        let mut tx = client.begin(AccessPattern::Single);
        same(tx.read(&figures.sample_parts, ()).await?, (Some(1.0),), "the sum of a float")?;
        client.session.commit().await?;
        Ok(())
    })
}

/// Over no rows, a count is zero and every other aggregate null.
pub(super) fn over_no_rows<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let figures = fixture.scene.figures.as_ref().expect(DECLARED);
    fixture.run(async {
        let mut client = filled(fixture).await?;
        same(numbers(&mut client, &figures.count, (3,)).await?, [0], "a count over no rows")?;
        same(
            numbers(&mut client, &figures.colours, (3,)).await?,
            [0],
            "a distinct count over none",
        )?;
        let mut tx = client.begin(AccessPattern::ReadOnly);
        same(tx.read(&figures.stock, (3,)).await?, (None,), "a sum over no rows")?;
        same(tx.read(&figures.price, (3,)).await?, (None,), "a sum of decimals over no rows")?;
        same(tx.read(&figures.least_colour, (3,)).await?, (None,), "a least text over no rows")?;
        same(tx.read(&figures.most_stock, (3,)).await?, (None,), "a greatest over no rows")?;
        client.session.commit().await?;
        Ok(())
    })
}
