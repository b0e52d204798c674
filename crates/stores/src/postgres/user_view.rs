//! What a session of the user finds: tables on its own search path, and how its commits wait.

use super::control::Control;
use syncline_contract::{TargetResult, UserView};

/// The schemas that such a session searches. The control session's settings are restored afterwards.
const SEARCHED: &str = "BEGIN; RESET search_path; SELECT pg_catalog.unnest(pg_catalog.current_schemas(true)); ROLLBACK";

/// The initial value of the setting: from the start-up packet, the role, the database or the server.
const WAITS: &str = "SELECT reset_val FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'synchronous_commit'";

/// Queries the view; changes nothing.
pub(super) async fn user_view(control: &mut Control, tables: &[String]) -> TargetResult<UserView> {
    let schemas = control.rows(SEARCHED).await?;
    // A search path may name a managed schema.
    let schemas = schemas.into_iter().flatten().flatten();
    let schemas: Vec<_> = schemas.filter(|name| !name.starts_with("syncline_")).collect();
    let found = format!(
        "SELECT pg_catalog.concat(n.nspname, '.', c.relname) FROM pg_catalog.pg_class c JOIN \
         pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace WHERE c.relkind IN \
         ('r', 'p', 'v', 'm', 'f') AND c.relname::pg_catalog.text IN ({}) AND \
         n.nspname::pg_catalog.text IN ({}) ORDER BY 1",
        literals(tables),
        literals(&schemas)
    );
    let rows = control.rows(&found).await?;
    let waits = control.text(WAITS).await?;
    Ok(UserView {
        tables: rows.into_iter().flatten().flatten().collect(),
        waits_for_log: (!waits.is_empty()).then_some(waits != "off"),
    })
}

/// Texts as a list of literals that is never empty.
fn literals(texts: &[String]) -> String {
    let literal = |text: &String| format!("'{}'", text.replace('\'', "''"));
    let literals: Vec<_> = texts.iter().map(literal).collect();
    if literals.is_empty() {
        return "NULL".to_owned();
    }
    // The meaning of a backslash depends on the session's settings; no table that is searched for has
    // one.
    literals.join(", ").replace('\\', "")
}
