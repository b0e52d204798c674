//! Syncline's own engine, seen from outside: a data file and a directory of log segments.

use crate::durability::adapter::{Adapter, Embedded, Expected, Running, Setting};
use crate::error::Result;
use crate::power::{Class, Classify};
use std::path::Path;

/// Options for every URL that keep files small and often written.
const SMALL: &str = "segment_kib=64&checkpoint_kib=64&page_kib=4";

/// The adapter of the engine.
#[derive(Debug)]
pub(super) struct Engine;

impl Adapter for Engine {
    fn name(&self) -> &'static str {
        "engine"
    }

    fn settings(&self) -> &'static [Setting] {
        &[
            Setting {
                name: "durability=data",
                options: "durability=data",
                expected: Expected::Hold,
            },
            Setting {
                name: "durability=none",
                options: "durability=none",
                expected: Expected::Lose,
            },
            Setting {
                name: "durability=full",
                options: "durability=full",
                expected: Expected::Hold,
            },
        ]
    }

    fn classify(&self) -> Classify {
        |path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("segment-") {
                Class::Log
            } else if name.starts_with("data") {
                Class::Data
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
