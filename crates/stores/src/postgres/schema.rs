//! Our own schema: made and marked in one transaction, found again, removed, cleaned.
//!
//! The mark is a comment on the schema: the words of [`MARK`], then the digest of what made its tables, by
//! which a later run knows whether they are those that it needs.
//!
//! 1. A schema is ours if it bears a name of ours, the mark, and an owner who is the session's role: what
//!    somebody else owns may have triggers and functions of theirs, which would run with our rights.
//! 2. A removal takes the schema and the relations in it, and nothing beyond: where anything else rests on
//!    them, the server refuses it, and its words name what it would take.

use super::control::{Control, TRUSTED};
use super::own_sessions::refuse_use;
use super::settings::LISTING;
use crate::server::{MARK, SchemaName, digest_of_tables};
use crate::sql::{POSTGRES, Sql};
use syncline_contract::{Failure, FailureKind, Plan, TargetResult};

/// What is said of a schema without the mark: neither --reuse nor clean touches it.
const FOREIGN: &str = "was not made by syncline; name another by schema=, or drop it yourself";

/// How long a removal waits for sessions that are still being undone.
const PATIENCE: &str = "SET LOCAL lock_timeout = '60s'";

/// The statements that make a plan's tables.
pub(super) fn tables(plan: &Plan, schema: &SchemaName) -> Vec<String> {
    let sql = Sql { dialect: &POSTGRES, schema: Some(schema.as_str()) };
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

/// The statements that remove it, with a plan's tables in it.
pub(super) fn removes(plan: &Plan, schema: &SchemaName) -> Vec<String> {
    let tables = plan.tables().iter();
    let relations = tables.map(|table| ("r".to_owned(), table.name.to_string()));
    drops(schema, &relations.collect::<Vec<_>>())
}

/// Kinds of relations in the order in which they are dropped: what rests on others goes first.
const KINDS: [(&str, &str); 5] = [
    ("v", "VIEW"),
    ("m", "MATERIALIZED VIEW"),
    ("r", "TABLE"),
    ("f", "FOREIGN TABLE"),
    ("S", "SEQUENCE"),
];

/// The relations of a schema, each with its kind, partitioned tables as tables; sequences of columns go
/// with their tables.
fn relations(schema: &SchemaName) -> String {
    format!(
        "SELECT replace(c.relkind::text, 'p', 'r'), c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE \
         n.nspname = '{schema}' AND c.relkind IN ('v', 'm', 'r', 'p', 'f', 'S') AND NOT (c.relkind = 'S' AND \
         EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND \
         d.deptype IN ('a', 'i'))) ORDER BY 2"
    )
}

/// The statements that drop a schema with those relations, each given with its kind. None cascades: what
/// rests on a table from elsewhere, or stands in the schema and is no relation, is not ours to drop.
fn drops(schema: &SchemaName, relations: &[(String, String)]) -> Vec<String> {
    let mut statements = Vec::new();
    for (kind, word) in KINDS {
        let of_kind = relations.iter().filter(|(of, _)| of == kind);
        let quoted = |name: &str| format!("\"{schema}\".\"{}\"", name.replace('"', "\"\""));
        let names: Vec<_> = of_kind.map(|(_, name)| quoted(name)).collect();
        if !names.is_empty() {
            statements.push(format!("DROP {word} {} RESTRICT", names.join(", ")));
        }
    }
    statements.push(format!("DROP SCHEMA \"{schema}\" RESTRICT"));
    statements
}

/// What keeps a transaction of our own from waiting for a standby, where commits of the server do: one that
/// has
/// gone would hold up the making and the removal for ever. The local log is still synced.
async fn local_commit(control: &mut Control) -> TargetResult<Option<&'static str>> {
    const WAITS: &str = "SELECT coalesce(current_setting('synchronous_standby_names', true), '')";
    // Products that only speak the protocol may not know the setting: their commits are their own.
    let rows = control.try_rows(WAITS).await?.unwrap_or_default();
    let names = rows.into_iter().flatten().flatten().next();
    if names.is_none_or(|names| names.is_empty()) {
        return Ok(None);
    }
    let waits = control.text("SHOW synchronous_commit").await?;
    let is_local = matches!(waits.as_str(), "off" | "local");
    Ok((!is_local).then_some("SET LOCAL synchronous_commit = local"))
}

/// Makes it; refuses one that is there.
pub(super) async fn create(
    control: &mut Control,
    plan: &Plan,
    schema: &SchemaName,
) -> TargetResult<()> {
    match look(control, schema).await? {
        OwnershipState::Nothing => {}
        OwnershipState::Ours(_) => {
            let why = "is there already; name another by schema=, run with --reuse, or remove what is ours by \
                       syncline clean";
            return Err(refused(schema, why));
        }
        OwnershipState::Others(why) => return Err(refused(schema, &why)),
    }
    let local_commit = local_commit(control).await?;
    control.run("BEGIN").await?;
    control.run(TRUSTED).await?;
    if let Some(local_commit) = local_commit {
        control.run(local_commit).await?;
    }
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
    match look(control, schema).await? {
        OwnershipState::Nothing => Ok(false),
        OwnershipState::Ours(mark) if mark == mark_of(&tables(plan, schema)) => {
            refuse_others_objects(control, schema).await?;
            Ok(true)
        }
        OwnershipState::Ours(_) => {
            let why = "holds other tables than this workload's; name its own by schema=";
            Err(refused(schema, why))
        }
        OwnershipState::Others(why) => Err(refused(schema, &why)),
    }
}

