//! An aligned table: headings, a rule, rows, and lines of text between them.
//!
//! A table that is wider than its terminal is narrowed step by step until it fits: headings fold into several
//! lines, then columns that can be spared are left out and listed below the table, then columns move closer
//! together. Rows are not broken, since a line that the terminal breaks is hard to read.

use super::prose;
use super::width::{width, width_limit};
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use comfy_table::{ContentLineStyle, LineStyle, TableStyle};

const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('─').junction('─'));

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A table under construction.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    columns: Vec<(String, Side)>,
    lines: Vec<Line>,
    /// Headings of columns that may be left out, in that order.
    spare: Vec<String>,
    /// Blank columns after each cell.
    gap: u16,
}

#[derive(Clone, Debug)]
enum Line {
    Cells(Vec<String>),
    Text(String),
}

impl Grid {
    /// A table with these columns.
    pub(super) fn new(columns: &[(&str, Side)]) -> Grid {
        let named = |(name, side): &(&str, Side)| ((*name).to_owned(), *side);
        Grid {
            columns: columns.iter().map(named).collect(),
            lines: Vec::new(),
            spare: Vec::new(),
            gap: 1,
        }
    }

    /// Sets the columns that may be left out if not all fit, in that order.
    pub(super) fn optional_columns(mut self, headings: &[&str]) -> Grid {
        self.spare = headings.iter().map(|&heading| heading.to_owned()).collect();
        self
    }

    /// A row of cells, one per column.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "a row needs one cell per column");
        self.lines.push(Line::Cells(cells));
    }

    /// A line of text across the table.
    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.lines.push(Line::Text(text.into()));
    }

    /// True if it has no rows and no text.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Renders each row on one line.
    pub(super) fn render(&self) -> String {
        if self.widest_row() <= width_limit() {
            return self.render_lines();
        }
        let mut narrower = self.with_folded_headings();
        let mut left_out = Vec::new();
        for heading in &self.spare {
            if narrower.widest_row() <= width_limit() {
                break;
            }
            if narrower.leave_out(heading) {
                left_out.push(heading.as_str());
            }
        }
        if narrower.widest_row() > width_limit() {
            narrower.gap = 0;
        }
        let mut text = narrower.render_lines();
        if !left_out.is_empty() {
            let words = format!("{} (the terminal is narrow)", left_out.join(", "));
            text += &prose::wrap("left out: ", &words);
        }
        text
    }

    /// The width of the widest row.
    fn widest_row(&self) -> usize {
        let table = self.table(ContentArrangement::Disabled);
        table.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0)
    }

    /// The cells of a column.
    fn cells(&self, column: usize) -> impl Iterator<Item = &String> {
        self.lines.iter().filter_map(move |line| match line {
            Line::Cells(cells) => cells.get(column),
            Line::Text(_) => None,
        })
    }

    /// The table with headings no wider than their columns, except where a single word is.
    fn with_folded_headings(&self) -> Grid {
        let mut folded = self.clone();
        for (index, (heading, _)) in folded.columns.iter_mut().enumerate() {
            let content = self.cells(index).map(|cell| cell.chars().count()).max();
            *heading = fold(heading, content.unwrap_or(0));
        }
        folded
    }

    /// Removes a column; returns false if it does not exist.
    fn leave_out(&mut self, heading: &str) -> bool {
        let is_it = |(known, _): &(String, Side)| known.replace('\n', " ") == heading;
        let Some(index) = self.columns.iter().position(is_it) else {
            return false;
        };
        self.columns.remove(index);
        for line in &mut self.lines {
            if let Line::Cells(cells) = line {
                cells.remove(index);
            }
        }
        true
    }

    fn render_lines(&self) -> String {
        let table = self.table(ContentArrangement::Disabled);
        let mut drawn = table.lines();
        let heights = self.columns.iter().map(|(heading, _)| heading.lines().count());
        let heading = heights.max().unwrap_or(1).max(1);
        let mut lines: Vec<String> = drawn.by_ref().take(heading + 1).collect();
        for line in &self.lines {
            match line {
                Line::Cells(_) => lines.extend(drawn.next()),
                Line::Text(text) => lines.push(text.clone()),
            }
        }
        join(&lines)
    }

    /// Renders the table with long cells wrapped to the width; text between rows is not drawn.
    pub(super) fn render_wrapped(&self) -> String {
        let mut table = self.table(ContentArrangement::Dynamic);
        table.set_width(width() as u16);
        // Figures are not wrapped; words are.
        for (index, (_, side)) in self.columns.iter().enumerate() {
            if let (Side::Right, Some(column)) = (side, table.column_mut(index)) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
            if let (true, Some(column)) = (index == 0, table.column_mut(index)) {
                column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(44)));
            }
        }
        join(&table.lines().collect::<Vec<_>>())
    }

    fn table(&self, arrangement: ContentArrangement) -> Table {
        let mut table = Table::new();
        table.load_style(STYLE).set_content_arrangement(arrangement);
        let heading = |(name, side): &(String, Side)| aligned_cell(name, *side);
        table.set_header(self.columns.iter().map(heading).collect::<Vec<_>>());
        for line in &self.lines {
            if let Line::Cells(cells) = line {
                let cells = cells.iter().zip(&self.columns);
                table.add_row(
                    cells.map(|(cell, (_, side))| aligned_cell(cell, *side)).collect::<Vec<_>>(),
                );
            }
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, self.gap));
        }
        table
    }
}

