//! Two records side by side.

use super::grid::{Grid, Side};
use super::prose;
use crate::compare::{Comparison, Row, Spread, Unit};
use crate::units;

/// The table of a comparison.
pub fn compare(comparison: &Comparison) -> String {
    let [first, second] = &comparison.titles;
    let mut text = prose::wrapped("A  ", first) + &prose::wrapped("B  ", second) + "\n";
    let columns = [
        ("", Side::Left),
        ("A", Side::Right),
        ("A range", Side::Right),
        ("B", Side::Right),
        ("B range", Side::Right),
        ("ratio B/A", Side::Right),
        ("verdict", Side::Left),
    ];
    let mut grid = Grid::new(&columns).spare(&["A range", "B range"]);
    for row in comparison
        .rows
        .iter()
        .filter(|row| row.first.is_some() || row.second.is_some())
    {
        grid.row(cells(row));
    }
    text += &grid.render();
    text += "\n";
    for difference in &comparison.differences {
        text += &prose::wrapped("difference: ", difference);
    }
    text += &prose::wrapped("", &comparison.basis);
    if let Some(worse) = &comparison.worse {
        text += &prose::wrapped("", worse);
    }
    if let Some(why) = comparison
        .too_short
        .as_ref()
        .filter(|_| !comparison.regression)
    {
        text += &prose::wrapped("", why);
        text += "No verdict on B.\n";
    } else if comparison.regression {
        text += "B is a regression.\n";
    } else {
        text += "No regression shown.\n";
    }
    text
}

fn cells(row: &Row) -> Vec<String> {
    let median = |spread: Option<Spread>| {
        units::or_unknown(spread, |spread| figure(row.unit, spread.median))
    };
    let range = |spread: Option<Spread>| match spread {
        Some(Spread { range, .. }) => {
            let (least, most) = (figure(row.unit, range.least), figure(row.unit, range.most));
            if least == most {
                String::new()
            } else {
                range_of(row.unit, range.least, range.most)
            }
        }
        None => String::new(),
    };
    let ratio = row
        .first
        .zip(row.second)
        .filter(|(first, _)| first.median > 0.0);
    vec![
        row.name.to_owned(),
        median(row.first),
        range(row.first),
        median(row.second),
        range(row.second),
        units::or_unknown(ratio, |(first, second)| {
            units::times(second.median / first.median)
        }),
        row.verdict.words().to_owned(),
    ]
}

/// A rate says its unit once.
fn range_of(unit: Unit, least: f64, most: f64) -> String {
    match unit {
        Unit::PerSecond => units::rate_range(least, most),
        Unit::Nanoseconds | Unit::Plain => {
            format!("{} to {}", figure(unit, least), figure(unit, most))
        }
    }
}

fn figure(unit: Unit, value: f64) -> String {
    match unit {
        Unit::PerSecond => units::rate(value),
        Unit::Nanoseconds => units::span(value),
        Unit::Plain => units::figure(value),
    }
}
