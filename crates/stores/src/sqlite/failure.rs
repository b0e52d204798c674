//! SQLite's result codes as stops: what is a conflict, what a failure, and of which kind.

use rusqlite::{Error, ErrorCode, ffi};
use std::path::Path;
use syncline_contract::{Cause, Failure, FailureKind, Operation, OperationId, Stop};

/// What was under way.
#[derive(Clone, Copy, Debug)]
pub(super) enum During<'a> {
    /// An operation of the plan.
    Operation(OperationId, &'a Operation),
    /// An operation that is its whole transaction, so that its end is a commit.
    WholeTransaction(OperationId, &'a Operation),
    /// The start of a transaction.
    Begin,
    /// A commit.
    Commit,
    /// A bulk load.
    Load,
}

/// How a transaction stops on an error of SQLite.
pub(super) fn stop(error: &Error, during: During<'_>, path: &Path) -> Stop {
    if let Some(cause) = conflict(error) {
        return Stop::Conflict(cause);
    }
    let failure = failure(error, during, path);
    let commits = matches!(during, During::Commit | During::WholeTransaction(..) | During::Load);
    // After an I/O error in a commit nobody knows what a later recovery will find. A full disk is
    // another matter: SQLite rolls back, and says so.
    if commits && failure.kind == FailureKind::Storage {
        Stop::Unknown(Box::new(failure))
    } else {
        failure.into()
    }
}

/// A failure outside transactions.
pub(super) fn outside(error: &Error, doing: &str, path: &Path) -> Failure {
    let what = format!("SQLite could not {doing} {}: {error}", path.display());
    Failure::new(kind(error), what)
}

fn failure(error: &Error, during: During<'_>, path: &Path) -> Failure {
    let kind = kind(error);
    let at = path.display();
    let what = |doing: &str| match kind {
        FailureKind::DiskFull => format!("no space is left for {at} ({doing}: {error})"),
        FailureKind::Storage => format!("SQLite could not read or write {at} ({doing}: {error})"),
        _ => format!("SQLite refused {doing}: {error}"),
    };
    match during {
        During::Operation(id, operation) | During::WholeTransaction(id, operation) => {
            let doing = format!("operation \"{}\"", operation.name);
            Failure::new(kind, what(&doing)).in_operation(id)
        }
        During::Begin => Failure::new(kind, what("begin")),
        During::Commit => Failure::new(kind, what("commit")),
        During::Load => Failure::new(kind, what("load")),
    }
}

/// What was in the way, if the error is a conflict.
fn conflict(error: &Error) -> Option<Cause> {
    let Error::SqliteFailure(code, _) = error else {
        return None;
    };
    match code.code {
        ErrorCode::DatabaseBusy if code.extended_code == ffi::SQLITE_BUSY_SNAPSHOT => {
            Some(Cause::Serialization)
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Some(Cause::Locked),
        _ => None,
    }
}

fn kind(error: &Error) -> FailureKind {
    let Error::SqliteFailure(code, _) = error else {
        return FailureKind::Statement;
    };
    match code.code {
        ErrorCode::DiskFull => FailureKind::DiskFull,
        ErrorCode::SystemIoFailure
        | ErrorCode::DatabaseCorrupt
        | ErrorCode::NotADatabase
        | ErrorCode::CannotOpen
        | ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::InternalMalfunction => FailureKind::Storage,
        ErrorCode::OutOfMemory | ErrorCode::TooBig | ErrorCode::NoLargeFileSupport => {
            FailureKind::Limit
        }
        _ => FailureKind::Statement,
    }
}

#[cfg(test)]
mod tests {
    use super::{During, stop};
    use rusqlite::{Error, ffi};
    use std::path::Path;
    use syncline_contract::{Cause, FailureKind, Stop};

    fn of(code: i32, during: During<'_>) -> Stop {
        stop(&Error::SqliteFailure(ffi::Error::new(code), None), during, Path::new("/store.db"))
    }

    #[test]
    fn codes_become_the_right_stops() {
        let busy = |code| of(code, During::Commit);
        assert!(matches!(busy(ffi::SQLITE_BUSY), Stop::Conflict(Cause::Locked)));
        assert!(matches!(busy(ffi::SQLITE_BUSY_SNAPSHOT), Stop::Conflict(Cause::Serialization)));
        for (code, kind) in [
            (ffi::SQLITE_FULL, FailureKind::DiskFull),
            (ffi::SQLITE_IOERR_FSYNC, FailureKind::Storage),
            (ffi::SQLITE_CORRUPT, FailureKind::Storage),
            (ffi::SQLITE_CONSTRAINT_PRIMARYKEY, FailureKind::Statement),
            (ffi::SQLITE_TOOBIG, FailureKind::Limit),
        ] {
            let Stop::Failed(failure) = of(code, During::Begin) else {
                panic!("code {code} fails");
            };
            assert_eq!(failure.kind, kind, "{failure}");
        }
    }

    #[test]
    fn an_io_error_in_a_commit_leaves_its_outcome_unknown_and_a_full_disk_does_not() {
        assert!(matches!(of(ffi::SQLITE_IOERR_FSYNC, During::Commit), Stop::Unknown(_)));
        assert!(matches!(of(ffi::SQLITE_FULL, During::Commit), Stop::Failed(_)));
    }
}
