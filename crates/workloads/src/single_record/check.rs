//! The check: the reads of the run, and every row afterwards.
//!
//! The order in which transactions of several clients changed a row is unknown, so the row may hold the text
//! of any of them; but not the loaded text, once a change was acknowledged.

use super::options::{Access, Options};
use super::schema::{PAGE_ROWS, SingleRecord};
use super::transactions::Tally;
use super::written_texts::{TextBitmaps, may_hold};
use crate::check_reader::CheckReader;
use crate::lookup::By;
use crate::violations::Violations;
use syncline_contract::{Check, Session, Stop};

const READ: &str = "every row that was read had its key and a text that was loaded or written";
const THERE: &str = "every row is there once, and no other";
const LAST: &str = "every row holds its loaded text, or one that was written to it";

/// The names of the checks.
pub(super) fn names<A: Access>(options: &Options) -> Vec<&'static str> {
    let mut names = vec![THERE, LAST];
    if reads::<A>(options) {
        names.insert(0, READ);
    }
    names
}

/// True if transactions read; an update by key does not.
fn reads<A: Access>(options: &Options) -> bool {
    !A::WRITES || options.by == By::Index
}

/// Runs all checks.
pub(super) async fn check<A: Access, S: Session>(
    of: &SingleRecord<A>,
    tallies: Vec<Tally>,
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut reader = CheckReader::new(session);
    let words = of.written.words();
    let mut found = CheckState::default();
    for table in 0..of.tables.len() {
        walk(of, table, &words, &mut reader, &mut found).await?;
    }
    let mut checks = Vec::new();
    if reads::<A>(&of.options) {
        let mut read = Violations::default();
        for tally in tallies {
            for _ in 0..tally.wrong {
                read.add(|| tally.first.clone().unwrap_or_default());
            }
        }
        checks.push(read.check(READ));
    }
    checks.extend([found.there.check(THERE), found.last.check(LAST)]);
    Ok(checks)
}

#[derive(Default)]
struct CheckState {
    there: Violations,
    last: Violations,
}

async fn walk<A: Access, S: Session>(
    of: &SingleRecord<A>,
    table: usize,
    words: &TextBitmaps,
    reader: &mut CheckReader<'_, S>,
    found: &mut CheckState,
) -> Result<(), Stop> {
    let rows = of.options.rows;
    let mut next = 0;
    let mut from = i64::MIN;
    loop {
        let mut last = None;
        let page = &of.tables[table].page;
        let count = reader
            .each(page, (from,), |(id, text)| {
                let is_next = id == next && next < rows as i64;
                found.there.unless(is_next, || {
                    format!("row {id} of table {table} instead of row {next} of {rows}")
                });
                if is_next {
                    let is_right = may_be_last(of, table, id as u64, text, words);
                    found
                        .last
                        .unless(is_right, || format!("row {id} of table {table} holds \"{text}\""));
                }
                next = next.max(id + 1);
                last = Some(id);
            })
            .await?;
        match last.filter(|_| count == PAGE_ROWS) {
            Some(last) => from = last + 1,
            None => break,
        }
    }
    found
        .there
        .unless(next >= rows as i64, || format!("table {table} ends before row {next} of {rows}"));
    Ok(())
}

fn may_be_last<A: Access>(
    of: &SingleRecord<A>,
    table: usize,
    row: u64,
    text: &str,
    words: &TextBitmaps,
) -> bool {
    let Some(position) = of.texts.iter().position(|of| of == text) else {
        return false;
    };
    let loaded = of.loaded_text(table, row);
    if !A::WRITES {
        return position == loaded;
    }
    let place = table * of.options.rows as usize + row as usize;
    may_hold(words, place, position, loaded)
}
