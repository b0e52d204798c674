//! Durability and isolation, read back in a session with the clients' settings.

use super::control::Control;
use super::preflight::{Preflight, syncs_metadata};
use super::protocol::ServerLocation;
use super::settings::{Names, isolation_of};
use crate::server::SchemaName;
use syncline_contract::{
    Durability, Failure, FailureKind, Isolation, ReportedSettings, Setting, TargetResult,
};

/// Settings that affect speed or safety.
const SETTINGS: &str = "SELECT name, setting || coalesce(' ' || unit, '') FROM pg_settings WHERE name IN \
     ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'synchronous_standby_names', \
     'wal_level', 'wal_compression', 'commit_delay', 'commit_siblings', 'wal_writer_delay', \
     'shared_buffers', 'max_wal_size', 'checkpoint_timeout', 'wal_buffers', 'data_checksums', \
     'huge_pages', 'jit', 'autovacuum', 'max_connections', 'server_version', \
     'default_transaction_isolation', 'lock_timeout', 'deadlock_timeout', 'track_wal_io_timing', \
     'data_directory') ORDER BY name";

/// The settings that affect the speed and safety of commits, as a session sees them.
pub(super) async fn settings(control: &mut Control) -> TargetResult<Vec<Setting>> {
    let rows = control.rows(SETTINGS).await?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            let mut cells = row.into_iter();
            Some(Setting {
                name: cells.next()??,
                value: cells.next()?.unwrap_or_default(),
                source: "pg_settings".to_owned(),
            })
        })
        .collect())
}

/// The settings in force; fails if they differ from what the URL requires.
pub(super) async fn read(
    place: &ServerLocation,
    preflight: &Preflight,
    schema: &SchemaName,
) -> TargetResult<ReportedSettings> {
    let mut control = Control::open(place).await?;
    for statement in place.settings.session(schema, Names::Managed) {
        control.run(&statement).await?;
    }
    let isolation = control.text("SHOW default_transaction_isolation").await?;
    let isolation = isolation_of(&isolation).unwrap_or(Isolation::NoneClaimed);
    let asked = place.settings.isolation;
    if asked.is_some_and(|asked| asked != isolation) {
        let what = format!(
            "{} reports isolation {} instead of the one that the URL sets",
            preflight.product.name,
            isolation.words()
        );
        return Err(Failure::new(FailureKind::Statement, what));
    }
    let settings = settings(&mut control).await?;
    let (durability, durability_evidence) = match preflight.product.durability_note {
        Some(word) => (place.settings.durability, word.to_owned()),
        None => durability(&settings, place.settings.durability),
    };
    if durability != place.settings.durability {
        let what = format!(
            "the URL sets durability={}, and the server reports {}: {durability_evidence}",
            place.settings.durability.word(),
            durability.word()
        );
        return Err(Failure::new(FailureKind::Statement, what));
    }
    Ok(ReportedSettings {
        product: preflight.product.name.to_owned(),
        version: preflight.version.clone(),
        durability,
        durability_evidence,
        isolation,
        settings,
    })
}

/// The durability that settings provide, with a sentence that explains it. A server that does more than
/// `data` when `data` was requested is reported as `data`: runs are compared by the requested word.
pub(crate) fn durability(settings: &[Setting], asked: Durability) -> (Durability, String) {
    let reported = |name: &str| {
        let found = settings.iter().find(|setting| setting.name == name);
        found.map_or("not reported", |setting| setting.value.as_str())
    };
    let (fsync, waits) = (reported("fsync"), reported("synchronous_commit"));
    let repairs_torn_pages = reported("full_page_writes") != "off";
    let level = match (fsync, waits) {
        (_, "off") => Durability::None,
        ("on", _) if !repairs_torn_pages => Durability::Os,
        ("on", _) if asked == Durability::Full && syncs_metadata(reported("wal_sync_method")) => {
            Durability::Full
        }
        ("on", _) => Durability::Data,
        _ => Durability::Os,
    };
    let meaning = match level {
        Durability::None => format!(
            "a commit is acknowledged before its log is written, so a crash of the server may lose the last \
             moments, up to three times wal_writer_delay={}",
            reported("wal_writer_delay")
        ),
        Durability::Os if fsync == "on" => {
            "a commit waits for its log, which cannot repair a page torn by a crash".to_owned()
        }
        Durability::Os => "a commit's log is written and not synced".to_owned(),
        Durability::Data | Durability::Full => {
            "a commit waits until its log is written and synced".to_owned()
        }
    };
    let standby = match reported("synchronous_standby_names") {
        "" | "not reported" => String::new(),
        names => format!(", synchronous_standby_names={names}"),
    };
    let words = format!(
        "fsync={fsync}, synchronous_commit={waits}, full_page_writes={}, wal_sync_method={}{standby}, read \
         back from a session with the clients' settings: {meaning}",
        reported("full_page_writes"),
        reported("wal_sync_method"),
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
            source: "pg_settings".to_owned(),
        };
        durability(&pairs.iter().map(setting).collect::<Vec<_>>(), asked)
    }

    #[test]
    fn durability_follows_from_the_reported_settings() {
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
            let reported =
                [("fsync", "on"), ("synchronous_commit", "on"), ("wal_sync_method", method)];
            assert_eq!(of(Durability::Full, &reported).0, level, "{method}");
        }
        let torn = [("fsync", "on"), ("synchronous_commit", "on"), ("full_page_writes", "off")];
        let (level, words) = of(Durability::Os, &torn);
        assert_eq!(level, Durability::Os, "{words}");
        assert!(words.contains("cannot repair a page torn by a crash"), "{words}");
        let (level, words) = of(Durability::Data, &[]);
        assert_eq!(level, Durability::Os, "an unreported setting counts as off: {words}");
    }
}
