//! The statements that create the plan's tables and indexes.

use super::Sql;
use super::text::Text;
use syncline_contract::{Column, ColumnId, Index, KeyGivenBy, Kind, Plan, Table};

impl Sql<'_> {
    /// The statements that create the plan's tables and indexes, in order. `after` returns the text
    /// after the closing parenthesis of a table, including a leading space, such as ` ENGINE=InnoDB`;
    /// usually empty.
    pub fn schema(&self, plan: &Plan, after: impl Fn(&Table) -> &'static str) -> Vec<String> {
        let mut statements = Vec::new();
        for table in plan.tables() {
            statements.push(self.create_table(table, after(table)));
            let indexes = table.indexes.iter();
            statements.extend(indexes.map(|index| self.create_index(table, index)));
        }
        statements
    }

    /// The column that is the whole key and uses [`Dialect::integer_key`].
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
        text.push("CREATE TABLE ");
        text.table(table);
        text.push(" (");
        text.each(", ", table.columns.iter().enumerate(), |text, (position, column)| {
            text.name(&column.name);
            text.push(" ");
            text.push(&self.column(table, ColumnId(position), column));
        });
        if !table.key.is_empty() && self.integer_key(table).is_none() {
            text.push(", PRIMARY KEY (");
            text.columns(table, &table.key);
            text.push(")");
        }
        text.push(")");
        text.push(after);
        text.done().text
    }

    /// The type and constraints of a column.
    fn column(&self, table: &Table, id: ColumnId, column: &Column) -> String {
        if let Some((key, words)) = self.integer_key(table)
            && key == id
        {
            return words.to_owned();
        }
        if table.key_given_by == KeyGivenBy::Server && table.key.contains(&id) {
            return self.dialect.generated_key.to_owned();
        }
        let null = if column.nullable { "" } else { " NOT NULL" };
        self.dialect.column_types.of(column) + null
    }

    fn create_index(&self, table: &Table, index: &Index) -> String {
        let mut text = Text::new(*self);
        text.push(if index.unique { "CREATE UNIQUE INDEX " } else { "CREATE INDEX " });
        text.name(&index.name);
        text.push(" ON ");
        text.table(table);
        text.push(" (");
        text.columns(table, &index.columns);
        text.push(")");
        text.done().text
    }
}
