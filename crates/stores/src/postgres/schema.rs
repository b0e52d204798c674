//! The managed schema: created and marked in one transaction, reopened, removed, cleaned.
//!
//! The mark is a comment on the schema: the text of [`MARK`], then the digest of the statements that
//! created its tables, by which a later run recognizes whether they are the ones it needs.
//!
//! 1. A schema is managed if it has a name of our form, the mark, and the session's role as its owner:
//!    a schema of another owner may have triggers and functions of that owner, which would run with our
//!    rights.
//! 2. A removal drops the schema and the relations in it, and nothing else: where other objects depend
//!    on them, the server refuses, and its error names those objects.

use super::control::{Control, TRUSTED};
use super::own_sessions::refuse_use;
use super::settings::LISTING;
use crate::server::{MARK, SchemaName, digest_of_tables};
use crate::sql::{POSTGRES, Sql};
use syncline_contract::{Failure, FailureKind, Plan, TargetResult};

/// The reason for a schema without the mark: neither --reuse nor clean touches it.
const UNMANAGED: &str = "was not made by syncline; name another with schema=, or drop it yourself";

/// How long a removal waits for sessions that are still being rolled back.
const PATIENCE: &str = "SET LOCAL lock_timeout = '60s'";

/// The statements that create a plan's tables.
pub(super) fn tables(plan: &Plan, schema: &SchemaName) -> Vec<String> {
    let sql = Sql { dialect: &POSTGRES, schema: Some(schema.as_str()) };
    sql.schema(plan, |_| "")
}

/// All statements that create a schema.
pub(super) fn makes(plan: &Plan, schema: &SchemaName) -> Vec<String> {
    let tables = tables(plan, schema);
    let mut statements = vec![
        format!("CREATE SCHEMA \"{schema}\""),
        format!("COMMENT ON SCHEMA \"{schema}\" IS '{}'", mark_of(&tables)),
    ];
    statements.extend(tables);
    statements
}

/// The mark of a schema whose tables were created by those statements.
fn mark_of(tables: &[String]) -> String {
    format!("{MARK}; tables {}", digest_of_tables(tables))
}

/// The statements that remove the schema, with a plan's tables in it.
pub(super) fn removes(plan: &Plan, schema: &SchemaName) -> Vec<String> {
    let tables = plan.tables().iter();
    let relations = tables.map(|table| ("r".to_owned(), table.name.to_string()));
    drops(schema, &relations.collect::<Vec<_>>())
}

/// Kinds of relations in the order in which they are dropped: dependent ones first.
const KINDS: [(&str, &str); 5] = [
    ("v", "VIEW"),
    ("m", "MATERIALIZED VIEW"),
    ("r", "TABLE"),
    ("f", "UNMANAGED TABLE"),
    ("S", "SEQUENCE"),
];

/// The relations of a schema, each with its kind; partitioned tables count as tables. Sequences of
/// columns are dropped with their tables.
fn relations(schema: &SchemaName) -> String {
    format!(
        "SELECT replace(c.relkind::text, 'p', 'r'), c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE \
         n.nspname = '{schema}' AND c.relkind IN ('v', 'm', 'r', 'p', 'f', 'S') AND NOT (c.relkind = 'S' AND \
         EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND \
         d.deptype IN ('a', 'i'))) ORDER BY 2"
    )
}

/// The statements that drop a schema with those relations, each given with its kind. None cascades:
/// dependent objects elsewhere, and objects in the schema that are not relations, are never dropped.
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

/// The setting that keeps our own transactions from waiting for a standby, if commits of the server do:
/// a standby that is gone would block creation and removal forever. The local log is still synced.
async fn local_commit(control: &mut Control) -> TargetResult<Option<&'static str>> {
    const WAITS: &str = "SELECT coalesce(current_setting('synchronous_standby_names', true), '')";
    // Products that only speak the protocol may not have the setting.
    let rows = control.try_rows(WAITS).await?.unwrap_or_default();
    let names = rows.into_iter().flatten().flatten().next();
    if names.is_none_or(|names| names.is_empty()) {
        return Ok(None);
    }
    let waits = control.text("SHOW synchronous_commit").await?;
    let is_local = matches!(waits.as_str(), "off" | "local");
    Ok((!is_local).then_some("SET LOCAL synchronous_commit = local"))
}

