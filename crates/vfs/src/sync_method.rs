//! The ways Linux offers to make one write stable, and what each promises.
//!
//! The kernel's documentation decides (man pages open(2), fsync(2), pwritev2(2), `sync_file_range(2)`):
//! `sync_file_range` writes pages but neither metadata nor the device's cache, so it is listed and measured
//! as not durable, and can never be a sync line.

/// The guarantee of a method once it has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Nothing that survives a power loss.
    NotDurable,
    /// Data, and the metadata needed to read it back.
    Data,
    /// Data and all metadata.
    Full,
}

/// A way to make one write stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SyncMethod {
    /// Buffered write, then `fsync`.
    Fsync,
    /// Buffered write, then `fdatasync`.
    Fdatasync,
    /// Buffered write to a file opened with `O_SYNC`.
    OSync,
    /// Buffered write to a file opened with `O_DSYNC`.
    ODsync,
    /// Buffered `pwritev2` with `RWF_DSYNC`.
    RwfDsync,
    /// Direct write, then `fsync`.
    DirectFsync,
    /// Direct write, then `fdatasync`.
    DirectFdatasync,
    /// Direct write to a file opened with `O_SYNC`.
    DirectOSync,
    /// Direct write to a file opened with `O_DSYNC`.
    DirectODsync,
    /// Direct `pwritev2` with `RWF_DSYNC`.
    DirectRwfDsync,
    /// io_uring: direct write and `fdatasync` submitted as one linked chain.
    UringLinked,
    /// io_uring: direct write awaited, then `fdatasync` submitted.
    UringUnlinked,
    /// Buffered write, then `sync_file_range` with all three wait flags: not durable.
    SyncFileRange,
}

impl SyncMethod {
    /// Every method, in the order of the probe's table.
    pub const ALL: [SyncMethod; 13] = [
        SyncMethod::Fsync,
        SyncMethod::Fdatasync,
        SyncMethod::OSync,
        SyncMethod::ODsync,
        SyncMethod::RwfDsync,
        SyncMethod::DirectFsync,
        SyncMethod::DirectFdatasync,
        SyncMethod::DirectOSync,
        SyncMethod::DirectODsync,
        SyncMethod::DirectRwfDsync,
        SyncMethod::UringLinked,
        SyncMethod::UringUnlinked,
        SyncMethod::SyncFileRange,
    ];

    /// The stable name in tables and records.
    pub fn name(self) -> &'static str {
        match self {
            SyncMethod::Fsync => "fsync",
            SyncMethod::Fdatasync => "fdatasync",
            SyncMethod::OSync => "O_SYNC",
            SyncMethod::ODsync => "O_DSYNC",
            SyncMethod::RwfDsync => "RWF_DSYNC",
            SyncMethod::DirectFsync => "O_DIRECT + fsync",
            SyncMethod::DirectFdatasync => "O_DIRECT + fdatasync",
            SyncMethod::DirectOSync => "O_DIRECT + O_SYNC",
            SyncMethod::DirectODsync => "O_DIRECT + O_DSYNC",
            SyncMethod::DirectRwfDsync => "O_DIRECT + RWF_DSYNC",
            SyncMethod::UringLinked => "io_uring linked",
            SyncMethod::UringUnlinked => "io_uring unlinked",
            SyncMethod::SyncFileRange => "sync_file_range",
        }
    }

    /// The method with that name.
    pub fn from_name(name: &str) -> Option<SyncMethod> {
        SyncMethod::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The kernel's guarantee for it.
    pub fn promise(self) -> Promise {
        match self {
            SyncMethod::SyncFileRange => Promise::NotDurable,
            SyncMethod::Fsync
            | SyncMethod::OSync
            | SyncMethod::DirectFsync
            | SyncMethod::DirectOSync => Promise::Full,
            SyncMethod::Fdatasync
            | SyncMethod::ODsync
            | SyncMethod::RwfDsync
            | SyncMethod::DirectFdatasync
            | SyncMethod::DirectODsync
            | SyncMethod::DirectRwfDsync
            | SyncMethod::UringLinked
            | SyncMethod::UringUnlinked => Promise::Data,
        }
    }

    /// True if it bypasses the page cache and so needs whole, aligned blocks.
    pub fn is_direct(self) -> bool {
        matches!(
            self,
            SyncMethod::DirectFsync
                | SyncMethod::DirectFdatasync
                | SyncMethod::DirectOSync
                | SyncMethod::DirectODsync
                | SyncMethod::DirectRwfDsync
                | SyncMethod::UringLinked
                | SyncMethod::UringUnlinked
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Promise, SyncMethod};

    #[test]
    fn names_are_distinct_and_parse_back() {
        for method in SyncMethod::ALL {
            assert_eq!(SyncMethod::from_name(method.name()), Some(method));
        }
    }

    #[test]
    fn only_sync_file_range_promises_nothing() {
        let not_durable: Vec<_> = SyncMethod::ALL
            .into_iter()
            .filter(|method| method.promise() == Promise::NotDurable)
            .collect();
        assert_eq!(not_durable, [SyncMethod::SyncFileRange]);
    }
}
