//! MariaDB by its JDBC driver, for the comparison with the native session. Durability is as the
//! server's own settings say; none is changed.

use super::{Looked, Product, Put, Said, Schema, setting};
use crate::jdbc::jvm::Thrown;
use crate::jdbc::settings::Level;
use crate::sql;
use std::path::PathBuf;
use syncline_contract::{Cause, Durability};

pub(in crate::jdbc) const MARIADB: Product = Product {
    word: "mariadb",
    name: "MariaDB",
    port: 3306,
    dialect: sql::MYSQL,
    put: Put::Whole,
    scan_lock: " FOR UPDATE",
    isolation: Level::RepeatableRead,
    conflicts: &[
        ("40001", Some(1213), Cause::Deadlock),
        ("HY000", Some(1205), Cause::Locked),
        ("40001", Some(1205), Cause::Locked),
        ("HY000", Some(1020), Cause::Serialization),
    ],
    restarts_keys: false,
    schema: Schema {
        // The server's own may be latin1; this one is known to every version, and as exact as bytes.
        make: (
            "CREATE DATABASE ",
            " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        ),
        remove: ("DROP DATABASE ", ""),
        is_catalog: true,
    },
    embedded: None,
    others: Some(
        "SELECT count(*) FROM information_schema.processlist WHERE id <> connection_id() \
         AND command NOT IN ('Daemon', 'Binlog Dump')",
    ),
    free: Some(
        "SELECT @@max_connections - (SELECT count(*) FROM information_schema.processlist) + 1",
    ),
    log,
    said,
};

fn log(looked: &mut Looked<'_>) -> Option<PathBuf> {
    let asks = "SELECT @@datadir, @@innodb_log_group_home_dir";
    let row = looked.connection.rows(asks, 2).ok()?.into_iter().next()?;
    Some(PathBuf::from(row.first()?).join(row.get(1)?))
}

fn said(looked: &mut Looked<'_>) -> Result<Said, Thrown> {
    let mut settings = Vec::new();
    for name in [
        "innodb_flush_log_at_trx_commit",
        "sync_binlog",
        "log_bin",
        "innodb_doublewrite",
        "innodb_flush_method",
        "innodb_buffer_pool_size",
    ] {
        let by = format!("SELECT @@global.{name}");
        let value = looked.connection.cell(&by)?.unwrap_or_default();
        settings.push(setting(name, value, &by));
    }
    let flush = settings[0].value.as_str();
    let durability = match flush {
        "1" | "3" => Durability::Data,
        "2" => Durability::Os,
        _ => Durability::None,
    };
    let evidence = format!("innodb_flush_log_at_trx_commit={flush} read back by SELECT");
    Ok(Said {
        durability,
        evidence,
        settings,
    })
}
