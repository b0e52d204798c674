//! What makes the plan's tables and indexes.

use super::Sql;
use super::text::Text;
use syncline_contract::{Column, ColumnId, Index, KeyGivenBy, Kind, Plan, Table};

impl Sql<'_> {
    /// The statements that make the plan's tables and indexes, in order. `after` says what follows the
    /// closing bracket of a table, from a space on: ` ENGINE=InnoDB`; mostly nothing.
    pub fn schema(&self, plan: &Plan, after: impl Fn(&Table) -> &'static str) -> Vec<String> {
        let mut statements = Vec::new();
        for table in plan.tables() {
            statements.push(self.create_table(table, after(table)));
            let indexes = table.indexes.iter();
            statements.extend(indexes.map(|index| self.create_index(table, index)));
        }
        statements
    }

    /// The column that is the whole key and kept by a word of the product's own.
    pub(crate) fn integer_key(&self, table: &Table) -> Option<(ColumnId, &'static str)> {
        match table.key[..] {
            [only] if table.columns[only.0].kind == Kind::Int => {
                Some((only, self.dialect.integer_key?))
            }
            _ => None,
        }
    }

    fn create_table(&self, table: &Table, after: &str) -> String {
        let mut text = Text::new(*self);
        text.say("CREATE TABLE ");
        text.table(table);
        text.say(" (");
        text.each(", ", table.columns.iter().enumerate(), |text, (position, column)| {
            text.name(&column.name);
            text.say(" ");
            text.say(&self.column(table, ColumnId(position), column));
        });
        if !table.key.is_empty() && self.integer_key(table).is_none() {
            text.say(", PRIMARY KEY (");
            text.columns(table, &table.key);
            text.say(")");
        }
        text.say(")");
        text.say(after);
        text.done().text
    }

    /// Type and constraints of a column.
    fn column(&self, table: &Table, id: ColumnId, column: &Column) -> String {
        if let Some((key, words)) = self.integer_key(table)
            && key == id
        {
            return words.to_owned();
        }
        if table.key_given_by == KeyGivenBy::Server && table.key.contains(&id) {
            return self.dialect.counted_key.to_owned();
        }
        let null = if column.nullable { "" } else { " NOT NULL" };
        self.dialect.column_types.of(column) + null
    }

    fn create_index(&self, table: &Table, index: &Index) -> String {
        let mut text = Text::new(*self);
        text.say(if index.unique { "CREATE UNIQUE INDEX " } else { "CREATE INDEX " });
        text.name(&index.name);
        text.say(" ON ");
        text.table(table);
        text.say(" (");
        text.columns(table, &index.columns);
        text.say(")");
        text.done().text
    }
}
