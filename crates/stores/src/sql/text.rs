//! A statement builder: quoted names, placeholders, and the order of the parameters.

use super::dialect::{Dialect, Placeholder};
use syncline_contract::{ColumnId, Table};

/// The generator: a dialect, and the schema or database of the tables.
#[derive(Clone, Copy, Debug)]
pub struct Sql<'a> {
    /// The product's dialect.
    pub dialect: &'a Dialect,
    /// The schema before each table's name; `None` for the session's default schema.
    pub schema: Option<&'a str>,
}

/// A statement of a plan's operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its text.
    pub text: String,
    /// The plan's parameter, from 0, for each placeholder of the text in order. A dialect with numbers
    /// has the same information in the text.
    pub order: Vec<usize>,
}

impl Statement {
    /// True if the parameters can be passed in the plan's order, one for each placeholder.
    pub fn in_plan_order(&self) -> bool {
        self.order.iter().copied().eq(0..self.order.len())
    }
}

/// A statement under construction.
pub(super) struct Text<'a> {
    pub(super) sql: Sql<'a>,
    buffer: String,
    order: Vec<usize>,
}

impl<'a> Text<'a> {
    pub(super) fn new(sql: Sql<'a>) -> Text<'a> {
        Text { sql, buffer: String::new(), order: Vec::new() }
    }

    pub(super) fn done(self) -> Statement {
        Statement { text: self.buffer, order: self.order }
    }

    /// Appends a text unchanged.
    pub(super) fn push(&mut self, words: &str) {
        self.buffer.push_str(words);
    }

    /// Appends the placeholder of a parameter of the plan, by its number from 1.
    pub(super) fn parameter(&mut self, number: usize) {
        match self.sql.dialect.placeholder {
            Placeholder::Numbered(mark) => self.buffer.push_str(&format!("{mark}{number}")),
            Placeholder::Positional => self.buffer.push('?'),
        }
        self.order.push(number - 1);
    }

    /// Appends a quoted name.
    pub(super) fn name(&mut self, name: &str) {
        self.buffer.push_str(&self.sql.quoted(name));
    }

    /// Appends a table's name, with its schema.
    pub(super) fn table(&mut self, table: &Table) {
        self.buffer.push_str(&self.sql.table_name(table));
    }

    /// Appends the name of a column, after the alias of a join's side.
    pub(super) fn column(&mut self, table: &Table, column: ColumnId, alias: &str) {
        self.buffer.push_str(alias);
        self.name(&table.columns[column.0].name);
    }

    /// Appends names of columns.
    pub(super) fn columns(&mut self, table: &Table, columns: &[ColumnId]) {
        self.each(", ", columns, |text, column| {
            text.column(table, *column, "");
        });
    }

    /// Appends several items with a separator between them.
    pub(super) fn each<T>(
        &mut self,
        between: &str,
        all: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        for (position, one) in all.into_iter().enumerate() {
            if position > 0 {
                self.push(between);
            }
            write(self, one);
        }
    }
}

impl Sql<'_> {
    /// A quoted name, which cannot be a keyword.
    pub fn quoted(&self, name: &str) -> String {
        let quote = self.dialect.quote;
        format!("{quote}{name}{quote}")
    }

    /// The name of a table, quoted, after its schema.
    pub fn table_name(&self, table: &Table) -> String {
        let name = self.quoted(&table.name);
        match self.schema {
            Some(schema) => format!("{}.{name}", self.quoted(schema)),
            None => name,
        }
    }
}
