//! The plan as SQL text: tables, and one statement an operation.
//!
//! Parameters are numbered as the plan documents them. Decimals and timestamps are integers. A key of
//! one integer column is the row's own number in SQLite; other keys make a table without row numbers,
//! unless its rows may exceed a twentieth of a page, where SQLite's manual advises against that.

use super::settings::Settings;
use syncline_contract::{
    Action, Aggregate, Column, ColumnId, Kind, Limit, Order, Path, Plan, Range, Set, Side, Table,
    TableId,
};

/// The statements that make the plan's tables and indexes.
pub(super) fn schema(plan: &Plan, settings: &Settings) -> Vec<String> {
    let mut statements = Vec::new();
    for table in plan.tables() {
        statements.push(create_table(table, settings.page_bytes));
        for index in &table.indexes {
            let unique = if index.unique { "UNIQUE " } else { "" };
            let columns = names(table, &index.columns);
            let (name, of) = (quoted(&index.name), quoted(&table.name));
            statements.push(format!("CREATE {unique}INDEX {name} ON {of} ({columns})"));
        }
    }
    statements
}

/// The statement of an operation.
pub(super) fn statement(plan: &Plan, action: &Action) -> String {
    let table = |id: &TableId| &plan.tables()[id.0];
    match action {
        Action::Get {
            table: id, columns, ..
        } => {
            let (columns, of) = (names(table(id), columns), quoted(&table(id).name));
            format!(
                "SELECT {columns} FROM {of} WHERE {}",
                equal(table(id), &table(id).key, "")
            )
        }
        Action::Scan {
            path,
            order,
            limit,
            columns,
            ..
        } => {
            let columns = names(table(&path.table), columns);
            let from = walk(plan, path, "");
            let order = ordered(plan, path, *order);
            let limit = match limit {
                Limit::None => String::new(),
                Limit::Fixed(rows) => format!(" LIMIT {rows}"),
                Limit::Asked => format!(" LIMIT ?{}", plan.parameters(action).len()),
            };
            format!("SELECT {columns} FROM {from}{order}{limit}")
        }
        Action::Join {
            path,
            right,
            on,
            columns,
        } => join(plan, path, *right, on, columns),
        Action::Sorted {
            path,
            column,
            distinct,
        } => {
            let distinct = if *distinct { "DISTINCT " } else { "" };
            let column = names(table(&path.table), &[*column]);
            let from = walk(plan, path, "");
            format!("SELECT {distinct}{column} FROM {from} ORDER BY {column}")
        }
        Action::Aggregate { path, function } => {
            let (of, from) = (table(&path.table), walk(plan, path, ""));
            format!("SELECT {} FROM {from}", aggregate(of, *function))
        }
        Action::Insert { table: id } => insert(table(id), &table(id).inserted()),
        Action::Put { table: id } => put(table(id)),
        Action::Update { table: id, sets } | Action::Change { table: id, sets } => {
            update(table(id), sets)
        }
        Action::Delete { table: id } | Action::Remove { table: id } => {
            let of = quoted(&table(id).name);
            format!(
                "DELETE FROM {of} WHERE {}",
                equal(table(id), &table(id).key, "")
            )
        }
        Action::Statement { text, .. } => text.clone(),
    }
}

/// The statement that loads whole rows, a key given by the server included.
pub(super) fn load(table: &Table) -> String {
    let all: Vec<_> = (0..table.columns.len()).map(ColumnId).collect();
    insert(table, &all)
}

fn create_table(table: &Table, page_bytes: u32) -> String {
    let row_number = row_number(table);
    let columns = table.columns.iter().enumerate().map(|(position, column)| {
        let (name, kind) = (quoted(&column.name), sql_type(column));
        let null = if column.nullable { "" } else { " NOT NULL" };
        if row_number == Some(ColumnId(position)) {
            format!("{name} INTEGER PRIMARY KEY")
        } else {
            format!("{name} {kind}{null}")
        }
    });
    let mut parts: Vec<_> = columns.collect();
    let compound = !table.key.is_empty() && row_number.is_none();
    if compound {
        parts.push(format!("PRIMARY KEY ({})", names(table, &table.key)));
    }
    let small = table.columns.iter().map(bytes_max).sum::<u64>() <= u64::from(page_bytes) / 20;
    let without = if compound && small {
        " WITHOUT ROWID"
    } else {
        ""
    };
    format!(
        "CREATE TABLE {} ({}){without}",
        quoted(&table.name),
        parts.join(", ")
    )
}

/// The column that SQLite keeps as the row's number.
fn row_number(table: &Table) -> Option<ColumnId> {
    match table.key[..] {
        [only] if table.columns[only.0].kind == Kind::Int => Some(only),
        _ => None,
    }
}

