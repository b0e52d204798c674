//! PostgreSQL by its JDBC driver, for the comparison with the native session. Durability is as the
//! server's own settings say; none is changed.

use super::{Looked, Product, Put, SCHEMA, Said, Schema, setting};
use crate::jdbc::jvm::Thrown;
use crate::jdbc::settings::Level;
use crate::sql::{self, Dialect, Placeholder};
use std::path::PathBuf;
use syncline_contract::{Cause, Durability};

pub(in crate::jdbc) const POSTGRES: Product = Product {
    word: "postgresql",
    name: "PostgreSQL",
    port: 5432,
    dialect: Dialect {
        placeholder: Placeholder::Positional,
        ..sql::POSTGRES
    },
    put: Put::Whole,
    scan_lock: " FOR UPDATE",
    isolation: Level::ReadCommitted,
    conflicts: &[("40P01", None, Cause::Deadlock)],
    restarts_keys: true,
    schema: Schema {
        remove: ("DROP SCHEMA ", " CASCADE"),
        ..SCHEMA
    },
    embedded: None,
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
    said,
};

fn log(looked: &mut Looked<'_>) -> Option<PathBuf> {
    // Only some users may ask; who may not is told nothing, and the log is not known.
    let directory = looked.connection.cell("SHOW data_directory");
    Some(PathBuf::from(directory.ok()??).join("pg_wal"))
}

fn said(looked: &mut Looked<'_>) -> Result<Said, Thrown> {
    let mut settings = Vec::new();
    for name in [
        "fsync",
        "synchronous_commit",
        "full_page_writes",
        "wal_sync_method",
        "shared_buffers",
    ] {
        let by = format!("SHOW {name}");
        let value = looked.connection.cell(&by)?.unwrap_or_default();
        settings.push(setting(name, value, &by));
    }
    let (fsync, commit) = (settings[0].value.as_str(), settings[1].value.as_str());
    let durability = match (fsync, commit) {
        ("on", "off") => Durability::None,
        ("on", _) => Durability::Data,
        (_, "off") => Durability::None,
        _ => Durability::Os,
    };
    let evidence = format!("fsync={fsync} and synchronous_commit={commit} read back by SHOW");
    Ok(Said {
        durability,
        evidence,
        settings,
    })
}
