//! Durability and isolation, read back on a session that is set as the clients' are.

use super::control::Control;
use super::preflight::{Preflight, syncs_metadata};
use super::protocol::ServerLocation;
use super::settings::{Names, isolation_of};
use crate::server::SchemaName;
use syncline_contract::{
    Durability, Failure, FailureKind, Isolation, ReportedSettings, Setting, TargetResult,
};

/// Settings that bear on speed or safety.
const SETTINGS: &str = "SELECT name, setting || coalesce(' ' || unit, '') FROM pg_settings WHERE name IN \
     ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'synchronous_standby_names', \
     'wal_level', 'wal_compression', 'commit_delay', 'commit_siblings', 'wal_writer_delay', \
     'shared_buffers', 'max_wal_size', 'checkpoint_timeout', 'wal_buffers', 'data_checksums', \
     'huge_pages', 'jit', 'autovacuum', 'max_connections', 'server_version', \
     'default_transaction_isolation', 'lock_timeout', 'deadlock_timeout', 'track_wal_io_timing', \
     'data_directory') ORDER BY name";

/// The settings that bear on the speed and safety of commits, as a session is told them.
pub(super) async fn settings(control: &mut Control) -> TargetResult<Vec<Setting>> {
    let rows = control.rows(SETTINGS).await?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            let mut cells = row.into_iter();
            Some(Setting {
                name: cells.next()??,
                value: cells.next()?.unwrap_or_default(),
                said_by: "pg_settings".to_owned(),
            })
        })
        .collect())
}

/// What is in force; fails if it is not what the URL asks for.
pub(super) async fn evidence(
    place: &ServerLocation,
    met: &Preflight,
    schema: &SchemaName,
) -> TargetResult<ReportedSettings> {
    let mut control = Control::open(place).await?;
    for statement in place.settings.session(schema, Names::Ours) {
        control.run(&statement).await?;
    }
    let isolation = control.text("SHOW default_transaction_isolation").await?;
    let isolation = isolation_of(&isolation).unwrap_or(Isolation::NoneClaimed);
    let asked = place.settings.isolation;
    if asked.is_some_and(|asked| asked != isolation) {
        let what = format!(
            "{} was asked for another isolation and says {}",
            met.product.name,
            isolation.words()
        );
        return Err(Failure::new(FailureKind::Statement, what));
    }
    let settings = settings(&mut control).await?;
    let (durability, durability_evidence) = match met.product.own_word {
        Some(word) => (place.settings.durability, word.to_owned()),
        None => durability(&settings, place.settings.durability),
    };
    if durability != place.settings.durability {
        let what = format!(
            "durability={} was asked for, and the server says {}: {durability_evidence}",
            place.settings.durability.word(),
            durability.word()
        );
        return Err(Failure::new(FailureKind::Statement, what));
    }
    Ok(ReportedSettings {
        product: met.product.name.to_owned(),
        version: met.version.clone(),
        durability,
        durability_evidence,
        isolation,
        settings,
    })
}

/// The durability that settings stand for, and in words why. A server that does more than data was asked
/// for is said to do data: the asked word is what a run is compared by.
pub(crate) fn durability(settings: &[Setting], asked: Durability) -> (Durability, String) {
    let said = |name: &str| {
        let found = settings.iter().find(|setting| setting.name == name);
        found.map_or("not reported", |setting| setting.value.as_str())
    };
    let (fsync, waits) = (said("fsync"), said("synchronous_commit"));
    let mends = said("full_page_writes") != "off";
    let level = match (fsync, waits) {
        (_, "off") => Durability::None,
        ("on", _) if !mends => Durability::Os,
        ("on", _) if asked == Durability::Full && syncs_metadata(said("wal_sync_method")) => {
            Durability::Full
        }
        ("on", _) => Durability::Data,
        _ => Durability::Os,
    };
    let meaning = match level {
        Durability::None => format!(
            "a commit is acknowledged before its log is written, so a crash of the server may lose the last \
             moments, up to three times wal_writer_delay={}",
            said("wal_writer_delay")
        ),
        Durability::Os if fsync == "on" => {
            "a commit waits for its log, by which a page that a crash tears cannot be mended"
                .to_owned()
        }
        Durability::Os => "a commit's log is written and not synced".to_owned(),
        Durability::Data | Durability::Full => {
            "a commit waits until its log is written and synced".to_owned()
        }
    };
    let standby = match said("synchronous_standby_names") {
        "" | "not reported" => String::new(),
        names => format!(", synchronous_standby_names={names}"),
    };
    let words = format!(
        "fsync={fsync}, synchronous_commit={waits}, full_page_writes={}, wal_sync_method={}{standby} read \
         back from a session set as the clients' are: {meaning}",
        said("full_page_writes"),
        said("wal_sync_method"),
    );
    (level, words)
}

#[cfg(test)]
mod tests {
    use super::durability;
    use syncline_contract::{Durability, Setting};

    fn of(asked: Durability, pairs: &[(&str, &str)]) -> (Durability, String) {
        let setting = |(name, value): &(&str, &str)| Setting {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            said_by: "pg_settings".to_owned(),
        };
        durability(&pairs.iter().map(setting).collect::<Vec<_>>(), asked)
    }

    #[test]
    fn a_word_follows_from_what_the_server_says() {
        for (fsync, waits, level) in [
            ("on", "on", Durability::Data),
            ("on", "local", Durability::Data),
            ("on", "remote_apply", Durability::Data),
            ("on", "off", Durability::None),
            ("off", "on", Durability::Os),
            ("off", "off", Durability::None),
        ] {
            let (found, words) = of(
                Durability::Data,
                &[("fsync", fsync), ("synchronous_commit", waits), ("wal_sync_method", "fsync")],
            );
            assert_eq!(found, level, "{words}");
            assert!(words.contains(&format!("synchronous_commit={waits}")), "{words}");
        }
        for (method, level) in [("fsync", Durability::Full), ("fdatasync", Durability::Data)] {
            let said = [("fsync", "on"), ("synchronous_commit", "on"), ("wal_sync_method", method)];
            assert_eq!(of(Durability::Full, &said).0, level, "{method}");
        }
        let torn = [("fsync", "on"), ("synchronous_commit", "on"), ("full_page_writes", "off")];
        let (level, words) = of(Durability::Os, &torn);
        assert_eq!(level, Durability::Os, "{words}");
        assert!(words.contains("tears cannot be mended"), "{words}");
        let (level, words) = of(Durability::Data, &[]);
        assert_eq!(level, Durability::Os, "what is not told is not believed: {words}");
    }
}
