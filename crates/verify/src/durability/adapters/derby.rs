//! Derby, embedded, through its JDBC driver in the child's JVM. The log is `log/log1.dat` and so on, the
//! pages are `seg0/*.dat`, and `log.ctrl` marks where recovery begins.
//!
//! The jar files come from the local Maven repository.

use crate::durability::adapter::{Adapter, Embedded, Expected, Running, Setting};
use crate::error::{Error, Result};
use crate::power::{Class, Classify};
use std::path::{Path, PathBuf};
use syncline_launcher::derby_jars;

/// The adapter of Derby.
#[derive(Debug)]
pub(super) struct Derby;

impl Adapter for Derby {
    fn name(&self) -> &'static str {
        "derby"
    }

    fn settings(&self) -> &'static [Setting] {
        &[
            Setting {
                name: "default settings",
                options: "durability=data",
                expected: Expected::Hold,
            },
            Setting {
                name: "derby.system.durability=test",
                options: "durability=none",
                expected: Expected::Lose,
            },
        ]
    }

    fn fast_directory(&self) -> Option<PathBuf> {
        super::server::memory()
    }

    /// The smallest page cache, and the most frequent checkpoints and log switches, that Derby allows.
    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        &[(
            "JAVA_TOOL_OPTIONS",
            "-Dderby.storage.pageCacheSize=40 -Dderby.storage.checkpointInterval=100000 \
             -Dderby.storage.logSwitchInterval=100000 -XX:TieredStopAtLevel=1 -Xmx256m",
        )]
    }

    fn classify(&self) -> Classify {
        |path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let folder = path.parent().and_then(Path::file_name);
            let folder = folder.unwrap_or_default().to_string_lossy();
            match (&*folder, &*name) {
                ("log", "log.ctrl" | "logmirror.ctrl") => Class::Control,
                ("log", name) if Path::new(name).extension() == Some("dat".as_ref()) => Class::Log,
                ("seg0", _) => Class::Data,
                (_, "service.properties") => Class::Control,
                _ => Class::Other,
            }
        }
    }

    fn start(&self, directory: &Path, options: &str) -> Result<Box<dyn Running>> {
        let jars = derby_jars().map_err(Error::CannotRun)?;
        let jars: Vec<String> = jars.iter().map(|jar| jar.display().to_string()).collect();
        let driver = format!("driver={}", jars.join(":"));
        let path = directory.join("store");
        Ok(Embedded::at("jdbc:derby", &path, [options, &driver]))
    }

    /// The lock files of a running Derby.
    fn of_the_machine(&self) -> &'static [&'static str] {
        &["store/database/db.lck", "store/database/dbex.lck"]
    }
}
