//! Tests of the SQL that each dialect generates for the same plan.

use super::{Dialect, MYSQL, POSTGRES, SQLITE, Sql};
use syncline_contract::{
    Action, Aggregate, By, Int, Kind, Limit, Lock, Nullable, Order, Path, Plan, Range, Read, Scan,
    Set, Side, Table, TableId, Text, Write,
};

/// Declares a table with a compound key, a nullable column and a unique index.
pub(crate) fn stock(plan: &mut Plan) -> TableId {
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
    Path { table, by, equal, range }
}

/// Declares one operation of each of four kinds; the scan locks its rows as `lock` says.
pub(crate) fn operations(plan: &mut Plan, table: TableId, lock: Lock) {
    let _: Read<(Int, Int), (Int,)> = plan.get("get", table, &["quantity"], Lock::Update);
    let _: Write<(Int, Int, Int, Nullable<Text>)> =
        plan.update("update", table, &[("quantity", Set::Add), ("data", Set::To)]);
    let _: Read<(Int, Int, Int, Int), (Int,)> = plan.scan(
        "scan",
        Scan {
            path: path(table, By::Key, 1, Range::Between),
            order: Order::Descending,
            limit: Limit::Parameter,
            columns: &["i"],
            lock,
        },
    );
    let _: Read<(Int,), (Int, Int)> = plan.join(
        "join",
        path(table, By::Key, 1, Range::All),
        table,
        &[("i", "quantity")],
        &[(Side::Left, "w"), (Side::Right, "i")],
    );
}

fn plan() -> Plan {
    let mut plan = Plan::new();
    let table = stock(&mut plan);
    operations(&mut plan, table, Lock::Update);
    let quantity = plan.tables()[table.0].id("quantity");
    let index = By::Index(syncline_contract::IndexId(0));
    let _: Read<(Int,), (Nullable<Int>,)> =
        plan.aggregate("sum", path(table, index, 0, Range::From), Aggregate::Sum(quantity));
    let _: Write<(Int, Int, Int, Nullable<Text>)> = plan.put("put", table);
    plan
}

fn statements(dialect: &Dialect, schema: Option<&str>) -> Vec<String> {
    let plan = plan();
    let sql = Sql { dialect, schema };
    let operations = plan.operations().iter();
    operations.map(|operation| sql.statement(&plan, &operation.action).text).collect()
}

#[test]
fn sqlite_numbers_its_question_marks_and_locks_no_rows() {
    assert_eq!(
        statements(&SQLITE, None),
        [
            "SELECT \"quantity\" FROM \"stock\" WHERE \"w\" = ?1 AND \"i\" = ?2",
            "UPDATE \"stock\" SET \"quantity\" = \"quantity\" + ?3, \"data\" = ?4 WHERE \
             \"w\" = ?1 AND \"i\" = ?2",
            "SELECT \"i\" FROM \"stock\" WHERE \"w\" = ?1 AND \"i\" >= ?2 AND \"i\" <= ?3 \
             ORDER BY \"w\" DESC, \"i\" DESC LIMIT ?4",
            "SELECT l.\"w\", r.\"i\" FROM \"stock\" AS l JOIN \"stock\" AS r ON l.\"i\" = \
             r.\"quantity\" WHERE l.\"w\" = ?1",
            "SELECT sum(\"quantity\") FROM \"stock\" WHERE \"quantity\" >= ?1",
            "INSERT INTO \"stock\" (\"w\", \"i\", \"quantity\", \"data\") VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (\"w\", \"i\") DO UPDATE SET \"quantity\" = excluded.\"quantity\", \
             \"data\" = excluded.\"data\"",
        ]
    );
}

#[test]
fn postgresql_names_its_schema_and_locks_rows() {
    let texts = statements(&POSTGRES, Some("syncline_1"));
    assert_eq!(
        texts[0],
        "SELECT \"quantity\" FROM \"syncline_1\".\"stock\" WHERE \"w\" = $1 AND \"i\" = $2 FOR UPDATE"
    );
    assert!(texts[2].ends_with("LIMIT $4 FOR UPDATE"), "{}", texts[2]);
    assert!(texts[4].starts_with("SELECT sum(\"quantity\")::bigint FROM"), "{}", texts[4]);
}

