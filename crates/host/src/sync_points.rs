//! The tracepoints that sync calls pass, for counters of every process's syncs.
//!
//! Most kernels have a tracepoint for each system call. At the tracepoint that all calls share, the kernel
//! makes a record of every call on the machine before it applies the filter. A server's select of 20 us pays
//! for that six times and its client twice, so the shared tracepoint is used only if there is no other.

use crate::sync_calls::sync_filter;
use crate::tracepoint;

/// The tracepoint of each sync call.
pub const SYNC_TRACEPOINTS: [&str; 4] = [
    "syscalls/sys_enter_fsync",
    "syscalls/sys_enter_fdatasync",
    "syscalls/sys_enter_msync",
    "syscalls/sys_enter_syncfs",
];
/// The tracepoint of all system calls.
pub(crate) const ALL_CALLS: &str = "raw_syscalls/sys_enter";

/// A tracepoint that sync calls pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyncPoint {
    /// Its number.
    pub(crate) number: u64,
    /// Selects the passes that are syncs; none if all are.
    pub(crate) filter: Option<String>,
}

/// The tracepoints of which every sync call passes exactly one, at least one; the error is a sentence.
pub(crate) fn sync_points() -> Result<Vec<SyncPoint>, String> {
    let of_each = SYNC_TRACEPOINTS.iter().map(|name| tracepoint::number(name));
    if let Ok(numbers) = of_each.collect::<Result<Vec<_>, _>>() {
        let points = numbers.into_iter().map(|number| SyncPoint { number, filter: None });
        return Ok(points.collect());
    }
    Ok(vec![SyncPoint { number: tracepoint::number(ALL_CALLS)?, filter: Some(sync_filter()?) }])
}

#[cfg(test)]
mod tests {
    use super::{SYNC_TRACEPOINTS, sync_points};
    use crate::tracepoint;

    #[test]
    fn each_sync_call_has_its_own_tracepoint_if_the_kernel_has_any() {
        let has_some = tracepoint::number("syscalls/sys_enter_close").is_ok();
        let Ok(points) = sync_points() else {
            assert!(
                !has_some,
                "a kernel with the tracepoint of one call has those of all sync calls"
            );
            return;
        };
        assert_eq!(points.len(), if has_some { SYNC_TRACEPOINTS.len() } else { 1 });
        assert_eq!(points[0].filter.is_none(), has_some);
    }
}
