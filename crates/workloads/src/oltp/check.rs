//! The check: reads every row back, and compares rows, texts and counts with what clients were acknowledged.
//!
//! 1. Every loaded or inserted row exists, unless its delete was acknowledged; a row with an unknown outcome
//!    may exist or not.
//! 2. Every text is one that was written for its row.
//! 3. A row's `k` minus its initial value is the number of its additions. In a table their sum has grown
//!    since the run began by the number of acknowledged additions, plus at most the unknown ones.
//! 4. If rows are replaced or deleted, their additions are lost, so only the maximum of the sum is known. A
//!    row that was added to and not replaced must still show it, unless an earlier run may have added to it
//!    too.
//! 5. No row whose `c` was set holds the loaded text.
//! 6. Every read of the run returned the rows that had to exist, in order.

use super::content::Owner;
use super::event::Statement;
use super::options::Options;
use super::schema::Oltp;
use super::statements::{PAGE_ROWS, Page};
use super::sysbench_test::Test;
use super::transactions::{RowId, Tally, identity};
use super::unique_ids;
use crate::check_reader::CheckReader;
use crate::rows::{Expected, RowBitmap, RowSet};
use crate::violations::Violations;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use syncline_contract::{Check, CheckOutcome, Int, Read, Session, Stop, Text};

const TEXTS: &str = "every c and pad is one that was written for its row";
const COUNTS: &str = "every k has grown by the index updates";
const MOST: &str = "no k has grown by more than the index updates";
const SET: &str = "no row whose c was set holds the loaded one";
const READS: &str = "every read answered the rows that were there, in order";
const BULK: &str = "every k is its row's id";

/// The names of the checks.
pub(super) fn names(oltp: &Oltp) -> Vec<&'static str> {
    if oltp.options.test == Test::BulkInsert {
        return vec![Expected::NAME, BULK];
    }
    let mut names = vec![Expected::NAME, TEXTS, COUNTS];
    names.extend(oltp.options.drops_additions().then_some(MOST));
    names.extend(oltp.event.has(Statement::NonIndexUpdate).then_some(SET));
    names.push(READS);
    names
}

/// The additions that the rows of each table hold.
pub(super) async fn grown<S: Session>(oltp: &Oltp, session: &mut S) -> Result<Vec<i64>, Stop> {
    let mut reader = CheckReader::new(session);
    let mut all = Vec::new();
    for (table, page) in oltp.statements.pages.iter().enumerate() {
        let mut sum = 0;
        if let Page::Whole(page) = page {
            let add = |(id, k, _, pad): WholeRow<'_>| {
                sum += base(oltp, table, id, pad).map_or(0, |base| k - base as i64);
            };
            walk(page, &mut reader, add).await?;
        }
        all.push(sum);
    }
    Ok(all)
}

/// The initial `k` of a row, from its `pad`; a row that was not loaded has no owner.
fn base(oltp: &Oltp, table: usize, id: i64, pad: &str) -> Option<u64> {
    let loaded = 1..=oltp.options.loaded_rows();
    let id = u64::try_from(id).ok().filter(|id| loaded.contains(id));
    let owner = Owner { table, id: id.unwrap_or(0) };
    owner.of_pad(pad).map(|(_, base)| base)
}

/// A row: its id, `k`, `c` and `pad`.
type WholeRow<'r> = (i64, i64, &'r str, &'r str);

/// Scans a table in the order of ids, a page at a time.
async fn walk<S: Session>(
    page: &Read<(Int,), (Int, Int, Text, Text)>,
    reader: &mut CheckReader<'_, S>,
    mut take: impl FnMut(WholeRow<'_>),
) -> Result<(), Stop> {
    let mut from = i64::MIN;
    loop {
        let mut last = from;
        let each = |row: WholeRow<'_>| {
            take(row);
            last = row.0;
        };
        let rows = reader.each(page, (from,), each).await?;
        if rows < PAGE_ROWS || last == i64::MAX {
            return Ok(());
        }
        from = last + 1;
    }
}

/// Runs all checks.
pub(super) async fn check<S: Session>(
    oltp: &Oltp,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut state = CheckState::of(oltp, tallies);
    let mut reader = CheckReader::new(session);
    for (table, page) in oltp.statements.pages.iter().enumerate() {
        match page {
            Page::Whole(page) => {
                let take = |(id, k, c, pad): WholeRow<'_>| state.row(table, id, k, c, pad);
                walk(page, &mut reader, take).await?;
            }
            Page::Bulk(page) => {
                let mut from = i64::MIN;
                loop {
                    let mut last = from;
                    let take = |(id, k): (i64, i64)| {
                        state.bulk_row(table, id, k);
                        last = id;
                    };
                    let rows = reader.each(page, (from,), take).await?;
                    if rows < PAGE_ROWS || last == i64::MAX {
                        break;
                    }
                    from = last + 1;
                }
            }
        }
        state.ends(table);
    }
    Ok(state.checks(tallies))
}

