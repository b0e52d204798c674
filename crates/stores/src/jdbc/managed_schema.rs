//! The managed schema on a server: created with a mark, and dropped with its tables; and the other
//! sessions there.

use super::connection::Connection;
use super::jvm::Thrown;
use super::product::{Product, Users};
use super::target::Jdbc;
use crate::server::{LIVE, MARK, SESSION_END_CHECKS, SESSION_END_PAUSE, SchemaName, pluralized};
use syncline_contract::{Failure, FailureKind, TargetResult};

/// The table that marks a schema as managed.
const MARKING: &str = "syncline_mark";

fn quoted(product: &Product, name: &str) -> String {
    let quote = product.dialect.quote;
    format!("{quote}{name}{quote}")
}

fn inside(product: &Product, schema: &SchemaName, table: &str) -> String {
    let schema = quoted(product, schema.as_str());
    format!("{schema}.{}", quoted(product, table))
}

/// The statements that create a managed schema with its mark.
pub(super) fn makes(product: &Product, schema: &SchemaName) -> Vec<String> {
    let marking = inside(product, schema, MARKING);
    let (before, after) = product.schema.make;
    let name = quoted(product, schema.as_str());
    vec![
        format!("{before}{name}{after}"),
        format!("CREATE TABLE {marking} (words VARCHAR(100))"),
        format!("INSERT INTO {marking} VALUES ('{MARK}')"),
    ]
}

/// Creates a managed schema with its mark.
pub(super) fn make_schema(
    connection: &mut Connection,
    product: &Product,
    schema: &SchemaName,
) -> Result<(), Thrown> {
    let mut statements = makes(product, schema).into_iter();
    statements.try_for_each(|statement| connection.execute(&statement))
}

/// Drops a managed schema with every table in it, if it exists.
pub(super) fn remove_schema(
    connection: &mut Connection,
    product: &Product,
    schema: &SchemaName,
) -> Result<(), Thrown> {
    let is_catalog = product.schema.is_catalog;
    let there = connection.schemas(is_catalog)?;
    if there.iter().all(|name| name != schema.as_str()) {
        return Ok(());
    }
    for table in connection.tables(schema.as_str(), is_catalog)? {
        // The mark is dropped last, so that the rest remains recognizable after a failure.
        if table != MARKING {
            let table = inside(product, schema, &table);
            connection.execute(&format!("DROP TABLE {table}"))?;
        }
    }
    let marking = inside(product, schema, MARKING);
    connection.execute(&format!("DROP TABLE {marking}"))?;
    let (before, after) = product.schema.remove;
    let name = quoted(product, schema.as_str());
    connection.execute(&format!("{before}{name}{after}"))
}

/// Drops every schema that has a name of our form and our mark; returns their descriptions.
pub(super) fn clean(connection: &mut Connection, product: &Product) -> Result<Vec<String>, Thrown> {
    let mut cleaned = Vec::new();
    for name in connection.schemas(product.schema.is_catalog)? {
        let Some(schema) = SchemaName::of(&name) else {
            continue;
        };
        if is_marked(connection, product, &schema)? {
            if is_used(connection, product, &schema)? {
                cleaned.push(format!("kept schema {schema}: a session uses it"));
                continue;
            }
            remove_schema(connection, product, &schema)?;
            cleaned.push(format!("schema {schema}"));
        }
    }
    Ok(cleaned)
}

/// Records the schema in the session, for products that cannot report it.
pub(super) fn name_session(
    connection: &mut Connection,
    product: &Product,
    schema: &SchemaName,
) -> Result<(), Thrown> {
    match product.users.and_then(|users| users.names) {
        Some((before, after)) => connection.execute(&format!("{before}{schema}{after}")),
        None => Ok(()),
    }
}

/// True if sessions use it even after those of a killed run had time to end.
fn is_used(
    connection: &mut Connection,
    product: &Product,
    schema: &SchemaName,
) -> Result<bool, Thrown> {
    let Some(Users { counts: (before, after), .. }) = product.users else {
        return Ok(false);
    };
    for _ in 0..SESSION_END_CHECKS {
        let count = connection.cell(&format!("{before}{schema}{after}"))?;
        if count.as_deref() == Some("0") {
            return Ok(false);
        }
        std::thread::sleep(SESSION_END_PAUSE);
    }
    Ok(true)
}

fn is_marked(
    connection: &mut Connection,
    product: &Product,
    schema: &SchemaName,
) -> Result<bool, Thrown> {
    let tables = connection.tables(schema.as_str(), product.schema.is_catalog)?;
    if tables.iter().all(|table| table != MARKING) {
        return Ok(false);
    }
    // In a schema of another owner the mark could be anything, even code that runs with our rights.
    if let Some((before, after)) = product.owned {
        let count = connection.cell(&format!("{before}{schema}{after}"))?;
        if count.as_deref() != Some("1") {
            return Ok(false);
        }
    }
    let marking = inside(product, schema, MARKING);
    let words = connection.cell(&format!("SELECT words FROM {marking}"))?;
    Ok(words.is_some_and(|words| words == MARK))
}

/// Refuses a server that others use, unless the URL allows it.
pub(super) fn refuse_others(target: &Jdbc, connection: &mut Connection) -> TargetResult<()> {
    let Some(asks) = target.product.others.filter(|_| !target.settings.live) else {
        return Ok(());
    };
    let count = number(target, connection, asks)?;
    if count < 1 {
        return Ok(());
    }
    let what = format!(
        "{} of other clients on {}, which a run would disturb and which would distort its results; {LIVE}",
        pluralized(count.unsigned_abs(), "session"),
        target.product.name
    );
    Err(Failure::new(FailureKind::Limit, what))
}

/// How many connections the server has left; `None` if not reported.
pub(super) fn free(target: &Jdbc, connection: &mut Connection) -> TargetResult<Option<usize>> {
    let Some(asks) = target.product.free else {
        return Ok(None);
    };
    let free = number(target, connection, asks)?;
    Ok(Some(usize::try_from(free).unwrap_or(0)))
}

fn number(target: &Jdbc, connection: &mut Connection, asks: &str) -> TargetResult<i64> {
    let cell = connection.cell(asks);
    let cell = cell.map_err(|thrown| target.failure(&thrown, &format!("execute {asks}")))?;
    let number = cell.as_deref().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        let what = format!("{} does not return a number for {asks}", target.product.name);
        Failure::new(FailureKind::Statement, what)
    })
}
