//! The check: reads every row back, verifies each value by its key, and compares the set of rows with what
//! was loaded and acknowledged.
//!
//! The order in which clients changed a row is unknown, so a row may hold what any of them wrote; but if an
//! update was acknowledged, at least one of the row's values must be from this run.

use super::content::Content;
use super::option_values::Verify;
use super::schema::{PAGE_ROWS, Ycsb};
use super::transactions::{RowVerifier, Tally};
use crate::rows::{Expected, RowSet};
use crate::violations::Violations;
use std::sync::atomic::Ordering;
use syncline_contract::{
    AccessPattern, Check, RequestTracker, Session, Several, Stop, Text, Transaction,
};

const CONTENT: &str = "every value is one that was written for its key and field";
const READS: &str = "every read found its row, with a value that was written there";

const UPDATES: &str =
    "every row whose update was acknowledged holds a value that was written since";

/// The names of the checks.
pub(super) fn names(ycsb: &Ycsb) -> Vec<&'static str> {
    let mut names = vec![Expected::NAME, CONTENT];
    names.extend(ycsb.updates().then_some(UPDATES));
    names.push(READS);
    names
}

/// Runs all checks.
pub(super) async fn check<S: Session>(
    ycsb: &Ycsb,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let expected = expected(ycsb, tallies);
    let updates = Updates::of(ycsb, tallies);
    let found = scan(ycsb, &expected, &updates, session).await?;
    let mut reads = Violations::default();
    for tally in tallies {
        reads.merge(&tally.missing);
        reads.merge(&tally.damaged);
    }
    let mut checks = vec![expected.check(found.rows), found.damaged.check(CONTENT)];
    checks.extend(ycsb.updates().then(|| found.lost.check(UPDATES)));
    checks.push(reads.check(READS));
    Ok(checks)
}

/// The rows with an acknowledged update, and the range of this run's versions.
struct Updates {
    /// Identities, sorted.
    rows: Vec<u64>,
    first: u64,
    /// The greatest distance of this run's versions from the first.
    most: u64,
}

impl Updates {
    fn of(ycsb: &Ycsb, tallies: &[Tally]) -> Updates {
        let marked = ycsb.updated.marked();
        let loaded = (0..ycsb.options.records).filter(|number| marked.has(*number));
        let mut rows: Vec<u64> = loaded.map(|number| ycsb.keys.identity(number)).collect();
        rows.sort_unstable();
        Updates {
            rows,
            first: ycsb.first_version.load(Ordering::Relaxed),
            most: tallies.iter().map(|tally| tally.versions).max().unwrap_or(0),
        }
    }

    /// True if a row was updated but holds nothing that this run wrote; its values begin at cell 1. False if
    /// a value is too short for a version.
    fn are_lost(&self, identity: u64, row: &Several<'_, Text>) -> bool {
        let is_old = |cell: usize| {
            let version = Content::version(identity, cell - 1, row.get(cell));
            version.is_some_and(|version| {
                let behind = Content::versions_between(self.first, version);
                behind == 0 || behind > self.most
            })
        };
        self.rows.binary_search(&identity).is_ok() && (1..row.len()).all(is_old)
    }
}

fn expected(ycsb: &Ycsb, tallies: &[Tally]) -> Expected {
    let mut expected = Expected::default();
    for number in ycsb.options.loaded().numbers() {
        expected.present.add(ycsb.keys.identity(number));
    }
    for tally in tallies {
        expected.present.merge(tally.inserted);
        expected.deleted.merge(tally.deleted);
        expected.perhaps.extend_from_slice(&tally.perhaps_inserted);
        expected.perhaps_deleted += tally.perhaps_deleted;
    }
    expected.sort();
    expected
}

/// The rows of the store.
#[derive(Debug, Default)]
struct CheckState {
    /// Rows without unknown outcomes.
    rows: RowSet,
    damaged: Violations,
    /// Rows that lack acknowledged updates.
    lost: Violations,
}

/// Scans the whole table, each page in its own transaction.
async fn scan<S: Session>(
    ycsb: &Ycsb,
    expected: &Expected,
    updates: &Updates,
    session: &mut S,
) -> Result<CheckState, Stop> {
    let page = &ycsb.operations.page;
    let mut found = CheckState::default();
    let mut eyes = RowVerifier {
        content: ycsb.content.clone(),
        keys: ycsb.keys,
        verify: Verify::Row,
        turn: 0,
        fields: ycsb.value_fields,
    };
    let (mut requests, mut from) = (RequestTracker::new(false), String::new());
    loop {
        requests.clear();
        session.begin(AccessPattern::Single);
        let mut transaction = Transaction::new(session, &mut requests);
        transaction.ask(page, (&from,))?;
        let (mut rows, mut last) = (0, String::new());
        for row in transaction.answers(page).await? {
            let row = row?;
            let key = row.get(0);
            if rows > 0 && key <= last.as_str() {
                found.damaged.add(|| format!("key {key} is returned twice or out of order"));
            }
            last.clear();
            last.push_str(key);
            rows += 1;
            let identity = eyes.scanned(0, &row, &mut found.damaged);
            if identity.is_some_and(|identity| updates.are_lost(identity, &row)) {
                let what =
                    || format!("the row at key {last} holds only values from before the run");
                found.lost.add(what);
            }
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
        // The smallest text above the last key that is below every key that extends it.
        from = last + " ";
    }
}