/// The results so far, and the expectations.
struct CheckState<'o> {
    oltp: &'o Oltp,
    options: &'o Options,
    /// For tests that insert.
    expected: Expected,
    inserted: RowSet,
    deleted: BTreeSet<RowId>,
    away: BTreeSet<RowId>,
    rows: Violations,
    texts: Violations,
    counts: Violations,
    most: Violations,
    set: Violations,
    /// Rows that the run added to.
    added_to: RowBitmap,
    set_rows: RowBitmap,
    deleted_rows: RowBitmap,
    /// The additions in each table before the run; none if its rows were loaded for the run.
    before: Option<Vec<i64>>,
    /// True if some row had to show its addition.
    some_show: bool,
    /// The next expected id in the table.
    next: u64,
    /// Additions state in the table.
    grown: i64,
    added: Vec<RangeInclusive<i64>>,
}

impl<'o> CheckState<'o> {
    fn of(oltp: &'o Oltp, tallies: &[Tally]) -> CheckState<'o> {
        let options = &oltp.options;
        let mut expected = Expected::default();
        let (mut deleted, mut away) = (BTreeSet::new(), BTreeSet::new());
        for tally in tallies {
            expected.present.merge(tally.inserted);
            expected.perhaps.extend_from_slice(&tally.perhaps_inserted);
            deleted.extend(tally.deleted.iter().copied());
            away.extend(tally.away.iter().copied());
        }
        expected.sort();
        let tables = 0..options.tables as usize;
        CheckState {
            oltp,
            options,
            most: Violations::default(),
            set: Violations::default(),
            added_to: oltp.changed.added.marked(),
            set_rows: oltp.changed.set.marked(),
            deleted_rows: oltp.changed.deleted.marked(),
            before: oltp.grown_before(),
            some_show: false,
            expected,
            inserted: RowSet::default(),
            deleted,
            away,
            rows: Violations::default(),
            texts: Violations::default(),
            counts: Violations::default(),
            next: 1,
            grown: 0,
            added: tables.map(|table| admitted(table, tallies)).collect(),
        }
    }

    /// Checks a row, in the order of ids.
    fn row(&mut self, table: usize, id: i64, k: i64, c: &str, pad: &str) {
        let loaded = 1..=self.options.loaded_rows();
        match u64::try_from(id).ok().filter(|id| loaded.contains(id)) {
            Some(id) => self.loaded_row((table, id), k, c, pad),
            None if self.options.test == Test::Insert => self.new_row(table, id, k, c, pad),
            None => self.rows.add(|| format!("{} was never inserted", name(table, id))),
        }
    }

    fn loaded_row(&mut self, row: RowId, k: i64, c: &str, pad: &str) {
        let (table, id) = row;
        self.missing_until(table, id);
        self.rows.unless(id >= self.next, || {
            format!("{} is returned twice or out of order", name(table, id))
        });
        self.next = self.next.max(id + 1);
        self.rows.unless(!self.deleted.contains(&row), || {
            format!("{} exists, but its delete was acknowledged", name(table, id))
        });
        let owner = Owner { table, id };
        let version = owner.version_of_c(c);
        self.texts.unless(version.is_some(), || format!("{} holds \"{c}\" as c", name(table, id)));
        if self.set_rows.has(Oltp::place(self.options.table_size, row)) {
            let is_loaded = version == Some(Oltp::loaded_version(owner));
            self.set.unless(!is_loaded, || format!("{} does", name(table, id)));
        }
        match owner.of_pad(pad) {
            Some((_, base)) => {
                self.grew(table, id as i64, k, base);
                self.shows(row, k - base as i64);
            }
            None => self.texts.add(|| format!("{} holds \"{pad}\" as pad", name(table, id))),
        }
    }

    fn grew(&mut self, table: usize, id: i64, k: i64, base: u64) {
        let grown = k - base as i64;
        self.counts
            .unless(grown >= 0, || format!("{} began with k {base}, but has {k}", name(table, id)));
        self.grown += grown;
    }

    /// The additions in a table before the run; zero if it was loaded for the run.
    fn before(&self, table: usize) -> i64 {
        let before = self.before.as_ref();
        before.map_or(0, |before| before[table])
    }

    /// Checks that a row that was added to and not replaced shows it, unless an earlier run may have added to
    /// it.
    fn shows(&mut self, row: RowId, grown: i64) {
        let place = Oltp::place(self.options.table_size, row);
        let shows = self.added_to.has(place) && !self.deleted_rows.has(place);
        if shows && self.before(row.0) == 0 {
            self.some_show = true;
            self.counts.unless(grown > 0, || {
                format!("{} was added to, but its k has not grown", name(row.0, row.1))
            });
        }
    }

    /// Checks a row of test `insert`, whose texts hold its number.
    fn new_row(&mut self, table: usize, id: i64, k: i64, c: &str, pad: &str) {
        let no_row = Owner { table, id: 0 };
        let (Some(number), Some((same, base))) = (no_row.version_of_c(c), no_row.of_pad(pad))
        else {
            return self.texts.add(|| format!("{} holds \"{c}\" and \"{pad}\"", name(table, id)));
        };
        let by_store = self.options.ids_by_store();
        let fits = same == number && (by_store || unique_ids::id(number) == id);
        self.texts.unless(fits, || format!("{} holds the texts of another row", name(table, id)));
        self.grew(table, id, k, base);
        self.count((table, number));
    }

    fn bulk_row(&mut self, table: usize, id: i64, k: i64) {
        self.texts.unless(k == id, || format!("{} has k {k}", name(table, id)));
        match u64::try_from(id) {
            Ok(id) => self.count((table, id)),
            Err(_) => self.rows.add(|| format!("{} was never inserted", name(table, id))),
        }
    }

    fn count(&mut self, row: RowId) {
        let identity = identity(row);
        if self.expected.counts(identity) {
            self.inserted.add(identity);
        }
    }

    /// Ends a table: the rows still expected are missing.
    fn ends(&mut self, table: usize) {
        if self.options.test != Test::BulkInsert {
            self.missing_until(table, self.options.loaded_rows() + 1);
        }
        self.next = 1;
        let grown = std::mem::take(&mut self.grown) - self.before(table);
        let (least, most) = self.added[table].clone().into_inner();
        let table = table + 1;
        if self.options.drops_additions() {
            self.most.unless(grown <= most, || {
                format!("sbtest{table} has grown by {grown} additions instead of at most {most}")
            });
        } else {
            self.counts.unless((least..=most).contains(&grown), || {
                format!("sbtest{table} has grown by {grown} additions instead of {least} to {most}")
            });
        }
    }

    /// Records the rows from the next one up to that id as missing.
    fn missing_until(&mut self, table: usize, id: u64) {
        for missing in self.next..id {
            let row = (table, missing);
            let may = self.deleted.contains(&row) || self.away.contains(&row);
            self.rows.unless(may, || format!("{} is gone", name(table, missing)));
        }
    }

    fn checks(self, tallies: &[Tally]) -> Vec<Check> {
        let inserts = matches!(self.options.test, Test::Insert | Test::BulkInsert);
        let mut rows = self.rows.check(Expected::NAME);
        if inserts && rows.outcome == CheckOutcome::Held {
            rows = self.expected.check(self.inserted);
        }
        if self.options.test == Test::BulkInsert {
            return vec![rows, self.texts.check(BULK)];
        }
        let mut reads = Violations::default();
        for tally in tallies {
            reads.merge(&tally.misread);
        }
        let added = tallies.iter().flat_map(|tally| &tally.added).sum::<u64>();
        let shown = !self.options.drops_additions() || added == 0 || self.some_show;
        let mut counts = self.counts.check(COUNTS);
        if !shown && counts.outcome == CheckOutcome::Held {
            let why =
                "rows are replaced, which loses the additions of this run and of earlier ones";
            counts.outcome = CheckOutcome::NotApplicable(why.to_owned());
        }
        let mut checks = vec![rows, self.texts.check(TEXTS), counts];
        if self.options.drops_additions() {
            checks.push(self.most.check(MOST));
        }
        if self.oltp.event.has(Statement::NonIndexUpdate) {
            checks.push(self.set.check(SET));
        }
        checks.push(reads.check(READS));
        checks
    }
}

/// The range by which a table's additions may have grown in the run.
fn admitted(table: usize, tallies: &[Tally]) -> RangeInclusive<i64> {
    let sum = |of: fn(&Tally) -> &Vec<u64>| -> i64 {
        let all = tallies.iter().filter_map(|tally| of(tally).get(table));
        all.sum::<u64>() as i64
    };
    let (added, perhaps) = (sum(|tally| &tally.added), sum(|tally| &tally.perhaps_added));
    added..=added + perhaps
}

fn name(table: usize, id: impl std::fmt::Display) -> String {
    format!("row {id} of sbtest{}", table + 1)
}

#[cfg(test)]
mod tests {
    use super::{Tally, admitted};

    #[test]
    fn additions_are_the_acknowledged_and_possibly_the_unknown() {
        let tally = |added, perhaps_added| Tally {
            added: vec![0, added],
            perhaps_added: vec![0, perhaps_added],
            ..Tally::default()
        };
        let tallies = [tally(5, 1), tally(7, 0)];
        assert_eq!(admitted(1, &tallies), 12..=13);
        assert_eq!(admitted(0, &tallies), 0..=0);
    }
}
