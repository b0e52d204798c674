//! Our own schema: made and marked in one transaction, found again, removed, cleaned.
//!
//! The mark is a comment on the schema: the words of [`MARK`], then the digest of what made its tables, by
//! which a later run knows whether they are those that it needs.

use super::control::Control;
use super::settings::LISTING;
use crate::server::{FAREWELL_LOOKS, MARK, SchemaName, digest_of_tables};
use crate::sql::{POSTGRES, Sql};
use syncline_contract::{Failure, FailureKind, Plan, TargetResult};

/// What is said of a schema without the mark: neither --reuse nor clean touches it.
const FOREIGN: &str = "was not made by syncline; name another by schema=, or drop it yourself";

/// How long a removal waits for sessions that are still being undone.
const PATIENCE: &str = "SET lock_timeout = '60s'";

/// The statements that make a plan's tables.
pub(super) fn tables(plan: &Plan, schema: &SchemaName) -> Vec<String> {
    let sql = Sql {
        dialect: &POSTGRES,
        schema: Some(schema.as_str()),
    };
    sql.schema(plan, |_| "")
}

/// Every statement that makes a schema.
pub(super) fn makes(plan: &Plan, schema: &SchemaName) -> Vec<String> {
    let tables = tables(plan, schema);
    let mut statements = vec![
        format!("CREATE SCHEMA \"{schema}\""),
        format!("COMMENT ON SCHEMA \"{schema}\" IS '{}'", mark_of(&tables)),
    ];
    statements.extend(tables);
    statements
}

/// The mark of a schema whose tables those statements made.
fn mark_of(tables: &[String]) -> String {
    format!("{MARK}; tables {}", digest_of_tables(tables))
}

/// The statement that removes it.
pub(super) fn removes(schema: &SchemaName) -> String {
    format!("DROP SCHEMA IF EXISTS \"{schema}\" CASCADE")
}

/// Makes it; refuses one that is there.
pub(super) async fn create(
    control: &mut Control,
    plan: &Plan,
    schema: &SchemaName,
) -> TargetResult<()> {
    if let Some(mark) = mark(control, schema).await? {
        let why = if mark.starts_with(MARK) {
            "is there already; name another by schema=, run with --reuse, or remove what is ours by syncline \
             clean"
        } else {
            FOREIGN
        };
        let what = format!("{}: schema {schema} {why}", LISTING.name);
        return Err(Failure::new(FailureKind::Storage, what));
    }
    control.run("BEGIN").await?;
    for statement in makes(plan, schema) {
        control.run(&statement).await?;
    }
    control.run("COMMIT").await
}

/// True if it is there with that plan's tables; refuses one that is not ours or has others.
pub(super) async fn reopen(
    control: &mut Control,
    plan: &Plan,
    schema: &SchemaName,
) -> TargetResult<bool> {
    let Some(mark) = mark(control, schema).await? else {
        return Ok(false);
    };
    if mark == mark_of(&tables(plan, schema)) {
        return Ok(true);
    }
    let why = if mark.starts_with(MARK) {
        "holds other tables than this workload's; name its own by schema="
    } else {
        FOREIGN
    };
    let what = format!("{}: schema {schema} {why}", LISTING.name);
    Err(Failure::new(FailureKind::Storage, what))
}

/// True if it is there and ours.
pub(super) async fn is_ours(control: &mut Control, schema: &SchemaName) -> TargetResult<bool> {
    let mark = mark(control, schema).await?;
    Ok(mark.is_some_and(|mark| mark.starts_with(MARK)))
}

/// Removes it, if it is there and ours.
pub(super) async fn remove(control: &mut Control, schema: &SchemaName) -> TargetResult<()> {
    match mark(control, schema).await? {
        Some(mark) if mark.starts_with(MARK) => {
            control.run(PATIENCE).await?;
            control.run(&removes(schema)).await
        }
        _ => Ok(()),
    }
}

/// True if sessions of ours are open on this database, and still are when those whose clients have gone had
/// time to end.
pub(super) async fn is_used(control: &mut Control) -> TargetResult<bool> {
    let others = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'syncline' AND pid <> \
                  pg_backend_pid() AND datname = current_database()";
    for _ in 0..FAREWELL_LOOKS {
        if control.number(others).await? == Some(0) {
            return Ok(false);
        }
        control.run("SELECT pg_sleep(0.05)").await?;
    }
    Ok(true)
}

/// Refuses to remove what a run under way may work on.
pub(super) async fn refuse_use(control: &mut Control) -> TargetResult<()> {
    if !is_used(control).await? {
        return Ok(());
    }
    let what = "a run of this laboratory is under way on that database; end it first";
    Err(Failure::new(FailureKind::Limit, what))
}

/// Removes every schema of ours; says which.
pub(super) async fn clean(control: &mut Control) -> TargetResult<Vec<String>> {
    refuse_use(control).await?;
    let names = control
        .rows("SELECT nspname FROM pg_namespace ORDER BY nspname")
        .await?;
    let mut removed = Vec::new();
    for name in names.into_iter().flatten().flatten() {
        let Some(schema) = SchemaName::of(&name) else {
            continue;
        };
        let ours = mark(control, &schema).await?;
        if ours.is_some_and(|mark| mark.starts_with(MARK)) {
            remove(control, &schema).await?;
            removed.push(format!("schema {schema}"));
        }
    }
    Ok(removed)
}

/// The comment on a schema, empty if it has none; none if there is no such schema.
async fn mark(control: &mut Control, schema: &SchemaName) -> TargetResult<Option<String>> {
    let statement = format!(
        "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = \
         '{schema}'"
    );
    let rows = control.rows(&statement).await?;
    Ok(rows
        .into_iter()
        .next()
        .map(|row| row.into_iter().flatten().next().unwrap_or_default()))
}