/// Refuses a schema of ours in which others own something: it could act with our rights.
async fn refuse_others_objects(control: &mut Control, schema: &SchemaName) -> TargetResult<()> {
    let others = format!(
        "SELECT 'relation ' || c.relname || ' of ' || r.rolname FROM pg_class c JOIN pg_namespace n ON n.oid = \
         c.relnamespace JOIN pg_roles r ON r.oid = c.relowner WHERE n.nspname = '{schema}' AND r.rolname <> \
         current_user UNION ALL SELECT 'function ' || p.proname || ' of ' || r.rolname FROM pg_proc p JOIN \
         pg_namespace n ON n.oid = p.pronamespace JOIN pg_roles r ON r.oid = p.proowner WHERE n.nspname = \
         '{schema}' AND r.rolname <> current_user LIMIT 1"
    );
    let found = control.text(&others).await?;
    if found.is_empty() {
        return Ok(());
    }
    let why = format!(
        "holds a {found}, which could act with the rights of this session; drop it, or name another schema"
    );
    Err(refused(schema, &why))
}

fn refused(schema: &SchemaName, why: &str) -> Failure {
    let what = format!("{}: schema {schema} {why}", LISTING.name);
    Failure::new(FailureKind::Storage, what)
}

/// True if it is there and ours.
pub(super) async fn is_ours(control: &mut Control, schema: &SchemaName) -> TargetResult<bool> {
    Ok(matches!(look(control, schema).await?, OwnershipState::Ours(_)))
}

/// Removes it, if it is there and ours.
pub(super) async fn remove(control: &mut Control, schema: &SchemaName) -> TargetResult<()> {
    if !is_ours(control, schema).await? {
        return Ok(());
    }
    let found = control.rows(&relations(schema)).await?.into_iter();
    let relations: Vec<_> = found
        .filter_map(|row| {
            let mut cells = row.into_iter();
            Some((cells.next()??, cells.next()??))
        })
        .collect();
    // Statements that are sent together are one transaction: all goes, or nothing.
    let mut statements = vec![TRUSTED.to_owned(), PATIENCE.to_owned()];
    statements.extend(local_commit(control).await?.map(str::to_owned));
    statements.extend(drops(schema, &relations));
    let removed = control.run_as(&statements.join("; "), "its removal").await;
    removed.map_err(|failure| {
        let what = format!("schema {schema} was left as it is: {failure}");
        Failure::new(failure.kind, what)
    })
}

/// Removes every schema of ours, and ends sessions that programs of ours have left; says which.
pub(super) async fn clean(control: &mut Control) -> TargetResult<Vec<String>> {
    let mut removed = refuse_use(control).await?;
    let names = control.rows("SELECT nspname FROM pg_namespace ORDER BY nspname").await?;
    for name in names.into_iter().flatten().flatten() {
        let Some(schema) = SchemaName::of(&name) else {
            continue;
        };
        match look(control, &schema).await? {
            OwnershipState::Ours(_) => {
                remove(control, &schema).await?;
                removed.push(format!("schema {schema}"));
            }
            OwnershipState::Others(why) if why != FOREIGN => {
                removed.push(format!("kept schema {schema}, which {why}"));
            }
            OwnershipState::Others(_) | OwnershipState::Nothing => {}
        }
    }
    Ok(removed)
}

/// What stands under a name of ours.
enum OwnershipState {
    Nothing,
    /// A schema of ours, with its mark.
    Ours(String),
    /// What is not ours to use or drop; why, as the end of a sentence about it.
    Others(String),
}

async fn look(control: &mut Control, schema: &SchemaName) -> TargetResult<OwnershipState> {
    let statement = format!(
        "SELECT coalesce(pg_catalog.obj_description(n.oid, 'pg_namespace'::pg_catalog.name), \
         ''::pg_catalog.text), r.rolname, r.rolname = current_user FROM pg_catalog.pg_namespace n JOIN \
         pg_catalog.pg_roles r ON r.oid = n.nspowner WHERE n.nspname = '{schema}'::pg_catalog.name"
    );
    let Some(row) = control.rows(&statement).await?.into_iter().next() else {
        return Ok(OwnershipState::Nothing);
    };
    let mut cells = row.into_iter().map(Option::unwrap_or_default);
    let mut cell = || cells.next().unwrap_or_default();
    let (mark, owner, is_own) = (cell(), cell(), cell() == "t");
    Ok(if !mark.starts_with(MARK) {
        OwnershipState::Others(FOREIGN.to_owned())
    } else if is_own {
        OwnershipState::Ours(mark)
    } else {
        OwnershipState::Others(format!(
            "belongs to role {owner}, whose triggers and functions in it would run with the rights of this \
             session; log in as {owner}, or name another by schema="
        ))
    })
}
