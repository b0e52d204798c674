//! RocksDB: logs, sorted tables, and a manifest that lists the live ones.

use crate::durability::adapter::{Adapter, Embedded, Expected, Running, Setting};
use crate::error::Result;
use crate::power::{Class, Classify};
use std::path::Path;

/// Options for every URL that keep files small and often written.
const SMALL: &str = "write_buffer_mib=1";

/// The adapter of RocksDB.
#[derive(Debug)]
pub(super) struct Rocksdb;

impl Adapter for Rocksdb {
    fn name(&self) -> &'static str {
        "rocksdb"
    }

    fn settings(&self) -> &'static [Setting] {
        &[
            Setting {
                name: "durability=data (sync=true)",
                options: "durability=data",
                expected: Expected::Hold,
            },
            Setting {
                name: "durability=os (sync=false)",
                options: "durability=os",
                expected: Expected::Lose,
            },
        ]
    }

    fn classify(&self) -> Classify {
        |path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".log") {
                Class::Log
            } else if name.ends_with(".sst") {
                Class::Data
            } else if name.starts_with("MANIFEST-") || name == "CURRENT" {
                Class::Control
            } else {
                Class::Other
            }
        }
    }

    fn start(&self, directory: &Path, options: &str) -> Result<Box<dyn Running>> {
        let path = directory.join("store");
        Ok(Embedded::at(self.name(), &path, [options, SMALL]))
    }
}
