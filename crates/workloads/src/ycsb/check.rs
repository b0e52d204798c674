//! The check: reads every row back, verifies each value by its key, and holds the set of rows against
//! what was loaded and acknowledged.
//!
//! In which order clients changed a row is not known, so a row may hold what any of them wrote; but where
//! an update was acknowledged, at least one of its values is of this run, and no longer what the run found.

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

/// Runs all of them.
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

/// The rows whose update was acknowledged, and which versions are of this run.
struct Updates {
    /// Identities, sorted.
    rows: Vec<u64>,
    first: u64,
    /// How far the versions of this run lie behind the first.
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

    /// True if a row was updated and holds nothing that this run wrote; its values begin at cell 1. Where a
    /// value is too short for a version nobody can tell.
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
struct CheckState {
    /// Rows that are not of unknown outcome.
    rows: RowSet,
    damaged: Violations,
    /// Rows without what was written to them.
    lost: Violations,
}

/// Walks over the whole table, each page in a transaction of its own.
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
    let (mut asked, mut from) = (RequestTracker::new(false), String::new());
    loop {
        asked.clear();
        session.begin(AccessPattern::Single);
        let mut transaction = Transaction::new(session, &mut asked);
        transaction.ask(page, (&from,))?;
        let (mut rows, mut last) = (0, String::new());
        for row in transaction.answers(page).await? {
            let row = row?;
            let key = row.get(0);
            if rows > 0 && key <= last.as_str() {
                found.damaged.add(|| format!("key {key} is answered twice or out of order"));
            }
            last.clear();
            last.push_str(key);
            rows += 1;
            let identity = eyes.scanned(0, &row, &mut found.damaged);
            if identity.is_some_and(|identity| updates.are_lost(identity, &row)) {
                let what = || format!("the row at key {last} holds only what was there before");
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
        // Above the last key and below any that goes on with a sign that keys have.
        from = last + " ";
    }
}
