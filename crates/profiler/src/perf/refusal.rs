//! Why the kernel refuses perf events, and how to permit them.

use rustix::io::Errno;
use std::io;
use std::path::Path;
use syncline_host::read_line;

/// How to permit sampling `what`, as a sentence.
pub(super) fn refusal(what: &str, error: &io::Error) -> String {
    let paranoid = read_line(Path::new("/proc/sys/kernel/perf_event_paranoid"));
    let level = paranoid.as_deref().and_then(|value| value.parse().ok());
    let says = paranoid
        .map_or_else(String::new, |value| format!(" (kernel.perf_event_paranoid is {value})"));
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::PERM) => format!(
            "the kernel does not let this user sample {what}{says}: run as root, or {}",
            way(level)
        ),
        Some(Errno::MFILE) => format!(
            "sampling {what} requires a file for each thread and processor, more than this process may open: \
             raise the limit by ulimit -n, or run as root"
        ),
        _ => format!("{what} cannot be sampled: {error}{says}"),
    }
}

fn way(level: Option<i32>) -> &'static str {
    match level {
        // With values from 3 on, which some distributions set, ordinary users may not use perf events at all.
        Some(3..) => {
            "as the user of those processes, after root has run: sysctl \
             kernel.perf_event_paranoid=2"
        }
        _ => "as root: sysctl kernel.perf_event_paranoid=-1",
    }
}

/// Why the kernel's side of a process is hidden, although the program's is visible.
pub(super) fn kernel_hidden() -> String {
    let value = read_line(Path::new("/proc/sys/kernel/perf_event_paranoid"));
    let value = value.as_deref().unwrap_or("unknown");
    format!(
        "the kernel hides its own stacks from this user (kernel.perf_event_paranoid is {value}): run as \
         root, or as root: sysctl kernel.perf_event_paranoid=1"
    )
}

#[cfg(test)]
mod tests {
    use super::{kernel_hidden, refusal, way};
    use rustix::io::Errno;

    #[test]
    fn a_refusal_says_how_to_permit_it() {
        let denied = refusal("processors at work", &Errno::ACCESS.into());
        assert!(denied.contains("processors at work") && denied.contains("root"), "{denied}");
        let full = refusal("processors at work", &Errno::MFILE.into());
        assert!(full.contains("ulimit -n"), "{full}");
        let other = refusal("system calls", &Errno::NODEV.into());
        assert!(other.starts_with("system calls cannot be sampled"), "{other}");
        assert!(way(Some(4)).contains("paranoid=2") && way(Some(2)).contains("paranoid=-1"));
        assert!(kernel_hidden().contains("perf_event_paranoid=1"));
    }
}
