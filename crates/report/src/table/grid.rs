//! An aligned table: headings, a rule, rows, and lines of text between them.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use comfy_table::{ContentLineStyle, LineStyle, TableStyle};

/// The width that every view tries to keep.
pub(super) const WIDTH: usize = 100;

const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('─').junction('─'));

/// How a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A table under construction.
#[derive(Debug)]
pub(super) struct Grid {
    columns: Vec<(String, Side)>,
    lines: Vec<Line>,
}

#[derive(Debug)]
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
        }
    }

    /// A row of cells, one a column.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
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

    /// Each row on one line, however long.
    pub(super) fn render(&self) -> String {
        let table = self.table(ContentArrangement::Disabled);
        let mut drawn = table.lines();
        let mut lines: Vec<String> = drawn.by_ref().take(2).collect();
        for line in &self.lines {
            match line {
                Line::Cells(_) => lines.extend(drawn.next()),
                Line::Text(text) => lines.push(text.clone()),
            }
        }
        joined(&lines)
    }

    /// Long cells wrapped so that the table keeps the width; no text between rows is drawn.
    pub(super) fn render_wrapped(&self) -> String {
        let mut table = self.table(ContentArrangement::Dynamic);
        table.set_width(WIDTH as u16);
        // Figures stay whole; words make room.
        for (index, (_, side)) in self.columns.iter().enumerate() {
            if let (Side::Right, Some(column)) = (side, table.column_mut(index)) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
            if let (true, Some(column)) = (index == 0, table.column_mut(index)) {
                column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(44)));
            }
        }
        joined(&table.lines().collect::<Vec<_>>())
    }

    fn table(&self, arrangement: ContentArrangement) -> Table {
        let mut table = Table::new();
        table.load_style(STYLE).set_content_arrangement(arrangement);
        let heading = |(name, side): &(String, Side)| aligned(name, *side);
        table.set_header(self.columns.iter().map(heading).collect::<Vec<_>>());
        for line in &self.lines {
            if let Line::Cells(cells) = line {
                let cells = cells.iter().zip(&self.columns);
                table.add_row(
                    cells
                        .map(|(cell, (_, side))| aligned(cell, *side))
                        .collect::<Vec<_>>(),
                );
            }
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 1));
        }
        table
    }
}

fn aligned(text: &str, side: Side) -> Cell {
    Cell::new(text).set_alignment(match side {
        Side::Left => CellAlignment::Left,
        Side::Right => CellAlignment::Right,
    })
}

fn joined(lines: &[String]) -> String {
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    trimmed.join("\n") + "\n"
}
