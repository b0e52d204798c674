//! MariaDB with InnoDB: its log in `ib_logfile0`, its pages in `*.ibd` and in `ibdata1`, where the copies
//! stand too that are written before pages are (the doublewrite buffer).

use super::server::Server;
use crate::durability::adapter::{Expected, Setting};
use crate::power::Class;
use std::path::Path;
use std::time::Duration;
use syncline_launcher::Product;

/// Pages that are written back bring the log to its file before: here they wait.
const SETTINGS: &[Setting] = &[
    Setting { name: "default settings", options: "", expected: Expected::Hold },
    Setting {
        name: "innodb_doublewrite=0",
        options: "innodb_doublewrite=0",
        expected: Expected::Lose,
    },
    Setting {
        name: "innodb_flush_log_at_trx_commit=2",
        options: "innodb_flush_log_at_trx_commit=2&innodb_max_dirty_pages_pct=90",
        expected: Expected::LoseLatest,
    },
    Setting {
        name: "innodb_flush_log_at_trx_commit=0",
        options: "innodb_flush_log_at_trx_commit=0&innodb_max_dirty_pages_pct=90",
        expected: Expected::LoseLatest,
    },
];

/// Those whose log is written or synced once in [`WINDOW`].
const LATE: &[&str] = &["innodb_flush_log_at_trx_commit=0", "innodb_flush_log_at_trx_commit=2"];

/// The default of `innodb_flush_log_at_timeout`: the log is written and synced once in it.
const WINDOW: Duration = Duration::from_secs(1);

/// Of 10.11, as decision 0014 shows. A test puts the copy in place by hand, and finds everything there.
const FIRST_PAGE: &str = "a first page of a tablespace was torn, and InnoDB did not restore it from its copy in the \
     doublewrite buffer, so that the table cannot be opened. Its recovery must open a file before it restores \
     pages of it, and since MDEV-34830 it opens one whose first page is torn only if the log since the last \
     checkpoint says that the file has grown; all other pages it restores. 10.11.19 does so still, no \
     setting changes it, and we know of no version that mends it. Storage that writes 16 KiB whole is not \
     affected, as ZFS with records of 16 KiB is said to: --no-tears tests that. On any other, copy the \
     data directory after a loss of power before you start the server, and look for \"The first page of \
     file\" in its log before anyone writes. If it is there, stop the server at once: it goes on without \
     the table, and overwrites the copy and the log that would mend it. Then restore the table from a backup, \
     or put the first page in place in your copy of the directory, from the doublewrite buffer in ibdata1";

/// See the module.
pub(super) static MARIADB: Server = Server {
    product: Product::Mariadb,
    settings: SETTINGS,
    // A file longer than 64 pages grows by many pages at once, and is then written for long without
    // growing, as files in use are.
    ballast: 300,
    // The least log and buffer pool there are, and pages written back as soon as they are changed.
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
    needs_tears: "innodb_doublewrite=0",
    late: (LATE, WINDOW),
    known: &[("The first page of file", FIRST_PAGE)],
    classify,
    of_the_machine: &["data/pid"],
};

fn classify(path: &Path) -> Class {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("ib_logfile") {
        Class::Log
    } else if name.ends_with(".ibd") || name.starts_with("ibdata") || name.starts_with("undo") {
        Class::Data
    } else if name == "aria_log_control" {
        Class::Control
    } else {
        Class::Other
    }
}
