//! PostgreSQL. The log is in `pg_wal`, the pages are in `base` and `global`, and `pg_control` marks where
//! recovery begins.

use super::server::Server;
use crate::durability::adapter::{Expected, Setting};
use crate::power::Class;
use std::path::Path;
use std::time::Duration;
use syncline_launcher::Product;

const SETTINGS: &[Setting] = &[
    Setting { name: "default settings", options: "", expected: Expected::Hold },
    Setting { name: "fsync=off", options: "fsync=off", expected: Expected::Lose },
    Setting {
        name: "full_page_writes=off",
        options: "full_page_writes=off",
        expected: Expected::Lose,
    },
    Setting {
        name: "synchronous_commit=off",
        options: "synchronous_commit=off",
        expected: Expected::LoseLatest,
    },
];

/// Three times the default of `wal_writer_delay`: the bound that the manual gives for
/// `synchronous_commit=off`.
const WINDOW: Duration = Duration::from_millis(600);

/// The adapter of PostgreSQL.
pub(super) static POSTGRES: Server = Server {
    product: Product::Postgres,
    settings: SETTINGS,
    ballast: 0,
    // initdb sets segments of 1 MB. Few buffers and a busy background writer get pages to their files
    // quickly.
    small: "shared_buffers=512kB&max_wal_size=2MB&min_wal_size=2MB&bgwriter_delay=10ms\
            &bgwriter_lru_maxpages=1000&bgwriter_lru_multiplier=10&max_connections=20",
    durability: |word| match word {
        "data" => Some(""),
        "full" => Some("wal_sync_method=fsync"),
        "os" => Some("fsync=off"),
        "none" => Some("synchronous_commit=off"),
        _ => None,
    },
    word: |value| {
        let is_off = |name| matches!(value(name).as_deref(), Some("off" | "false" | "no" | "0"));
        if is_off("synchronous_commit") {
            "none"
        } else if is_off("fsync") || is_off("full_page_writes") {
            "os"
        } else {
            "data"
        }
    },
    needs_tears: "full_page_writes=off",
    late: (&["synchronous_commit=off"], WINDOW),
    known_causes: &[],
    classify,
    of_the_machine: &["data/postmaster.pid", "data/postmaster.opts"],
};

fn classify(path: &Path) -> Class {
    let Ok(path) = path.strip_prefix("data") else {
        return Class::Other;
    };
    let first = path.components().next();
    let first = first.map(|part| part.as_os_str().to_string_lossy());
    match first.as_deref() {
        Some("pg_wal") if path.components().count() == 2 => Class::Log,
        Some("global") if path.ends_with("pg_control") => Class::Control,
        Some("base" | "global" | "pg_xact" | "pg_multixact" | "pg_commit_ts") => Class::Data,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::classify;
    use crate::power::Class;
    use std::path::Path;

    #[test]
    fn paths_determine_classes() {
        for (path, class) in [
            ("data/pg_wal/000000010000000000000009", Class::Log),
            ("data/pg_wal/archive_status/x.done", Class::Other),
            ("data/global/pg_control", Class::Control),
            ("data/global/1262", Class::Data),
            ("data/base/1/16384_fsm", Class::Data),
            ("data/pg_xact/0000", Class::Data),
            ("data/postmaster.pid", Class::Other),
            ("elsewhere/base/1", Class::Other),
        ] {
            assert_eq!(classify(Path::new(path)), class, "{path}");
        }
    }
}
