//! The comparison of two records.

use super::grid::{Grid, Side};
use super::prose;
use crate::compare::{Comparison, Row, Spread, Unit};
use syncline_record::units;

/// The table of a comparison.
pub fn compare(comparison: &Comparison) -> String {
    let [first, second] = &comparison.titles;
    let mut text = prose::wrap("A  ", first) + &prose::wrap("B  ", second) + "\n";
    // Intervals say more than ranges; both would be too wide for a terminal.
    let has_intervals = known_rows(comparison).any(|row| row.interval.is_some());
    let left_out = if has_intervals { &["A range", "B range"][..] } else { &["interval"] };
    let shown: Vec<usize> =
        (0..COLUMNS.len()).filter(|column| !left_out.contains(&COLUMNS[*column])).collect();
    let columns: Vec<(&str, Side)> = shown
        .iter()
        .map(|column| match COLUMNS[*column] {
            words @ ("" | "verdict") => (words, Side::Left),
            figures => (figures, Side::Right),
        })
        .collect();
    let mut grid = Grid::new(&columns).optional_columns(&["A range", "B range", "interval"]);
    for row in known_rows(comparison) {
        let cells = cells(row);
        grid.row(shown.iter().map(|column| cells[*column].clone()).collect());
    }
    text += &grid.render();
    text += "\n";
    for sentence in comparison.sentences() {
        text += &prose::wrap("", &sentence);
    }
    text
}

/// The headings of the columns, in the order of [`cells`].
pub(crate) const COLUMNS: [&str; 8] =
    ["", "A", "A range", "B", "B range", "ratio B/A", "interval", "verdict"];

/// The figures that at least one of the two records has.
pub(crate) fn known_rows(comparison: &Comparison) -> impl Iterator<Item = &Row> {
    comparison.rows.iter().filter(|row| row.first.is_some() || row.second.is_some())
}

/// The cells of a figure of both records.
pub(crate) fn cells(row: &Row) -> [String; 8] {
    let median = |spread: Option<Spread>| {
        units::or_unknown(spread, |spread| figure(row.unit, spread.median))
    };
    let range = |spread: Option<Spread>| match spread {
        Some(Spread { range, .. }) => {
            let (least, most) = (figure(row.unit, range.least), figure(row.unit, range.most));
            if least == most { String::new() } else { range_of(row.unit, range.least, range.most) }
        }
        None => String::new(),
    };
    [
        row.name.to_owned(),
        median(row.first),
        range(row.first),
        median(row.second),
        range(row.second),
        units::or_unknown(row.ratio(), |ratio| units::times(ratio.median)),
        row.interval.map_or_else(String::new, |interval| {
            format!("{:.3} to {:.3}", interval.least, interval.most)
        }),
        row.verdict_words().to_owned(),
    ]
}

/// A range; one of rates has its unit once.
fn range_of(unit: Unit, least: f64, most: f64) -> String {
    match unit {
        Unit::PerSecond => units::rate_range(least, most),
        Unit::Nanoseconds | Unit::CpuTime | Unit::Count | Unit::Bytes => {
            format!("{} to {}", figure(unit, least), figure(unit, most))
        }
    }
}

fn figure(unit: Unit, value: f64) -> String {
    match unit {
        Unit::PerSecond => units::rate(value),
        Unit::Nanoseconds | Unit::CpuTime => units::span(value),
        Unit::Count => units::figure(value),
        Unit::Bytes => units::size(value),
    }
}
