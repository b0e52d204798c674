//! Cases for scans: order, ranges, limits, by primary key and by secondary index.

use super::fixture::{Fixture, TestClient};
use super::outcome::{CaseFailure, Verdict, same};
use crate::fields::{Fields, Int};
use crate::outcome::Stop;
use crate::plan::Read;
use crate::session::{AccessPattern, Session};
use crate::target::Target;

const DECLARED: &str = "the schema declares the case's operations";

/// A client on a store that holds the schema's parts.
pub(super) async fn filled<T: Target>(
    fixture: &Fixture<'_, T>,
) -> Result<TestClient<T::Session>, CaseFailure> {
    let mut client = fixture.client().await?;
    client.commits(AccessPattern::Several, async |tx| fixture.scene.fill(tx)).await?;
    Ok(client)
}

/// The numbers that a read of one column returns.
pub(super) async fn numbers<S: Session, K: Fields>(
    client: &mut TestClient<S>,
    read: &Read<K, (Int,)>,
    parameters: K::Of<'_>,
) -> Result<Vec<i64>, Stop> {
    client
        .commits(AccessPattern::Single, async |tx| {
            tx.ask(read, parameters)?;
            tx.answers(read).await?.map(|row| row.map(|(number,)| number)).collect()
        })
        .await
}

/// The pairs of numbers that a read of two columns returns.
async fn pairs<S: Session, K: Fields>(
    client: &mut TestClient<S>,
    read: &Read<K, (Int, Int)>,
    parameters: K::Of<'_>,
) -> Result<Vec<(i64, i64)>, Stop> {
    client
        .commits(AccessPattern::Single, async |tx| {
            tx.ask(read, parameters)?;
            tx.answers(read).await?.collect()
        })
        .await
}

/// A sorted read returns its column in order, each value once if it is distinct.
pub(super) fn sorted<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scans = fixture.scene.scans.as_ref().expect(DECLARED);
    fixture.run(async {
        let mut client = filled(fixture).await?;
        let stocks = numbers(&mut client, &scans.sorted_stocks, (1,)).await?;
        same(stocks, [0, 5, 7], "the stocks of box 1 in order")?;
        let none = numbers(&mut client, &scans.sorted_stocks, (3,)).await?;
        same(none, [0; 0], "the stocks of the empty box")?;
        let colours = client
            .commits(AccessPattern::Single, async |tx| {
                tx.ask(&scans.distinct_colours, (2,))?;
                let rows = tx.answers(&scans.distinct_colours).await?;
                rows.map(|row| row.map(|(colour,)| colour.to_owned()))
                    .collect::<Result<Vec<_>, Stop>>()
            })
            .await?;
        let expected = ["blue", "green", "red"].map(str::to_owned);
        same(colours, expected, "the colours of box 2, each once")
    })
}

/// Scans by key return their part of the rows in order.
pub(super) fn by_key<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scans = fixture.scene.scans.as_ref().expect(DECLARED);
    fixture.run(async {
        let mut client = filled(fixture).await?;
        let s = &mut client;
        same(numbers(s, &scans.of_box, (2,)).await?, [-20, -3, 4, 10], "a scan of box 2")?;
        same(numbers(s, &scans.of_box, (3,)).await?, [0; 0], "a scan of the empty box")?;
        let from = numbers(s, &scans.from_parameter, (2, -3, 2)).await?;
        same(from, [-3, 4], "a scan of box 2 from -3, two rows,")?;
        let from = numbers(s, &scans.from_parameter, (2, -19, 100)).await?;
        same(from, [-3, 4, 10], "a scan of box 2 from -19, a hundred rows,")?;
        let none = numbers(s, &scans.from_parameter, (2, -20, 0)).await?;
        same(none, [0; 0], "a scan of box 2 with limit 0")?;
        let between = numbers(s, &scans.between_backwards_two, (2, -20, 4)).await?;
        same(between, [4, -3], "a scan of box 2 between -20 and 4, backwards, two rows,")?;
        let between = numbers(s, &scans.between_backwards_two, (2, 5, 9)).await?;
        same(between, [0; 0], "a scan between keys that hold no row")?;
        let all = [(1, 1), (1, 2), (1, 3), (2, -20), (2, -3), (2, 4), (2, 10)];
        same(pairs(s, &scans.all, ()).await?, all, "a scan of all parts")?;
        let from = pairs(s, &scans.from_box, (2,)).await?;
        same(from, [(2, 10), (2, 4), (2, -3), (2, -20)], "a scan from box 2 on, backwards,")?;
        let backwards: Vec<_> = client
            .commits(AccessPattern::Single, async |tx| {
                tx.ask(&scans.of_box_backwards, (1,))?;
                let rows = tx.answers(&scans.of_box_backwards).await?;
                rows.map(|row| row.map(|(number, colour)| (number, colour.to_owned()))).collect()
            })
            .await?;
        let expected = [(3, "red"), (2, "blue"), (1, "red")].map(|(n, c)| (n, c.to_owned()));
        same(backwards, expected, "a scan of box 1 backwards")?;
        let mut tx = client.begin(AccessPattern::Single);
        let exactly = tx.read(&scans.exactly, (1, 2)).await?;
        same(exactly, ("blue",), "a scan by a whole key")?;
        client.session.commit().await?;
        Ok(())
    })
}

