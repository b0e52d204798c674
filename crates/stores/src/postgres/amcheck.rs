//! Checks tables and indexes with the extension amcheck, where it is installed in this database and the
//! role is a superuser.
//!
//! The check reads whole pages, so it verifies data checksums too.

use super::control::Control;
use syncline_contract::TargetResult;

/// Also requires superuser rights: without them the functions refuse to run.
const CAN: &str = "SELECT count(*) FROM pg_extension, pg_roles WHERE extname = 'amcheck' \
     AND rolname = current_user AND rolsuper";

/// The schema that the extension's functions are in.
const SCHEMA: &str = "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = \
     e.extnamespace WHERE e.extname = 'amcheck'";

/// Checks every B-tree; in managed schemas also that the index holds each row of its table. In this and
/// the next statement the number and types of the arguments are exactly those that the extension
/// declares, so that no other function of its schema fits better.
const INDEXES: &str = "SELECT $.bt_index_check(c.oid::regclass, n.nspname LIKE 'syncline%') FROM pg_class c \
     JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_am m ON m.oid = c.relam \
     JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE m.amname = 'btree' AND c.relpersistence = 'p' AND i.indisready AND i.indisvalid";

/// Checks every table; returns one row for each fault.
const TABLES: &str = "SELECT c.relname, h.blkno, h.offnum, h.msg FROM pg_class c, \
     LATERAL $.verify_heapam(c.oid::regclass, false, true, 'none'::text, NULL::bigint, NULL::bigint) h \
     WHERE c.relkind IN ('r', 't', 'm') AND c.relpersistence = 'p'";

/// The faults found, a sentence each; `None` where amcheck is not available.
pub(super) async fn check(control: &mut Control) -> TargetResult<Option<Vec<String>>> {
    if control.number(CAN).await? != Some(1) {
        return Ok(None);
    }
    let schema = control.text(SCHEMA).await?;
    let [indexes, tables] = [INDEXES, TABLES].map(|text| text.replacen('$', &schema, 1));
    let mut wrong = Vec::new();
    if let Err(error) = control.try_rows(&indexes).await? {
        wrong.push(error.outside("amcheck of the indexes").what);
    }
    match control.try_rows(&tables).await? {
        Err(error) => wrong.push(error.outside("amcheck of the tables").what),
        Ok(rows) => wrong.extend(rows.into_iter().map(|row| {
            let cells: Vec<String> = row.into_iter().map(Option::unwrap_or_default).collect();
            format!("table, block, row: {}", cells.join(", "))
        })),
    }
    Ok(Some(wrong))
}
