//! PostgreSQL through its JDBC driver, for the comparison with the native session. Durability follows
//! from the server's settings, which are not changed.

use super::{DurabilityQuery, DurabilityReport, Product, Put, SCHEMA, Schema, Users, setting};
use crate::jdbc::jvm::Thrown;
use crate::jdbc::settings::Level;
use crate::postgres::durability;
use crate::sql::{self, Dialect, Placeholder};
use std::path::PathBuf;
use syncline_contract::{Cause, Durability, Setting};

pub(in crate::jdbc) const POSTGRES: Product = Product {
    word: "postgresql",
    name: "PostgreSQL",
    port: 5432,
    dialect: Dialect { placeholder: Placeholder::Positional, ..sql::POSTGRES },
    put: Put::Whole,
    scan_lock: " FOR UPDATE",
    isolation: Level::ReadCommitted,
    conflicts: &[("40P01", None, Cause::Deadlock)],
    restarts_keys: true,
    schema: Schema { remove: ("DROP SCHEMA ", " RESTRICT"), ..SCHEMA },
    embedded: None,
    users: Some(Users {
        names: Some(("SET application_name = '", "'")),
        counts: (
            "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = '",
            "'",
        ),
    }),
    patience: &[("loginTimeout", "10"), ("connectTimeout", "10"), ("tcpKeepAlive", "true")],
    // Other users' functions must not replace the server's own (CVE-2018-1058).
    first: Some("SET search_path = pg_catalog, pg_temp"),
    owned: Some((
        "SELECT count(*) FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner WHERE n.nspname = '",
        "' AND r.rolname = current_user",
    )),
    others: Some(
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' \
         AND pid <> pg_backend_pid()",
    ),
    free: Some(
        "SELECT current_setting('max_connections')::int \
         - current_setting('superuser_reserved_connections')::int \
         - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') + 1",
    ),
    log,
    reported_durability,
};

fn log(query: &mut DurabilityQuery<'_>) -> Option<PathBuf> {
    // Only some users may read it; for the others the log's location is not known.
    let directory = query.connection.cell("SHOW data_directory");
    Some(PathBuf::from(directory.ok()??).join("pg_wal"))
}

fn reported_durability(query: &mut DurabilityQuery<'_>) -> Result<DurabilityReport, Thrown> {
    let mut settings = Vec::new();
    for name in [
        "fsync",
        "synchronous_commit",
        "full_page_writes",
        "wal_sync_method",
        "wal_writer_delay",
        "synchronous_standby_names",
        "shared_buffers",
    ] {
        let by = format!("SHOW {name}");
        let value = query.connection.cell(&by)?.unwrap_or_default();
        settings.push(setting(name, value, &by));
    }
    Ok(evaluated(settings))
}

/// Evaluates the settings with the native target's rules.
fn evaluated(settings: Vec<Setting>) -> DurabilityReport {
    let (durability, evidence) = durability(&settings, Durability::Data);
    DurabilityReport { durability, evidence, settings }
}

#[cfg(test)]
mod tests {
    use super::{evaluated, setting};
    use syncline_contract::Durability;

    #[test]
    fn every_setting_that_is_read_is_evaluated() {
        let of = |fsync: &str, waits: &str, full_pages: &str| {
            let pairs = [
                ("fsync", fsync),
                ("synchronous_commit", waits),
                ("full_page_writes", full_pages),
                ("wal_sync_method", "fdatasync"),
            ];
            evaluated(pairs.map(|(name, value)| setting(name, value.to_owned(), "SHOW")).into())
        };
        assert_eq!(of("on", "on", "on").durability, Durability::Data);
        assert_eq!(of("off", "on", "on").durability, Durability::Os);
        assert_eq!(of("on", "off", "on").durability, Durability::None);
        let torn = of("on", "on", "off");
        assert_eq!(torn.durability, Durability::Os, "{torn:?}");
        assert!(torn.evidence.contains("full_page_writes=off"), "{torn:?}");
    }
}