fn sql_type(column: &Column) -> String {
    match (column.kind, column.bytes_max) {
        (Kind::Int | Kind::Decimal { .. } | Kind::Timestamp, _) => "INTEGER".to_owned(),
        (Kind::Float, _) => "REAL".to_owned(),
        (Kind::Text, Some(bytes)) => format!("VARCHAR({bytes})"),
        (Kind::Text, None) => "TEXT".to_owned(),
        (Kind::Bytes, _) => "BLOB".to_owned(),
    }
}

fn bytes_max(column: &Column) -> u64 {
    match column.kind {
        Kind::Int | Kind::Float | Kind::Decimal { .. } | Kind::Timestamp => 8,
        Kind::Text | Kind::Bytes => column.bytes_max.map_or(u64::from(u32::MAX), u64::from),
    }
}

fn insert(table: &Table, columns: &[ColumnId]) -> String {
    let of = quoted(&table.name);
    if columns.is_empty() {
        return format!("INSERT INTO {of} DEFAULT VALUES");
    }
    let values: Vec<_> = (1..=columns.len())
        .map(|number| format!("?{number}"))
        .collect();
    format!(
        "INSERT INTO {of} ({}) VALUES ({})",
        names(table, columns),
        values.join(", ")
    )
}

/// An upsert: unlike REPLACE it deletes no row that shares another unique key.
fn put(table: &Table) -> String {
    let all = table.inserted();
    let rest = all.iter().filter(|column| !table.key.contains(column));
    let sets = rest.map(|column| {
        let name = quoted(&table.columns[column.0].name);
        format!("{name} = excluded.{name}")
    });
    let sets: Vec<_> = sets.collect();
    let (insert, key) = (insert(table, &all), names(table, &table.key));
    if sets.is_empty() {
        format!("{insert} ON CONFLICT ({key}) DO NOTHING")
    } else {
        format!(
            "{insert} ON CONFLICT ({key}) DO UPDATE SET {}",
            sets.join(", ")
        )
    }
}

fn update(table: &Table, sets: &[(ColumnId, Set)]) -> String {
    let sets = sets.iter().enumerate().map(|(position, (column, set))| {
        let name = quoted(&table.columns[column.0].name);
        let number = table.key.len() + position + 1;
        match set {
            Set::To => format!("{name} = ?{number}"),
            Set::Add => format!("{name} = {name} + ?{number}"),
        }
    });
    let sets: Vec<_> = sets.collect();
    let key = equal(table, &table.key, "");
    format!(
        "UPDATE {} SET {} WHERE {key}",
        quoted(&table.name),
        sets.join(", ")
    )
}

fn join(
    plan: &Plan,
    path: &Path,
    right: TableId,
    on: &[(ColumnId, ColumnId)],
    columns: &[(Side, ColumnId)],
) -> String {
    let (left_table, right_table) = (&plan.tables()[path.table.0], &plan.tables()[right.0]);
    let column = |table: &Table, id: ColumnId| quoted(&table.columns[id.0].name);
    let columns = columns.iter().map(|(side, id)| match side {
        Side::Left => format!("l.{}", column(left_table, *id)),
        Side::Right => format!("r.{}", column(right_table, *id)),
    });
    let on = on.iter().map(|(left, right)| {
        format!(
            "l.{} = r.{}",
            column(left_table, *left),
            column(right_table, *right)
        )
    });
    let (columns, on) = (columns.collect::<Vec<_>>(), on.collect::<Vec<_>>());
    let conditions = conditions(plan, path, "l.");
    format!(
        "SELECT {} FROM {} AS l JOIN {} AS r ON {}{}",
        columns.join(", "),
        quoted(&left_table.name),
        quoted(&right_table.name),
        if on.is_empty() {
            "1".to_owned()
        } else {
            on.join(" AND ")
        },
        conditions,
    )
}

fn aggregate(table: &Table, function: Aggregate) -> String {
    let column = |id: ColumnId| quoted(&table.columns[id.0].name);
    match function {
        Aggregate::Count => "count(*)".to_owned(),
        Aggregate::CountDistinct(id) => format!("count(DISTINCT {})", column(id)),
        Aggregate::Sum(id) => format!("sum({})", column(id)),
        Aggregate::Min(id) => format!("min({})", column(id)),
        Aggregate::Max(id) => format!("max({})", column(id)),
    }
}

/// The table of a path and its conditions.
fn walk(plan: &Plan, path: &Path, prefix: &str) -> String {
    let of = quoted(&plan.tables()[path.table.0].name);
    format!("{of}{}", conditions(plan, path, prefix))
}

