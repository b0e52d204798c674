//! The functions with the highest cost, from the stacks next to a record.

use super::super::grid::{Grid, Side};
use super::super::prose;
use super::super::width::width_limit;
use crate::Result;
use crate::cost::{CostChoice, FunctionRow, Functions, FunctionsBy, functions, words};
use std::collections::BTreeMap;
use syncline_profile::Module;
use syncline_profile::{Metric, Quantity};
use syncline_record::units;
use syncline_record::{RunRecord, Stacks};

/// Names are not cut below this length, however narrow the terminal is.
const NAME_LEAST: usize = 24;
/// Blank columns between two columns of the table, and before the first.
const GAP: usize = 2;

/// The table of the first `top` functions. Fails if the choice of threads is not a valid pattern.
pub fn functions_of(
    run: &RunRecord,
    stacks: &Stacks,
    by: FunctionsBy,
    choice: &CostChoice,
    top: usize,
) -> Result<String> {
    let found = functions(stacks, by, choice.view, &choice.threads)?;
    let commits = run.end.cost.as_ref().map_or(0, |cost| cost.commits);
    let mut text = prose::heading(&format!("{}: functions by {}", run.title(), heading(by)));
    if found.rows.is_empty() {
        return Ok(text
            + &prose::wrap(
                "  ",
                "no samples: the view of the run lists how each metric was measured, or why not",
            ));
    }
    text += "\n";
    text += &table(&found, by, commits, top);
    let rest = found.rows.len().saturating_sub(top);
    if rest > 0 {
        text += &prose::wrap("  ", &format!("{rest} more functions; --top shows more"));
    }
    let metrics: Vec<&str> = found.metrics.iter().map(|one| words(one.name())).collect();
    let alone = if by == FunctionsBy::Cpu && metrics.len() == 1 {
        " alone (the other kind is not known)"
    } else {
        ""
    };
    text += &prose::wrap(
        "  ",
        &format!(
            "%: of all {}{alone} of these threads; total: with all that a function calls; the module is the one \
             that it was charged to",
            metrics.join(" and ")
        ),
    );
    Ok(text)
}

fn heading(by: FunctionsBy) -> &'static str {
    match by {
        FunctionsBy::Cpu => "processor time",
        FunctionsBy::WaitTime => "time off the processor",
        FunctionsBy::WaitCount => "how often they waited",
    }
}

fn table(found: &Functions, by: FunctionsBy, commits: u64, top: usize) -> String {
    let time = found.metrics.iter().all(|metric| metric.quantity() == Quantity::Time);
    let each = |amount: u64| {
        let amount = if time { amount as f64 / 1e3 } else { amount as f64 };
        units::or_unknown((commits > 0).then(|| amount / commits as f64), units::figure)
    };
    let kind = |metric: Metric, amount: u64| {
        if found.metrics.contains(&metric) { each(amount) } else { "-".to_owned() }
    };
    let part = |amount: u64| {
        let share = (found.all > 0).then(|| amount as f64 / found.all as f64);
        units::or_unknown(share, units::percent).replace(" %", "")
    };
    let first = if time { "us per transaction" } else { "per transaction" };
    let cpu = by == FunctionsBy::Cpu;
    let own_object = main_object(found);
    let figures = |row: &FunctionRow| {
        let mut cells = Vec::new();
        let own = row.own.0 + row.own.1;
        if cpu {
            cells.extend([kind(Metric::CpuUser, row.own.0), kind(Metric::CpuKernel, row.own.1)]);
            cells.push(part(own));
            cells.push(each(row.with_callees));
        } else {
            cells.extend([each(own), part(own)]);
        }
        cells.extend([
            units::count(row.count as f64),
            row.module.map_or("unknown", Module::heading).to_owned(),
        ]);
        cells
    };
    let mut columns = vec![(first, Side::Left)];
    if cpu {
        columns.extend([
            ("user", Side::Right),
            ("kernel", Side::Right),
            ("%", Side::Right),
            ("total", Side::Right),
        ]);
    } else {
        columns.extend([("own", Side::Right), ("%", Side::Right)]);
    }
    columns.extend([(if cpu { "samples" } else { "events" }, Side::Right), ("module", Side::Left)]);
    let figures: Vec<Vec<String>> = found.rows.iter().take(top).map(figures).collect();
    let longest = name_width(&columns, &figures);
    let mut grid = Grid::new(&columns);
    for (row, figures) in found.rows.iter().zip(figures) {
        let mut cells = vec![format!("  {}", name_of(row, &own_object, longest))];
        cells.extend(figures);
        grid.row(cells);
    }
    grid.render()
}

/// The columns that the figures leave for names; in a file or a pipe names are not cut.
fn name_width(columns: &[(&str, Side)], figures: &[Vec<String>]) -> usize {
    let widths = columns.iter().skip(1).enumerate().map(|(index, (heading, _))| {
        let cells = figures.iter().map(|row| row[index].chars().count());
        cells.max().unwrap_or(0).max(heading.chars().count()) + GAP
    });
    width_limit().saturating_sub(widths.sum::<usize>() + GAP).max(NAME_LEAST)
}

/// The object with the highest cost: the store's own program or library.
fn main_object(found: &Functions) -> String {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &found.rows {
        *sums.entry(&row.object).or_default() += row.own.0 + row.own.1;
    }
    let most = sums.into_iter().max_by_key(|(_, sum)| *sum);
    most.map_or_else(String::new, |(object, _)| object.to_owned())
}

/// The function, with its object if that is not the main one.
fn name_of(row: &FunctionRow, own_object: &str, longest: usize) -> String {
    if row.object == own_object || row.object.is_empty() {
        return shorten(&row.function, longest);
    }
    let object = format!(" ({})", row.object);
    let room = longest.saturating_sub(object.chars().count()).max(12);
    shorten(&row.function, room) + &object
}

/// Cuts a name with a path at its beginning, any other name at its end.
fn shorten(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let kept = most - 2;
    if text.contains("::") || text.contains('.') {
        let tail: String = text.chars().skip(length - kept).collect();
        format!("..{tail}")
    } else {
        let head: String = text.chars().take(kept).collect();
        head + ".."
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::at_width;
    use super::{NAME_LEAST, Side, name_width};

    // 2.7 of the users' page: names were cut at 40 characters in a terminal of 200
    #[test]
    fn names_have_the_columns_that_the_figures_leave() {
        let columns = [("us", Side::Left), ("user", Side::Right), ("module", Side::Left)];
        let figures = [vec!["12.5".to_owned(), "lock manager".to_owned()]];
        let of =
            |columns_of_terminal| at_width(columns_of_terminal, || name_width(&columns, &figures));
        // 4 and 12 characters, a gap before each, and the gap before the name.
        assert_eq!(of(Some(100)), 100 - 4 - 12 - 3 * 2);
        assert_eq!(of(Some(200)), 200 - 22);
        assert!(of(None) > 10_000, "a pipe cuts nothing");
        assert!(of(Some(20)) >= NAME_LEAST);
    }
}
