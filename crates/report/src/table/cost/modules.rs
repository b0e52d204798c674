//! The cost of a transaction by module: tables of times and of events, and how each figure was measured.

use super::super::grid::{Grid, Side};
use super::super::prose;
use crate::cost::{
    CostChoice, Figure, Heading, Sheet, SheetRow, accounts_in_words, cell_text, charging_in_words,
    sentences, title,
};
use syncline_record::{Cost, RunRecord};

/// The most columns of a table of costs, so that it fits a terminal of eighty columns.
const WIDEST: usize = 80;

/// The cost of a profiled run; a sentence if it was not profiled.
pub fn cost(run: &RunRecord, choice: &CostChoice) -> String {
    match &run.end.cost {
        Some(cost) => render(cost, choice),
        None if run.head.plan.looks_per_s.is_some() => prose::wrap(
            "  ",
            "the run was profiled but has no cost: the store's process is not known, or the run ended \
             before its measured phase",
        ),
        None => prose::wrap(
            "  ",
            "the run was not profiled: syncline run --meter shows where a store's time goes",
        ),
    }
}

fn render(cost: &Cost, choice: &CostChoice) -> String {
    let sheet = Sheet::of(cost, choice);
    let map = cost.map.as_deref().unwrap_or("none");
    let mut text = prose::heading("Cost of a transaction by module");
    text += &prose::wrap(
        "  ",
        &format!("{}; charged {}; map {map}", sheet.threads, charging_in_words(choice.view)),
    );
    for (about, columns) in blocks(&sheet) {
        text += "\n";
        text += &table(&sheet, about, &columns);
    }
    text += "\n";
    for sentence in sentences(cost, choice) {
        text += &prose::wrap("  ", &sentence);
    }
    text += &measurement_methods(cost);
    for warning in &cost.warnings {
        text += &prose::wrap("warning: ", warning);
    }
    text
}

/// The subject of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// Time on the processor.
    Processor,
    /// Elapsed time.
    Elapsed,
    /// Counts and amounts.
    Events,
}

impl Subject {
    fn of(heading: Heading) -> Subject {
        match heading {
            Heading::Metric("cpu_user" | "cpu_kernel") => Subject::Processor,
            Heading::Metric("off_cpu") | Heading::WallShare => Subject::Elapsed,
            Heading::Metric(_) => Subject::Events,
            _ => Subject::Processor,
        }
    }

    /// The title of its first column.
    fn title(self) -> &'static str {
        match self {
            Subject::Processor => "CPU, us per transaction",
            Subject::Elapsed => "wall clock, us per transaction",
            Subject::Events => "per transaction",
        }
    }
}

/// The columns of each table: one table per subject, and none wider than [`WIDEST`].
fn blocks(sheet: &Sheet) -> Vec<(Subject, Vec<usize>)> {
    let names = all_rows(sheet).map(|row| row.name.chars().count() + 2);
    let names = names.max().unwrap_or(0);
    let mut blocks: Vec<(Subject, Vec<usize>)> = Vec::new();
    let mut left = 0;
    for (column, heading) in sheet.headings.iter().enumerate() {
        let cells = all_rows(sheet).map(|row| cell_text(&row.cells[column]).chars().count());
        let width = cells.max().unwrap_or(0).max(title(*heading).len()) + 2;
        let about = Subject::of(*heading);
        match blocks.last_mut() {
            Some((same, block)) if *same == about && width <= left => block.push(column),
            _ => {
                blocks.push((about, vec![column]));
                left = WIDEST.saturating_sub(names.max(about.title().len()));
            }
        }
        left = left.saturating_sub(width);
    }
    if blocks.is_empty() {
        blocks.push((Subject::Events, Vec::new()));
    }
    blocks
}

fn all_rows(sheet: &Sheet) -> impl Iterator<Item = &SheetRow> {
    let ends = [&sheet.sum].into_iter().chain(&sheet.others);
    sheet.modules.iter().chain(ends).chain(&sheet.whole)
}

fn table(sheet: &Sheet, about: Subject, columns: &[usize]) -> String {
    let mut heads = vec![(about.title(), Side::Left)];
    let titles = columns.iter().map(|column| title(sheet.headings[*column]));
    heads.extend(titles.map(|title| (title, Side::Right)));
    let mut grid = Grid::new(&heads);
    let row = |row: &SheetRow| {
        let mut cells = vec![format!("  {}", row.name)];
        cells.extend(columns.iter().map(|column| cell_text(&row.cells[*column])));
        cells
    };
    for module in &sheet.modules {
        grid.row(row(module));
    }
    let any = |line: &SheetRow| {
        columns.iter().map(|column| &line.cells[*column]).any(|cell| !matches!(cell, Figure::None))
    };
    grid.row(row(&sheet.sum));
    for other in sheet.others.iter().chain(&sheet.whole) {
        if any(other) {
            grid.row(row(other));
        }
    }
    grid.render()
}

/// How each metric was measured.
fn measurement_methods(cost: &Cost) -> String {
    let mut text = prose::heading("Measurement methods");
    for sentence in accounts_in_words(cost) {
        text += &prose::wrap("  ", &sentence);
    }
    text
}
