//! The check: reads were correct, and every update happened once, in all tables and indexes or in none.

use super::schema::{PAGE_ROWS, Short};
use super::transactions::Tally;
use crate::check_reader::CheckReader;
use crate::violations::Violations;
use syncline_contract::{Check, Session, Stop};

const READ: &str = "every row that was read had the key that was asked for";
const COUNTED: &str = "each table counts every committed update once";
const ALIKE: &str = "rows of one number are alike in all tables and indexed columns";

/// The names of the checks.
pub(super) fn names() -> [&'static str; 3] {
    [READ, COUNTED, ALIKE]
}

/// Runs all checks.
pub(super) async fn check<S: Session>(
    of: &Short,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut reader = CheckReader::new(session);
    let mut read = Violations::default();
    let misread: u64 = tallies.iter().map(|tally| tally.wrong).sum();
    read.unless(misread == 0, || format!("{misread} rows had another key"));
    let committed: u64 = tallies.iter().map(|tally| tally.updates).sum();
    let unknown: u64 = tallies.iter().map(|tally| tally.unknown).sum();
    let mut counted = Violations::default();
    for (number, table) in of.tables.iter().enumerate() {
        let sum = reader.one(&table.sum_of_counts, (), |(sum,)| sum.unwrap_or(0)).await?;
        let is_right = (committed as i64..=(committed + unknown) as i64).contains(&sum);
        counted.unless(is_right, || {
            format!(
                "table {number} counts {sum} updates, but {committed} were committed and {unknown} are \
                 unfinished"
            )
        });
    }
    let alike = alike(of, &mut reader).await?;
    Ok(vec![read.check(READ), counted.check(COUNTED), alike.check(ALIKE)])
}

/// Compares the rows of every table with those of the first, a page at a time.
async fn alike<S: Session>(
    of: &Short,
    reader: &mut CheckReader<'_, S>,
) -> Result<Violations, Stop> {
    let (rows, width) = (of.options.rows as i64, 2 + of.options.indexes as usize);
    let mut wrong = Violations::default();
    let (mut first, mut page) = (Vec::new(), Vec::new());
    for from in (0..rows).step_by(PAGE_ROWS as usize) {
        for (number, table) in of.tables.iter().enumerate() {
            page.clear();
            reader
                .each(&table.page, (from,), |row| {
                    page.extend((0..width).map(|column| row.get(column)));
                })
                .await?;
            if number == 0 {
                first.clone_from(&page);
                of_first(&page, (from, rows), width, &mut wrong);
            }
            wrong.unless(page == first, || {
                format!("the rows of table {number} from row {from} differ from those of table 0")
            });
        }
    }
    Ok(wrong)
}

/// Checks that all rows of the first table exist, with equal values in their columns.
fn of_first(page: &[i64], (from, rows): (i64, i64), width: usize, wrong: &mut Violations) {
    let expected = (rows - from).min(PAGE_ROWS as i64);
    let found = (page.len() / width) as i64;
    wrong.unless(found == expected, || {
        format!("{found} rows from row {from} instead of {expected}")
    });
    for (row, id) in page.chunks(width).zip(from..) {
        let indexed = &row[2..];
        let is_right = row[0] == id
            && indexed.iter().all(|value| *value == indexed[0])
            && indexed.first().is_none_or(|value| value % rows == id);
        wrong.unless(is_right, || format!("row {id} is {row:?}"));
    }
}
