//! The plan as SQLite's SQL text, from the common generator, and the choice of tables without rowid.
//!
//! A key of one integer column is the rowid in SQLite; other keys make a table WITHOUT ROWID, unless
//! its rows may exceed a twentieth of a page, where SQLite's manual advises against that.

use super::settings::Settings;
use crate::sql::{SQLITE, Sql};
use syncline_contract::{Action, Column, Kind, Plan, Table};

const SQL: Sql<'_> = Sql { dialect: &SQLITE, schema: None };

/// The statements that create the plan's tables and indexes.
pub(super) fn schema(plan: &Plan, settings: &Settings) -> Vec<String> {
    SQL.schema(plan, |table| {
        if without_row_numbers(table, settings.page_bytes) { " WITHOUT ROWID" } else { "" }
    })
}

/// The statement of an operation.
pub(super) fn statement(plan: &Plan, action: &Action) -> String {
    SQL.statement(plan, action).text
}

/// The statement that loads whole rows, including a generated key.
pub(super) fn load(table: &Table) -> String {
    SQL.load(table).text
}

fn without_row_numbers(table: &Table, page_bytes: u32) -> bool {
    let compound = !table.key.is_empty() && SQL.integer_key(table).is_none();
    let bytes = table.columns.iter().map(bytes_max).sum::<u64>();
    compound && bytes <= u64::from(page_bytes) / 20
}

fn bytes_max(column: &Column) -> u64 {
    match column.kind {
        Kind::Int | Kind::Float | Kind::Decimal { .. } | Kind::Timestamp => 8,
        Kind::Text | Kind::Bytes => column.bytes_max.map_or(u64::from(u32::MAX), u64::from),
    }
}

#[cfg(test)]
mod tests {
    use super::{Settings, schema, statement};
    use crate::sql::tests::{operations, stock};
    use syncline_contract::{
        Aggregate, By, IndexId, Int, Kind, Lock, Path, Plan, Range, Read, Table,
    };

    #[test]
    fn tables_use_the_best_representation_in_sqlite() {
        let mut plan = Plan::new();
        stock(&mut plan);
        plan.table(Table::new("wide").text("key", 10).text("rest", 500).key(&["key"]));
        plan.table(
            Table::new("plain").column("id", Kind::Int).column("f", Kind::Float).key(&["id"]),
        );
        plan.table(Table::new("log").column("at", Kind::Timestamp).bytes("what", 9));
        assert_eq!(
            schema(&plan, &Settings::default()),
            [
                "CREATE TABLE \"stock\" (\"w\" INTEGER NOT NULL, \"i\" INTEGER NOT NULL, \
                 \"quantity\" INTEGER NOT NULL, \"data\" VARCHAR(50), PRIMARY KEY (\"w\", \"i\")) \
                 WITHOUT ROWID",
                "CREATE UNIQUE INDEX \"stock_by_quantity\" ON \"stock\" (\"quantity\", \"i\")",
                "CREATE TABLE \"wide\" (\"key\" VARCHAR(10) NOT NULL, \"rest\" VARCHAR(500) NOT \
                 NULL, PRIMARY KEY (\"key\"))",
                "CREATE TABLE \"plain\" (\"id\" INTEGER PRIMARY KEY, \"f\" REAL NOT NULL)",
                "CREATE TABLE \"log\" (\"at\" INTEGER NOT NULL, \"what\" BLOB NOT NULL)",
            ]
        );
    }

    #[test]
    fn operations_become_one_statement_each() {
        let mut plan = Plan::new();
        let table = stock(&mut plan);
        operations(&mut plan, table, Lock::None);
        let i = plan.tables()[table.0].id("i");
        let path = Path { table, by: By::Index(IndexId(0)), equal: 0, range: Range::From };
        let _: Read<(Int,), (Int,)> = plan.aggregate("distinct", path, Aggregate::CountDistinct(i));
        let statements: Vec<_> =
            plan.operations().iter().map(|operation| statement(&plan, &operation.action)).collect();
        assert_eq!(
            statements,
            [
                "SELECT \"quantity\" FROM \"stock\" WHERE \"w\" = ?1 AND \"i\" = ?2",
                "UPDATE \"stock\" SET \"quantity\" = \"quantity\" + ?3, \"data\" = ?4 WHERE \
                 \"w\" = ?1 AND \"i\" = ?2",
                "SELECT \"i\" FROM \"stock\" WHERE \"w\" = ?1 AND \"i\" >= ?2 AND \"i\" <= ?3 \
                 ORDER BY \"w\" DESC, \"i\" DESC LIMIT ?4",
                "SELECT l.\"w\", r.\"i\" FROM \"stock\" AS l JOIN \"stock\" AS r ON l.\"i\" = \
                 r.\"quantity\" WHERE l.\"w\" = ?1",
                "SELECT count(DISTINCT \"i\") FROM \"stock\" WHERE \"quantity\" >= ?1",
            ]
        );
    }
}
