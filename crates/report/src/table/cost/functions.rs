//! The functions that used up most, from the stacks beside a record.

use super::super::grid::{Grid, Side};
use super::super::prose;
use crate::Result;
use crate::cost::{CostChoice, FunctionRow, Functions, FunctionsBy, functions, words};
use crate::record::{RunRecord, Stacks};
use crate::units;
use std::collections::BTreeMap;
use syncline_metering::Module;
use syncline_profile::{Metric, Quantity};

/// Longer names are cut.
const LONGEST: usize = 40;

/// The table, of the first `top` functions. Fails if the threads are no pattern.
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
            + &prose::wrapped(
                "  ",
                "nothing was seen: the view of the run says how each metric was taken, or why not",
            ));
    }
    text += "\n";
    text += &table(&found, by, commits, top);
    let rest = found.rows.len().saturating_sub(top);
    if rest > 0 {
        text += &prose::wrapped("  ", &format!("{rest} more functions; --top shows more"));
    }
    let metrics: Vec<&str> = found.metrics.iter().map(|one| words(one.name())).collect();
    let alone = if by == FunctionsBy::Cpu && metrics.len() == 1 {
        " alone, the other kind is not known,"
    } else {
        ""
    };
    text += &prose::wrapped(
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
    let time = found
        .metrics
        .iter()
        .all(|metric| metric.quantity() == Quantity::Time);
    let each = |amount: u64| {
        let amount = if time {
            amount as f64 / 1e3
        } else {
            amount as f64
        };
        units::or_unknown(
            (commits > 0).then(|| amount / commits as f64),
            units::figure,
        )
    };
    let kind = |metric: Metric, amount: u64| {
        if found.metrics.contains(&metric) {
            each(amount)
        } else {
            "-".to_owned()
        }
    };
    let part = |amount: u64| {
        let share = (found.all > 0).then(|| amount as f64 / found.all as f64);
        units::or_unknown(share, units::percent).replace(" %", "")
    };
    let first = if time {
        "us a transaction"
    } else {
        "a transaction"
    };
    let cpu = by == FunctionsBy::Cpu;
    let own_object = main_object(found);
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
    columns.extend([
        (if cpu { "looks" } else { "events" }, Side::Right),
        ("module", Side::Left),
    ]);
    let mut grid = Grid::new(&columns);
    for row in found.rows.iter().take(top) {
        let mut cells = vec![format!("  {}", name_of(row, &own_object))];
        let own = row.own.0 + row.own.1;
        if cpu {
            cells.extend([
                kind(Metric::CpuUser, row.own.0),
                kind(Metric::CpuKernel, row.own.1),
            ]);
            cells.push(part(own));
            cells.push(each(row.with_callees));
        } else {
            cells.extend([each(own), part(own)]);
        }
        cells.extend([
            units::count(row.count as f64),
            row.module.map_or("unknown", Module::heading).to_owned(),
        ]);
        grid.row(cells);
    }
    grid.render()
}

/// The object that most was spent in: the store's own program or library.
fn main_object(found: &Functions) -> String {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &found.rows {
        *sums.entry(&row.object).or_default() += row.own.0 + row.own.1;
    }
    let most = sums.into_iter().max_by_key(|(_, sum)| *sum);
    most.map_or_else(String::new, |(object, _)| object.to_owned())
}

/// The function, with its object where that is another than most are of.
fn name_of(row: &FunctionRow, own_object: &str) -> String {
    if row.object == own_object || row.object.is_empty() {
        return shortened(&row.function, LONGEST);
    }
    let object = format!(" ({})", row.object);
    let room = LONGEST.saturating_sub(object.chars().count()).max(12);
    shortened(&row.function, room) + &object
}

/// Of a name with a path the end tells most, of others the beginning.
fn shortened(text: &str, most: usize) -> String {
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
