//! PostgreSQL: its log in `pg_wal`, its pages in `base` and `global`, and `pg_control`, which says where
//! recovery begins.

use super::server::{Server, memory};
use crate::durability::adapter::{Adapter, Expected, Running, Setting};
use crate::error::{Result, doing};
use crate::power::{Class, Classify};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use syncline_targets::private::Product;

/// See the module.
#[derive(Debug)]
pub(super) struct Postgres;

/// Segments of 1 MB are initdb's; few buffers and a busy background writer bring pages to their files.
pub(super) static SERVER: Server = Server {
    product: Product::Postgres,
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
};

/// Three times the default of `wal_writer_delay`: what the manual says of `synchronous_commit=off`.
const WINDOW: Duration = Duration::from_millis(600);

/// What a machine that boots has not.
const OF_THE_MACHINE: [&str; 2] = ["data/postmaster.pid", "data/postmaster.opts"];

impl Adapter for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn settings(&self) -> &'static [Setting] {
        &[
            Setting {
                name: "default settings",
                options: "",
                expected: Expected::Hold,
            },
            Setting {
                name: "fsync=off",
                options: "fsync=off",
                expected: Expected::Lose,
            },
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
        ]
    }

    fn small(&self) -> &'static str {
        SERVER.small
    }

    fn needs_tears(&self, options: &str) -> bool {
        options == "full_page_writes=off"
    }

    fn window(&self, options: &str) -> Option<Duration> {
        let is_late = options
            .split('&')
            .any(|option| option == "synchronous_commit=off");
        is_late.then_some(WINDOW)
    }

    fn place(&self) -> Option<PathBuf> {
        memory()
    }

    fn classify(&self) -> Classify {
        |path| {
            let Ok(path) = path.strip_prefix("data") else {
                return Class::Other;
            };
            let first = path.components().next();
            let first = first.map(|part| part.as_os_str().to_string_lossy());
            match first.as_deref() {
                Some("pg_wal") if path.components().count() == 2 => Class::Log,
                Some("global") if path.ends_with("pg_control") => Class::Control,
                Some("base" | "global" | "pg_xact" | "pg_multixact" | "pg_commit_ts") => {
                    Class::Data
                }
                _ => Class::Other,
            }
        }
    }

    fn make(&self, directory: &Path) -> Result<()> {
        SERVER.make(directory)
    }

    fn start(&self, directory: &Path, options: &str) -> Result<Box<dyn Running>> {
        SERVER.start(directory, options)
    }

    fn reboot(&self, directory: &Path) -> Result<()> {
        for name in OF_THE_MACHINE {
            let path = directory.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(doing("remove", &path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Postgres;
    use crate::durability::adapter::Adapter;
    use crate::power::Class;
    use std::path::Path;

    #[test]
    fn a_path_says_what_a_file_is() {
        let classify = Postgres.classify();
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