fn conditions(plan: &Plan, path: &Path, prefix: &str) -> String {
    let table = &plan.tables()[path.table.0];
    let columns = plan.path_columns(path);
    let mut parts = Vec::new();
    if path.equal > 0 {
        parts.push(equal(table, &columns[..path.equal], prefix));
    }
    let ranged = |compares: &str, number: usize| {
        let name = quoted(&table.columns[columns[path.equal].0].name);
        format!("{prefix}{name} {compares} ?{number}")
    };
    match path.range {
        Range::All => {}
        Range::From => parts.push(ranged(">=", path.equal + 1)),
        Range::Between => {
            parts.push(ranged(">=", path.equal + 1));
            parts.push(ranged("<=", path.equal + 2));
        }
    }
    if parts.is_empty() {
        String::new()
    } else {
        format!(" WHERE {}", parts.join(" AND "))
    }
}

/// That columns equal the first parameters.
fn equal(table: &Table, columns: &[ColumnId], prefix: &str) -> String {
    let parts = columns.iter().enumerate().map(|(position, column)| {
        let name = quoted(&table.columns[column.0].name);
        format!("{prefix}{name} = ?{}", position + 1)
    });
    parts.collect::<Vec<_>>().join(" AND ")
}

fn ordered(plan: &Plan, path: &Path, order: Order) -> String {
    let table = &plan.tables()[path.table.0];
    let direction = match order {
        Order::Ascending => "",
        Order::Descending => " DESC",
    };
    let columns = plan.path_columns(path).iter();
    let parts: Vec<_> = columns
        .map(|column| format!("{}{direction}", quoted(&table.columns[column.0].name)))
        .collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!(" ORDER BY {}", parts.join(", "))
    }
}

fn names(table: &Table, columns: &[ColumnId]) -> String {
    let parts = columns
        .iter()
        .map(|column| quoted(&table.columns[column.0].name));
    parts.collect::<Vec<_>>().join(", ")
}

/// A name that no keyword of SQLite's can be mistaken for.
fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

#[cfg(test)]
mod tests {
    use super::{Settings, schema, statement};
    use syncline_contract::{
        Aggregate, By, Int, Kind, Limit, Lock, Nullable, Order, Path, Plan, Range, Read, Scan, Set,
        Side, Table, TableId, Text, Write,
    };

    fn stock(plan: &mut Plan) -> TableId {
        plan.table(
            Table::new("stock")
                .column("w", Kind::Int)
                .column("i", Kind::Int)
                .column("quantity", Kind::Int)
                .text("data", 50)
                .nullable()
                .key(&["w", "i"])
                .index("stock_by_quantity", &["quantity", "i"], true),
        )
    }

    fn path(table: TableId, by: By, equal: usize, range: Range) -> Path {
        Path {
            table,
            by,
            equal,
            range,
        }
    }

    #[test]
    fn tables_become_what_sqlite_keeps_best() {
        let mut plan = Plan::new();
        stock(&mut plan);
        plan.table(
            Table::new("wide")
                .text("key", 10)
                .text("rest", 500)
                .key(&["key"]),
        );
        plan.table(
            Table::new("plain")
                .column("id", Kind::Int)
                .column("f", Kind::Float)
                .key(&["id"]),
        );
        plan.table(
            Table::new("log")
                .column("at", Kind::Timestamp)
                .bytes("what", 9),
        );
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
        let _: Read<(Int, Int), (Int,)> = plan.get("get", table, &["quantity"], Lock::Update);
        let _: Write<(Int, Int, Int, Nullable<Text>)> = plan.update(
            "update",
            table,
            &[("quantity", Set::Add), ("data", Set::To)],
        );
        let _: Read<(Int, Int, Int, Int), (Int,)> = plan.scan(
            "scan",
            Scan {
                path: path(table, By::Key, 1, Range::Between),
                order: Order::Descending,
                limit: Limit::Asked,
                columns: &["i"],
                lock: Lock::None,
            },
        );
        let _: Read<(Int,), (Int, Int)> = plan.join(
            "join",
            path(table, By::Key, 1, Range::All),
            table,
            &[("i", "quantity")],
            &[(Side::Left, "w"), (Side::Right, "i")],
        );
        let i = plan.tables()[table.0].id("i");
        let _: Read<(Int,), (Int,)> = plan.aggregate(
            "distinct",
            path(
                table,
                By::Index(syncline_contract::IndexId(0)),
                0,
                Range::From,
            ),
            Aggregate::CountDistinct(i),
        );
        let statements: Vec<_> = plan
            .operations()
            .iter()
            .map(|operation| statement(&plan, &operation.action))
            .collect();
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
