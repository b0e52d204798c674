//! MariaDB with InnoDB. The log is `ib_logfile0`, the pages are in `*.ibd` and in `ibdata1`, which also holds
//! the doublewrite buffer: copies of pages, written before the pages themselves.

use super::server::Server;
use crate::durability::adapter::{Expected, Setting};
use crate::power::Class;
use std::path::Path;
use std::time::Duration;
use syncline_launcher::Product;

/// Writing back a page first flushes the log; `innodb_max_dirty_pages_pct=90` delays that, so that the last
/// two settings can lose transactions.
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

/// The settings that write or sync the log once per [`WINDOW`].
const LATE: &[&str] = &["innodb_flush_log_at_trx_commit=0", "innodb_flush_log_at_trx_commit=2"];

/// The default of `innodb_flush_log_at_timeout`.
const WINDOW: Duration = Duration::from_secs(1);

/// A known failure of 10.11, see decision 0014. A test restores the page from its copy by hand and finds all
/// data.
const FIRST_PAGE: &str = "the first page of a tablespace was torn, and InnoDB did not restore it from its copy in the \
     doublewrite buffer, so the table cannot be opened. Recovery must open a file before it can restore \
     its pages, and since MDEV-34830 it opens a file with a torn first page only if the log since the last \
     checkpoint shows that the file has grown; it does restore all other pages. 10.11.19 still does so, no \
     setting changes it, and no fixed version is known. Storage that writes 16 KiB atomically is not \
     affected (reportedly ZFS with 16 KiB records); test that with --no-tears. On any other storage, copy the \
     data directory after a power loss before you start the server, and search its log for \"The first page of \
     file\" before anyone writes. If the line is there, stop the server at once: it continues without \
     the table, and overwrites the copy and the log that could repair it. Then restore the table from a backup, \
     or write the first page from the doublewrite buffer in ibdata1 into your copy of the directory";

/// The adapter of MariaDB.
pub(super) static MARIADB: Server = Server {
    product: Product::Mariadb,
    settings: SETTINGS,
    // A file longer than 64 pages grows by many pages at once, and is then written for a long time without
    // growing, like a file in production use.
    ballast: 300,
    // The smallest log and buffer pool that MariaDB accepts; changed pages are written back at once.
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
    known_causes: &[("The first page of file", FIRST_PAGE)],
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
