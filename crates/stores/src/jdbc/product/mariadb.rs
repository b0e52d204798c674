//! MariaDB through its JDBC driver, for the comparison with the native session. Durability follows from
//! the server's settings, which are not changed.

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
        // The server's default may be latin1; this one exists in every version, and compares bytes.
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
    reported_durability,
};

fn log(query: &mut DurabilityQuery<'_>) -> Option<PathBuf> {
    let asks = "SELECT @@datadir, @@innodb_log_group_home_dir";
    let row = query.connection.rows(asks, 2).ok()?.into_iter().next()?;
    Some(PathBuf::from(row.first()?).join(row.get(1)?))
}

/// The variables that affect the durability of a commit, and its speed.
const VARIABLES: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', \
     'sync_binlog', 'log_bin', 'innodb_doublewrite', 'innodb_flush_method', 'innodb_use_fdatasync', \
     'innodb_buffer_pool_size', 'version')";

fn reported_durability(query: &mut DurabilityQuery<'_>) -> Result<DurabilityReport, Thrown> {
    let rows = query.connection.rows(VARIABLES, 2)?;
    let pairs = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        Some((cells.next()?.to_ascii_lowercase(), cells.next()?))
    });
    Ok(evaluated(&Variables(pairs.collect())))
}

/// Evaluates the settings with the native target's rules.
fn evaluated(variables: &Variables) -> DurabilityReport {
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
    use super::evaluated;
    use crate::mysql::Variables;
    use syncline_contract::Durability;

    #[test]
    fn every_setting_that_is_read_is_evaluated() {
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
            evaluated(&variables)
        };
        assert_eq!(of("log_bin", "ON").durability, Durability::Data);
        for (name, value, word) in [
            ("innodb_flush_log_at_trx_commit", "2", Durability::Os),
            ("innodb_flush_log_at_trx_commit", "0", Durability::None),
            ("sync_binlog", "0", Durability::Os),
            ("innodb_doublewrite", "OFF", Durability::Os),
            ("innodb_flush_method", "nosync", Durability::Os),
        ] {
            let reported_durability = of(name, value);
            assert_eq!(
                reported_durability.durability, word,
                "{name}={value}: {reported_durability:?}"
            );
            let expected = format!("{name}={value}");
            assert!(reported_durability.evidence.contains(&expected), "{reported_durability:?}");
            assert!(
                reported_durability.settings.iter().any(|one| one.name == name),
                "{reported_durability:?}"
            );
        }
    }
}