/// A table without a key accepts equal rows, and a scan returns every one.
pub(super) fn without_key<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scans = fixture.scene.scans.as_ref().expect(DECLARED);
    fixture.run(async {
        let mut client = fixture.client().await?;
        for event in [(1, 5), (1, 5), (2, -5)] {
            client
                .commits(AccessPattern::Single, async |tx| tx.write(&scans.insert_event, event))
                .await?;
        }
        let mut events = pairs(&mut client, &scans.events, ()).await?;
        events.sort_unstable();
        same(events, [(1, 5), (1, 5), (2, -5)], "a scan of a table without a key")
    })
}

/// Scans by index return rows in the index's order, and reflect every change of a row.
pub(super) fn by_index<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    let indexed = scene.indexed.as_ref().expect(DECLARED);
    fixture.run(async {
        let mut client = filled(fixture).await?;
        let red = pairs(&mut client, &indexed.of_colour, ("red",)).await?;
        same(red, [(2, -20), (2, 4), (1, 1), (1, 3)], "a scan of the red parts by stock")?;
        let stock = numbers(&mut client, &indexed.of_colour_from_backwards, ("red", 3)).await?;
        same(stock, [7, 5, 3], "a scan of the red parts from stock 3, backwards,")?;
        let code = pairs(&mut client, &indexed.of_code, (10,)).await?;
        same(code, [(2, -3)], "a scan by a unique index")?;
        let codes = numbers(&mut client, &indexed.codes_between, (-7, 100)).await?;
        same(codes, [-7, 9, 10, 100], "a scan of a unique index between -7 and 100")?;
        client
            .commits(AccessPattern::Several, async |tx| {
                tx.write(&scene.set_colour, (1, 1, "blue"))?;
                tx.write(&scene.delete_part, (2, 4))
            })
            .await?;
        let red = pairs(&mut client, &indexed.of_colour, ("red",)).await?;
        same(red, [(2, -20), (1, 3)], "a scan of the red parts after an update and a delete")?;
        let blue = pairs(&mut client, &indexed.of_colour, ("blue",)).await?;
        same(blue, [(1, 2), (2, 10), (1, 1)], "a scan of the blue parts after an update")
    })
}

/// A second row with a key of a unique index is refused; with a key of another index it is accepted.
pub(super) fn unique_index_refuses<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let scene = fixture.scene;
    fixture.run(async {
        let mut client = filled(fixture).await?;
        let price = super::test_schema::cents(1);
        let what = "a second insert of one key of a unique index";
        client
            .is_refused(AccessPattern::Several, scene.insert_part.id, what, async |tx| {
                tx.write(&scene.insert_part, (3, 1, "red", 5, price, 100))
            })
            .await?;
        client
            .commits(AccessPattern::Single, async |tx| {
                tx.write(&scene.insert_part, (3, 1, "red", 5, price, 103))
            })
            .await?;
        Ok(())
    })
}
