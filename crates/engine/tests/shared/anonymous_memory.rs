//! The memory that the kernel counts for this process.

use std::fs;

/// Memory of the process that is not that of files, in bytes.
pub(crate) fn anonymous_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the kernel describes a process");
    let kib = status.lines().find_map(|line| {
        line.strip_prefix("RssAnon:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    kib.expect("the kernel counts the memory of a process") << 10
}
