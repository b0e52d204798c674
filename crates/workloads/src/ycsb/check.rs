//! The check: reads every row back, verifies each value by its key, and holds the set of rows against
//! what was loaded and acknowledged.

use super::schema::{PAGE_ROWS, Ycsb};
use super::transactions::{Eyes, Tally};
use super::words::Verify;
use crate::rows::{Expected, RowSet};
use crate::wrong::Wrong;
use syncline_contract::{Asked, Check, Session, Shape, Stop, Transaction};

const CONTENT: &str = "every value is one that was written for its key and field";
const READS: &str = "every read found its row, and what it looked at was written there";

/// The names of the checks.
pub(super) const NAMES: [&str; 3] = [Expected::NAME, CONTENT, READS];

/// Runs all of them.
pub(super) async fn check<S: Session>(
    ycsb: &Ycsb,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let expected = expected(ycsb, tallies);
    let found = scan(ycsb, &expected, session).await?;
    let mut reads = Wrong::default();
    for tally in tallies {
        reads.merge(&tally.missing);
        reads.merge(&tally.damaged);
    }
    Ok(vec![
        expected.check(found.rows),
        found.damaged.check(CONTENT),
        reads.check(READS),
    ])
}

fn expected(ycsb: &Ycsb, tallies: &[Tally]) -> Expected {
    let mut expected = Expected::default();
    for number in 0..ycsb.options.records {
        expected.there.add(ycsb.keys.identity(number));
    }
    for tally in tallies {
        expected.there.merge(tally.inserted);
        expected.deleted.merge(tally.deleted);
        expected.perhaps.extend_from_slice(&tally.perhaps_inserted);
        expected.perhaps_deleted += tally.perhaps_deleted;
    }
    expected.sort();
    expected
}

/// What the store holds.
#[derive(Debug, Default)]
struct Found {
    /// Rows that are not of unknown outcome.
    rows: RowSet,
    damaged: Wrong,
}

/// Walks over the whole table, each page in a transaction of its own.
async fn scan<S: Session>(
    ycsb: &Ycsb,
    expected: &Expected,
    session: &mut S,
) -> Result<Found, Stop> {
    let page = &ycsb.operations.page;
    let mut found = Found::default();
    let mut eyes = Eyes {
        content: ycsb.content.clone(),
        keys: ycsb.keys,
        verify: Verify::Row,
        turn: 0,
        fields: ycsb.value_fields,
    };
    let (mut asked, mut from) = (Asked::new(false), String::new());
    loop {
        asked.clear();
        session.begin(Shape::Single);
        let mut transaction = Transaction::new(session, &mut asked);
        transaction.ask(page, (&from,))?;
        let (mut rows, mut last) = (0, String::new());
        for row in transaction.answers(page).await? {
            let row = row?;
            let key = row.get(0);
            if rows > 0 && key <= last.as_str() {
                found
                    .damaged
                    .add(|| format!("key {key} is answered twice or out of order"));
            }
            last.clear();
            last.push_str(key);
            rows += 1;
            let identity = eyes.scanned(0, &row, &mut found.damaged);
            if let Some(identity) = identity
                && expected.counts(identity)
            {
                found.rows.add(identity);
            }
        }
        session.commit().await?;
        if rows < PAGE_ROWS {
            return Ok(found);
        }
        // Above the last key and below any that goes on with a sign that keys have.
        from = last + " ";
    }
}
