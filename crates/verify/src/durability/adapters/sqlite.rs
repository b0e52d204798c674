//! SQLite: one file, with its write-ahead log or rollback journal next to it.

use crate::durability::adapter::{Adapter, Embedded, Expected, Running, Setting};
use crate::error::Result;
use crate::power::{Class, Classify};
use std::path::Path;

/// Options for every URL that keep files small and often written.
const SMALL: &str = "checkpoint_pages=60";

/// The adapter of SQLite.
#[derive(Debug)]
pub(super) struct Sqlite;

impl Adapter for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn settings(&self) -> &'static [Setting] {
        &[
            Setting {
                name: "WAL, synchronous=FULL",
                options: "durability=data",
                expected: Expected::Hold,
            },
            Setting {
                name: "WAL, synchronous=OFF",
                options: "durability=os",
                expected: Expected::Lose,
            },
            Setting {
                name: "WAL, synchronous=NORMAL",
                options: "durability=os&synchronous=normal",
                expected: Expected::LoseLatest,
            },
        ]
    }

    fn classify(&self) -> Classify {
        |path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with("-wal") || name.ends_with("-journal") {
                Class::Log
            } else if name.ends_with(".db") {
                Class::Data
            } else {
                Class::Other
            }
        }
    }

    fn start(&self, directory: &Path, options: &str) -> Result<Box<dyn Running>> {
        let path = directory.join("store.db");
        Ok(Embedded::at(self.name(), &path, [options, SMALL]))
    }
}
