//! MariaDB by its JDBC driver, for the comparison with the native session. Durability is as the
//! server's own settings say; none is changed.

use super::{DurabilityQuery, DurabilityReport, Product, Put, Schema, Users, setting};
use crate::jdbc::jvm::Thrown;
use crate::jdbc::settings::Level;
use crate::mysql::{Variables, judge};
use crate::sql;
use std::path::PathBuf;
use syncline_contract::Cause;

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
        make: ("CREATE DATABASE ", " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
        remove: ("DROP DATABASE ", ""),
        is_catalog: true,
    },
    embedded: None,
    users: Some(Users {
        names: None,
        counts: (
            "SELECT count(*) FROM information_schema.processlist WHERE id <> connection_id() AND db = '",
            "'",
        ),
    }),
    patience: &[("connectTimeout", "10000"), ("tcpKeepAlive", "true")],
    first: None,
    owned: None,
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

fn log(looked: &mut DurabilityQuery<'_>) -> Option<PathBuf> {
    let asks = "SELECT @@datadir, @@innodb_log_group_home_dir";
    let row = looked.connection.rows(asks, 2).ok()?.into_iter().next()?;
    Some(PathBuf::from(row.first()?).join(row.get(1)?))
}

/// What bears on the durability of a commit, and on its speed.
const ASKED: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', \
     'sync_binlog', 'log_bin', 'innodb_doublewrite', 'innodb_flush_method', 'innodb_use_fdatasync', \
     'innodb_buffer_pool_size', 'version')";

fn said(looked: &mut DurabilityQuery<'_>) -> Result<DurabilityReport, Thrown> {
    let rows = looked.connection.rows(ASKED, 2)?;
    let pairs = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        Some((cells.next()?.to_ascii_lowercase(), cells.next()?))
    });
    Ok(judged(&Variables(pairs.collect())))
}

/// The native target's judgement of the same settings.
fn judged(variables: &Variables) -> DurabilityReport {
    let version = variables.get("version").unwrap_or_default();
    let verdict = judge(variables, version.to_ascii_lowercase().contains("mariadb"));
    let all = variables.0.iter();
    let settings = all.map(|(name, value)| setting(name, value.clone(), "SHOW GLOBAL VARIABLES"));
    DurabilityReport {
        durability: verdict.durability,
        evidence: verdict.evidence,
        settings: settings.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::judged;
    use crate::mysql::Variables;
    use syncline_contract::Durability;

    #[test]
    fn every_setting_that_is_read_is_judged() {
        let of = |name: &str, value: &str| {
            let mut variables = Variables::default();
            for (name, value) in [
                ("version", "10.11.6-MariaDB"),
                ("innodb_flush_log_at_trx_commit", "1"),
                ("log_bin", "ON"),
                ("sync_binlog", "1"),
                ("innodb_doublewrite", "ON"),
                ("innodb_flush_method", "O_DIRECT"),
                (name, value),
            ] {
                variables.0.insert(name.to_owned(), value.to_owned());
            }
            judged(&variables)
        };
        assert_eq!(of("log_bin", "ON").durability, Durability::Data);
        for (name, value, word) in [
            ("innodb_flush_log_at_trx_commit", "2", Durability::Os),
            ("innodb_flush_log_at_trx_commit", "0", Durability::None),
            ("sync_binlog", "0", Durability::Os),
            ("innodb_doublewrite", "OFF", Durability::Os),
            ("innodb_flush_method", "nosync", Durability::Os),
        ] {
            let said = of(name, value);
            assert_eq!(said.durability, word, "{name}={value}: {said:?}");
            let told = format!("{name}={value}");
            assert!(said.evidence.contains(&told), "{said:?}");
            assert!(said.settings.iter().any(|one| one.name == name), "{said:?}");
        }
    }
}
