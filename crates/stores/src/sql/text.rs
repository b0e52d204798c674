//! A statement as it grows: quoted names, placeholders, and the order in which parameters come.

use super::dialect::{Dialect, Placeholder};
use syncline_contract::{ColumnId, Table};

/// The generator: a dialect, and the schema or database that the tables stand in.
#[derive(Clone, Copy, Debug)]
pub struct Sql<'a> {
    /// The product's dialect.
    pub dialect: &'a Dialect,
    /// What stands before each table's name; none for the session's own schema.
    pub schema: Option<&'a str>,
}

/// A statement of a plan's operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its text.
    pub text: String,
    /// For each placeholder of the text, in order, which of the plan's parameters it stands for, from
    /// 0. Of a dialect with numbers, the numbers say the same.
    pub order: Vec<usize>,
}

impl Statement {
    /// True if parameters may be given as the plan orders them, one a placeholder.
    pub fn in_plan_order(&self) -> bool {
        self.order.iter().copied().eq(0..self.order.len())
    }
}

/// The statement that is being written.
pub(super) struct Text<'a> {
    pub(super) sql: Sql<'a>,
    written: String,
    order: Vec<usize>,
}

impl<'a> Text<'a> {
    pub(super) fn new(sql: Sql<'a>) -> Text<'a> {
        Text { sql, written: String::new(), order: Vec::new() }
    }

    pub(super) fn done(self) -> Statement {
        Statement { text: self.written, order: self.order }
    }

    /// Words as they are.
    pub(super) fn say(&mut self, words: &str) {
        self.written.push_str(words);
    }

    /// The placeholder of a parameter of the plan, by its number from 1.
    pub(super) fn parameter(&mut self, number: usize) {
        match self.sql.dialect.placeholder {
            Placeholder::Numbered(mark) => self.written.push_str(&format!("{mark}{number}")),
            Placeholder::Positional => self.written.push('?'),
        }
        self.order.push(number - 1);
    }

    /// A quoted name.
    pub(super) fn name(&mut self, name: &str) {
        self.written.push_str(&self.sql.quoted(name));
    }

    /// A table's name, with its schema.
    pub(super) fn table(&mut self, table: &Table) {
        self.written.push_str(&self.sql.table_name(table));
    }

    /// The name of a column of a table, after the alias of a join's side.
    pub(super) fn column(&mut self, table: &Table, column: ColumnId, alias: &str) {
        self.written.push_str(alias);
        self.name(&table.columns[column.0].name);
    }

    /// Names of columns.
    pub(super) fn columns(&mut self, table: &Table, columns: &[ColumnId]) {
        self.each(", ", columns, |text, column| {
            text.column(table, *column, "");
        });
    }

    /// Writes each of some things, with words between them.
    pub(super) fn each<T>(
        &mut self,
        between: &str,
        all: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        for (position, one) in all.into_iter().enumerate() {
            if position > 0 {
                self.say(between);
            }
            write(self, one);
        }
    }
}

impl Sql<'_> {
    /// A name that no keyword can be mistaken for.
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