#[test]
fn mysql_gets_parameters_in_the_order_of_the_text() {
    let plan = plan();
    let sql = Sql { dialect: &MYSQL, schema: Some("syncline_1") };
    let of = |name: &str| {
        let operations = plan.operations().iter();
        let found = operations.clone().find(|operation| operation.name == name);
        sql.statement(&plan, &found.unwrap().action)
    };
    let update = of("update");
    assert_eq!(
        update.text,
        "UPDATE `syncline_1`.`stock` SET `quantity` = `quantity` + ?, `data` = ? WHERE `w` = ? \
         AND `i` = ?"
    );
    assert_eq!(update.order, [2, 3, 0, 1]);
    assert!(!update.in_plan_order());
    assert!(of("get").in_plan_order());
    assert!(
        of("put").text.ends_with(
            " ON DUPLICATE KEY UPDATE `quantity` = VALUES(`quantity`), `data` = VALUES(`data`)"
        ),
        "{}",
        of("put").text
    );
}

#[test]
fn a_generated_key_is_declared_in_each_dialect() {
    let mut plan = Plan::new();
    plan.table(Table::new("log").column("id", Kind::Int).bytes("what", 9).key_by_server("id"));
    let made = |dialect| {
        let sql = Sql { dialect, schema: None };
        sql.schema(&plan, |_| "").remove(0)
    };
    assert_eq!(
        made(&SQLITE),
        "CREATE TABLE \"log\" (\"id\" INTEGER PRIMARY KEY, \"what\" BLOB NOT NULL)"
    );
    assert_eq!(
        made(&POSTGRES),
        "CREATE TABLE \"log\" (\"id\" bigint GENERATED BY DEFAULT AS IDENTITY, \"what\" bytea NOT \
         NULL, PRIMARY KEY (\"id\"))"
    );
    assert_eq!(
        made(&MYSQL),
        "CREATE TABLE `log` (`id` BIGINT NOT NULL AUTO_INCREMENT, `what` VARBINARY(9) NOT NULL, \
         PRIMARY KEY (`id`))"
    );
}

#[test]
fn a_row_with_only_a_key_can_be_put_and_an_empty_one_inserted() {
    let mut plan = Plan::new();
    let keys = plan.table(Table::new("keys").column("k", Kind::Int).key(&["k"]));
    let counted = plan.table(Table::new("counted").column("k", Kind::Int).key_by_server("k"));
    let texts = |dialect, action| {
        let sql = Sql { dialect, schema: None };
        sql.statement(&plan, &action).text
    };
    let put = Action::Put { table: keys };
    assert!(texts(&SQLITE, put.clone()).ends_with("ON CONFLICT (\"k\") DO NOTHING"));
    assert!(texts(&MYSQL, put).ends_with("ON DUPLICATE KEY UPDATE `k` = VALUES(`k`)"));
    let insert = Action::Insert { table: counted };
    assert_eq!(texts(&POSTGRES, insert.clone()), "INSERT INTO \"counted\" DEFAULT VALUES");
    assert_eq!(texts(&MYSQL, insert), "INSERT INTO `counted` () VALUES ()");
}

#[test]
fn a_users_statement_only_changes_its_placeholders() {
    let plan = Plan::new();
    let given =
        "SELECT '$1', \"$2\", $2 -- $1\n + $1 /* $3 */ FROM t WHERE a = $2 AND b = '\u{e4}$'";
    let action = Action::Statement { text: given.to_owned(), parameters: 2, answers: true };
    let texts = |dialect| {
        let sql = Sql { dialect, schema: None };
        sql.statement(&plan, &action)
    };
    assert_eq!(texts(&POSTGRES).text, given);
    assert_eq!(texts(&SQLITE).text, given);
    let mysql = texts(&MYSQL);
    assert_eq!(
        mysql.text,
        "SELECT '$1', \"$2\", ? -- $1\n + ? /* $3 */ FROM t WHERE a = ? AND b = '\u{e4}$'"
    );
    assert_eq!(mysql.order, [1, 0, 1]);
    let ends = |dialect| {
        let sql = Sql { dialect, schema: None };
        let action = Action::Statement { text: "end".to_owned(), parameters: 0, answers: false };
        sql.statement(&plan, &action).text
    };
    assert_eq!((ends(&POSTGRES).as_str(), ends(&MYSQL).as_str()), ("end", "COMMIT"));
}