/// A heading wrapped to the width of its content, or to its longest word.
fn fold(heading: &str, content: usize) -> String {
    let longest = heading.split(' ').map(|word| word.chars().count()).max();
    let most = content.max(longest.unwrap_or(0));
    let mut folded = String::new();
    let mut column = 0;
    for (index, word) in heading.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > most {
            folded.push('\n');
            column = 0;
        } else if index > 0 {
            folded.push(' ');
            column += 1;
        }
        folded.push_str(word);
        column += length;
    }
    folded
}

fn aligned_cell(text: &str, side: Side) -> Cell {
    Cell::new(text).set_alignment(match side {
        Side::Left => CellAlignment::Left,
        Side::Right => CellAlignment::Right,
    })
}

fn join(lines: &[String]) -> String {
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    trimmed.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::width::at_width;
    use super::{Grid, Side, fold};

    fn wide() -> Grid {
        let columns = [
            ("clients", Side::Right),
            ("a heading of words", Side::Right),
            ("range", Side::Right),
            ("limit", Side::Left),
        ];
        let mut grid = Grid::new(&columns).optional_columns(&["range"]);
        let cells = ["8", "9.12k/s", "8.94k to 9.39k/s of several", "nothing saturated at all"];
        grid.row(cells.map(str::to_owned).to_vec());
        grid
    }

    #[test]
    fn a_table_becomes_narrower_step_by_step() {
        let broadest = |text: &str| text.lines().map(|line| line.chars().count()).max();
        let natural = at_width(None, || wide().render());
        assert_eq!(natural.lines().count(), 3);
        assert!(broadest(&natural) > Some(75), "{natural}");
        let folded = at_width(Some(75), || wide().render());
        assert!(broadest(&folded) <= Some(75) && folded.contains("of several"), "{folded}");
        let spared = at_width(Some(60), || wide().render());
        assert!(broadest(&spared) <= Some(60) && !spared.contains("of several"), "{spared}");
        assert!(spared.contains("left out: range"), "{spared}");
    }

    #[test]
    fn headings_fold_at_words_and_no_narrower_than_their_cells() {
        assert_eq!(fold("ratio B/A", 5), "ratio\nB/A");
        assert_eq!(fold("a heading of words", 8), "a\nheading\nof words");
        assert_eq!(fold("p50", 1), "p50");
        assert_eq!(fold("per sync", 8), "per sync");
    }
}
