//! MariaDB with InnoDB: its log in `ib_logfile0`, its pages in `*.ibd` and in `ibdata1`, where the copies
//! stand too that are written before pages are (the doublewrite buffer).

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
pub(super) struct Mariadb;

/// The least log and buffer pool there are, and pages written back as soon as they are changed.
pub(super) static SERVER: Server = Server {
    product: Product::Mariadb,
    small: "innodb_log_file_size=4M&innodb_buffer_pool_size=6M&innodb_log_buffer_size=2M\
            &innodb_data_file_path=ibdata1:5M:autoextend&innodb_autoextend_increment=1\
            &innodb_temp_data_file_path=ibtmp1:5M:autoextend&innodb_max_dirty_pages_pct=0\
            &innodb_io_capacity=2000&performance_schema=0",
    durability: |word| match word {
        "data" => Some(""),
        "os" => Some("innodb_flush_log_at_trx_commit=2"),
        "none" => Some("innodb_flush_log_at_trx_commit=0"),
        _ => None,
    },
    word: |value| {
        let flush = value("innodb_flush_log_at_trx_commit");
        let is_off = |name| matches!(value(name).as_deref(), Some("off" | "0"));
        let method = value("innodb_flush_method").unwrap_or_default();
        let lazy = ["nosync", "littlesync", "o_direct_no_fsync"].contains(&&*method);
        match flush.as_deref() {
            Some("0") => "none",
            Some("2") => "os",
            _ if lazy || is_off("innodb_doublewrite") => "os",
            _ => "data",
        }
    },
};

/// The default of `innodb_flush_log_at_timeout`: the log is written and synced once in it.
const WINDOW: Duration = Duration::from_secs(1);

/// Pages that are written back bring the log to its file before: here they wait.
const WRITTEN_LATER: &str = "innodb_flush_log_at_trx_commit=0&innodb_max_dirty_pages_pct=90";
const SYNCED_LATER: &str = "innodb_flush_log_at_trx_commit=2&innodb_max_dirty_pages_pct=90";

impl Adapter for Mariadb {
    fn name(&self) -> &'static str {
        "mariadb"
    }

    fn settings(&self) -> &'static [Setting] {
        &[
            Setting {
                name: "default settings",
                options: "",
                expected: Expected::Hold,
            },
            Setting {
                name: "innodb_doublewrite=0",
                options: "innodb_doublewrite=0",
                expected: Expected::Lose,
            },
            Setting {
                name: "innodb_flush_log_at_trx_commit=2",
                options: SYNCED_LATER,
                expected: Expected::LoseLatest,
            },
            Setting {
                name: "innodb_flush_log_at_trx_commit=0",
                options: WRITTEN_LATER,
                expected: Expected::LoseLatest,
            },
        ]
    }

    fn small(&self) -> &'static str {
        SERVER.small
    }

    fn needs_tears(&self, options: &str) -> bool {
        options == "innodb_doublewrite=0"
    }

    fn window(&self, options: &str) -> Option<Duration> {
        let late = [
            "innodb_flush_log_at_trx_commit=0",
            "innodb_flush_log_at_trx_commit=2",
        ];
        let is_late = options.split('&').any(|option| late.contains(&option));
        is_late.then_some(WINDOW)
    }

    fn place(&self) -> Option<PathBuf> {
        memory()
    }

    fn classify(&self) -> Classify {
        |path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("ib_logfile") {
                Class::Log
            } else if name.ends_with(".ibd")
                || name.starts_with("ibdata")
                || name.starts_with("undo")
            {
                Class::Data
            } else if name == "aria_log_control" {
                Class::Control
            } else {
                Class::Other
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
        let path = directory.join("data/pid");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(doing("remove", &path)(error)),
            _ => Ok(()),
        }
    }
}
