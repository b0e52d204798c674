//! The check: reads every row back, and holds rows, texts and counts against what clients were told.
//!
//! 1. Every row is there that was loaded or inserted, but for those whose delete was acknowledged; a row
//!    of unknown outcome may be there or not.
//! 2. Every text is one that was written for its row.
//! 3. A row's `k` less the one it began with is the number of its additions: in a table they are as many
//!    as were acknowledged, or more by at most those of unknown outcome. Where rows are replaced, their
//!    additions are gone, so that there may be fewer; in tables that were kept there may be more.
//! 4. Every read of the run answered the rows that had to be there, in their order.

use super::content::Owner;
use super::options::Options;
use super::schema::Oltp;
use super::statements::{PAGE_ROWS, Page};
use super::test::Test;
use super::transactions::{RowId, Tally, identity};
use super::unique;
use crate::look::Look;
use crate::rows::{Expected, RowSet};
use crate::wrong::Wrong;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use syncline_contract::{Check, Session, Stop};

const TEXTS: &str = "every c and pad is one that was written for its row";
const COUNTS: &str = "every k has grown by the index updates";
const READS: &str = "every read answered the rows that were there, in order";
const BULK: &str = "every k is its row's id";

/// The names of the checks.
pub(super) fn names(options: &Options) -> Vec<&'static str> {
    if options.test == Test::BulkInsert {
        return vec![Expected::NAME, BULK];
    }
    vec![Expected::NAME, TEXTS, COUNTS, READS]
}

/// Runs all of them.
pub(super) async fn check<S: Session>(
    oltp: &Oltp,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut found = Found::of(oltp, tallies);
    let mut look = Look::new(session);
    for (table, page) in oltp.statements.pages.iter().enumerate() {
        match page {
            Page::Whole(page) => {
                let mut from = i64::MIN;
                loop {
                    let mut last = from;
                    let take = |(id, k, c, pad): (i64, i64, &str, &str)| {
                        found.row(table, id, k, c, pad);
                        last = id;
                    };
                    let rows = look.each(page, (from,), take).await?;
                    if rows < PAGE_ROWS || last == i64::MAX {
                        break;
                    }
                    from = last + 1;
                }
            }
            Page::Bulk(page) => {
                let mut from = i64::MIN;
                loop {
                    let mut last = from;
                    let take = |(id, k): (i64, i64)| {
                        found.bulk_row(table, id, k);
                        last = id;
                    };
                    let rows = look.each(page, (from,), take).await?;
                    if rows < PAGE_ROWS || last == i64::MAX {
                        break;
                    }
                    from = last + 1;
                }
            }
        }
        found.ends(table);
    }
    Ok(found.checks(tallies))
}

/// What was found so far, and what should be.
struct Found<'o> {
    options: &'o Options,
    /// Of tests that insert.
    expected: Expected,
    inserted: RowSet,
    deleted: BTreeSet<RowId>,
    away: BTreeSet<RowId>,
    rows: Wrong,
    texts: Wrong,
    counts: Wrong,
    /// The id that is to be found next in the table.
    next: u64,
    /// Additions found in the table.
    grown: i64,
    added: Vec<RangeInclusive<i64>>,
}

