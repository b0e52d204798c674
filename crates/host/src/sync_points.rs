//! The tracepoints that sync calls pass, for whoever counts those of every process.
//!
//! Most kernels have a tracepoint of each system call. At the one that all calls pass, the kernel makes a
//! record of every call on the machine before the filter is asked, which a server's select of 20 us pays
//! for six times and its client twice; so it is taken only where there is no other.

use crate::sync_calls::sync_filter;
use crate::tracepoint;

/// Those of each call.
pub const SYNC_TRACEPOINTS: [&str; 4] = [
    "syscalls/sys_enter_fsync",
    "syscalls/sys_enter_fdatasync",
    "syscalls/sys_enter_msync",
    "syscalls/sys_enter_syncfs",
];
/// The one of all calls.
pub(crate) const OF_ALL: &str = "raw_syscalls/sys_enter";

/// A tracepoint that sync calls pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyncPoint {
    /// Its number.
    pub(crate) number: u64,
    /// Which passes are syncs; none if all are.
    pub(crate) filter: Option<String>,
}

/// Those that every sync call passes one of, never none; the error is a sentence.
pub(crate) fn sync_points() -> Result<Vec<SyncPoint>, String> {
    let of_each = SYNC_TRACEPOINTS.iter().map(|name| tracepoint::number(name));
    if let Ok(numbers) = of_each.collect::<Result<Vec<_>, _>>() {
        let points = numbers.into_iter().map(|number| SyncPoint { number, filter: None });
        return Ok(points.collect());
    }
    Ok(vec![SyncPoint { number: tracepoint::number(OF_ALL)?, filter: Some(sync_filter()?) }])
}

#[cfg(test)]
mod tests {
    use super::{SYNC_TRACEPOINTS, sync_points};
    use crate::tracepoint;

    #[test]
    fn each_call_has_its_own_where_the_kernel_has_one_of_any() {
        let has_some = tracepoint::number("syscalls/sys_enter_close").is_ok();
        let Ok(points) = sync_points() else {
            assert!(!has_some, "what can be read of one can be read of all");
            return;
        };
        assert_eq!(points.len(), if has_some { SYNC_TRACEPOINTS.len() } else { 1 });
        assert_eq!(points[0].filter.is_none(), has_some);
    }
}