/// Creates it; refuses an existing one.
pub(super) async fn create(
    control: &mut Control,
    plan: &Plan,
    schema: &SchemaName,
) -> TargetResult<()> {
    match ownership(control, schema).await? {
        OwnershipState::Nothing => {}
        OwnershipState::Managed(_) => {
            let why = "exists already; name another with schema=, run with --reuse, or remove managed schemas with \
                       syncline clean";
            return Err(refused(schema, why));
        }
        OwnershipState::Unmanaged(why) => return Err(refused(schema, &why)),
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

/// True if it exists with that plan's tables; refuses one that is unmanaged or has other tables.
pub(super) async fn reopen(
    control: &mut Control,
    plan: &Plan,
    schema: &SchemaName,
) -> TargetResult<bool> {
    match ownership(control, schema).await? {
        OwnershipState::Nothing => Ok(false),
        OwnershipState::Managed(mark) if mark == mark_of(&tables(plan, schema)) => {
            refuse_others_objects(control, schema).await?;
            Ok(true)
        }
        OwnershipState::Managed(_) => {
            let why = "holds other tables than this workload's; name another schema with schema=";
            Err(refused(schema, why))
        }
        OwnershipState::Unmanaged(why) => Err(refused(schema, &why)),
    }
}

/// Refuses a managed schema in which other roles own objects: those could act with our rights.
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

/// True if it exists and is managed.
pub(super) async fn is_managed(control: &mut Control, schema: &SchemaName) -> TargetResult<bool> {
    Ok(matches!(ownership(control, schema).await?, OwnershipState::Managed(_)))
}

/// Removes it, if it exists and is managed.
pub(super) async fn remove(control: &mut Control, schema: &SchemaName) -> TargetResult<()> {
    if !is_managed(control, schema).await? {
        return Ok(());
    }
    let found = control.rows(&relations(schema)).await?.into_iter();
    let relations: Vec<_> = found
        .filter_map(|row| {
            let mut cells = row.into_iter();
            Some((cells.next()??, cells.next()??))
        })
        .collect();
    // Statements that are sent together are one transaction: all or nothing.
    let mut statements = vec![TRUSTED.to_owned(), PATIENCE.to_owned()];
    statements.extend(local_commit(control).await?.map(str::to_owned));
    statements.extend(drops(schema, &relations));
    let removed = control.run_as(&statements.join("; "), "its removal").await;
    removed.map_err(|failure| {
        let what = format!("schema {schema} was not removed: {failure}");
        Failure::new(failure.kind, what)
    })
}

/// Removes every managed schema, and ends sessions that ended programs have left; returns what was removed
/// and ended.
pub(super) async fn clean(control: &mut Control) -> TargetResult<Vec<String>> {
    let mut removed = refuse_use(control).await?;
    let names = control.rows("SELECT nspname FROM pg_namespace ORDER BY nspname").await?;
    for name in names.into_iter().flatten().flatten() {
        let Some(schema) = SchemaName::of(&name) else {
            continue;
        };
        match ownership(control, &schema).await? {
            OwnershipState::Managed(_) => {
                remove(control, &schema).await?;
                removed.push(format!("schema {schema}"));
            }
            OwnershipState::Unmanaged(why) if why != UNMANAGED => {
                removed.push(format!("kept schema {schema}, which {why}"));
            }
            OwnershipState::Unmanaged(_) | OwnershipState::Nothing => {}
        }
    }
    Ok(removed)
}

/// Whether a schema exists, and whether it is managed.
enum OwnershipState {
    Nothing,
    /// A managed schema, with its mark.
    Managed(String),
    /// A schema that must not be used or dropped, with the reason as the end of a sentence.
    Unmanaged(String),
}

async fn ownership(control: &mut Control, schema: &SchemaName) -> TargetResult<OwnershipState> {
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
        OwnershipState::Unmanaged(UNMANAGED.to_owned())
    } else if is_own {
        OwnershipState::Managed(mark)
    } else {
        OwnershipState::Unmanaged(format!(
            "belongs to role {owner}, whose triggers and functions in it would run with the rights of this \
             session; log in as {owner}, or name another with schema="
        ))
    })
}