impl<'o> Found<'o> {
    fn of(oltp: &'o Oltp, tallies: &[Tally]) -> Found<'o> {
        let options = &oltp.options;
        let mut expected = Expected::default();
        let (mut deleted, mut away) = (BTreeSet::new(), BTreeSet::new());
        for tally in tallies {
            expected.there.merge(tally.inserted);
            expected.perhaps.extend_from_slice(&tally.perhaps_inserted);
            deleted.extend(tally.deleted.iter().copied());
            away.extend(tally.away.iter().copied());
        }
        expected.sort();
        let tables = 0..options.tables as usize;
        Found {
            options,
            expected,
            inserted: RowSet::default(),
            deleted,
            away,
            rows: Wrong::default(),
            texts: Wrong::default(),
            counts: Wrong::default(),
            next: 1,
            grown: 0,
            added: tables
                .map(|table| admitted(options, table, tallies))
                .collect(),
        }
    }

    /// Takes a row, in the order of ids.
    fn row(&mut self, table: usize, id: i64, k: i64, c: &str, pad: &str) {
        let loaded = 1..=self.options.loaded_rows();
        match u64::try_from(id).ok().filter(|id| loaded.contains(id)) {
            Some(id) => self.loaded_row((table, id), k, c, pad),
            None if self.options.test == Test::Insert => self.new_row(table, id, k, c, pad),
            None => self
                .rows
                .add(|| format!("{} was never made", name(table, id))),
        }
    }

    fn loaded_row(&mut self, row: RowId, k: i64, c: &str, pad: &str) {
        let (table, id) = row;
        self.missing_until(table, id);
        self.rows.unless(id >= self.next, || {
            format!("{} is there twice or out of order", name(table, id))
        });
        self.next = self.next.max(id + 1);
        self.rows.unless(!self.deleted.contains(&row), || {
            format!(
                "{} is there and its delete was acknowledged",
                name(table, id)
            )
        });
        let owner = Owner { table, id };
        self.texts.unless(owner.version_of_c(c).is_some(), || {
            format!("{} holds \"{c}\" as c", name(table, id))
        });
        match owner.of_pad(pad) {
            Some((_, base)) => self.grew(table, id as i64, k, base),
            None => self
                .texts
                .add(|| format!("{} holds \"{pad}\" as pad", name(table, id))),
        }
    }

    fn grew(&mut self, table: usize, id: i64, k: i64, base: u64) {
        let grown = k - base as i64;
        self.counts.unless(grown >= 0, || {
            format!("{} began with k {base} and has {k}", name(table, id))
        });
        self.grown += grown;
    }

    /// A row of test `insert`, whose texts say its number.
    fn new_row(&mut self, table: usize, id: i64, k: i64, c: &str, pad: &str) {
        let nobody = Owner { table, id: 0 };
        let (Some(number), Some((same, base))) = (nobody.version_of_c(c), nobody.of_pad(pad))
        else {
            return self
                .texts
                .add(|| format!("{} holds \"{c}\" and \"{pad}\"", name(table, id)));
        };
        let by_store = self.options.ids_by_store();
        let fits = same == number && (by_store || unique::id(number) == id);
        self.texts.unless(fits, || {
            format!("{} holds the texts of another row", name(table, id))
        });
        self.grew(table, id, k, base);
        self.count((table, number));
    }

    fn bulk_row(&mut self, table: usize, id: i64, k: i64) {
        self.texts
            .unless(k == id, || format!("{} has k {k}", name(table, id)));
        match u64::try_from(id) {
            Ok(id) => self.count((table, id)),
            Err(_) => self
                .rows
                .add(|| format!("{} was never made", name(table, id))),
        }
    }

    fn count(&mut self, row: RowId) {
        let identity = identity(row);
        if self.expected.counts(identity) {
            self.inserted.add(identity);
        }
    }

    /// A table has ended: what is still to come is missing.
    fn ends(&mut self, table: usize) {
        if self.options.test != Test::BulkInsert {
            self.missing_until(table, self.options.loaded_rows() + 1);
        }
        self.next = 1;
        let (grown, admitted) = (std::mem::take(&mut self.grown), &self.added[table]);
        self.counts.unless(admitted.contains(&grown), || {
            let (least, most) = admitted.clone().into_inner();
            let table = table + 1;
            format!("sbtest{table} holds {grown} additions in place of {least} to {most}")
        });
    }

    /// The rows from the next one to before that id are not there.
    fn missing_until(&mut self, table: usize, id: u64) {
        for missing in self.next..id {
            let row = (table, missing);
            let may = self.deleted.contains(&row) || self.away.contains(&row);
            self.rows
                .unless(may, || format!("{} is gone", name(table, missing)));
        }
    }

    fn checks(self, tallies: &[Tally]) -> Vec<Check> {
        let inserts = matches!(self.options.test, Test::Insert | Test::BulkInsert);
        let mut rows = self.rows.check(Expected::NAME);
        if inserts && rows.outcome == syncline_contract::CheckOutcome::Held {
            rows = self.expected.check(self.inserted);
        }
        if self.options.test == Test::BulkInsert {
            return vec![rows, self.texts.check(BULK)];
        }
        let mut reads = Wrong::default();
        for tally in tallies {
            reads.merge(&tally.misread);
        }
        vec![
            rows,
            self.texts.check(TEXTS),
            self.counts.check(COUNTS),
            reads.check(READS),
        ]
    }
}

/// How many additions a table may hold.
fn admitted(options: &Options, table: usize, tallies: &[Tally]) -> RangeInclusive<i64> {
    let sum = |of: fn(&Tally) -> &Vec<u64>| -> i64 {
        let all = tallies.iter().filter_map(|tally| of(tally).get(table));
        all.sum::<u64>() as i64
    };
    let (added, perhaps) = (sum(|tally| &tally.added), sum(|tally| &tally.perhaps_added));
    let least = if options.replaces_rows() { 0 } else { added };
    let most = if options.kept {
        i64::MAX
    } else {
        added + perhaps
    };
    least..=most
}

fn name(table: usize, id: impl std::fmt::Display) -> String {
    format!("row {id} of sbtest{}", table + 1)
}

#[cfg(test)]
mod tests {
    use super::{Options, Tally, Test, admitted};

    #[test]
    fn additions_are_as_many_as_acknowledged_and_perhaps_the_unknown() {
        let tally = |added, perhaps_added| Tally {
            added: vec![0, added],
            perhaps_added: vec![0, perhaps_added],
            ..Tally::default()
        };
        let tallies = [tally(5, 1), tally(7, 0)];
        let options = |test, kept| Options {
            test,
            kept,
            ..Options::default()
        };
        let of = |test, kept| admitted(&options(test, kept), 1, &tallies);
        assert_eq!(of(Test::UpdateIndex, false), 12..=13);
        assert_eq!(of(Test::ReadWrite, false), 0..=13);
        assert_eq!(of(Test::UpdateIndex, true), 12..=i64::MAX);
        assert_eq!(
            admitted(&options(Test::UpdateIndex, false), 0, &tallies),
            0..=0
        );
    }
}
