//! Maps SQLite's result codes to stops: conflicts, and failures with their kind.

use crate::transaction_phase::TransactionPhase;
use rusqlite::{Error, ErrorCode, ffi};
use std::path::Path;
use syncline_contract::{Cause, Failure, FailureKind, Stop};

/// How an error of SQLite stops a transaction.
pub(super) fn stop(error: &Error, during: TransactionPhase<'_>, path: &Path) -> Stop {
    if let Some(cause) = conflict(error) {
        return Stop::Conflict(cause);
    }
    let failure = failure(error, during, path);
    let commits = matches!(
        during,
        TransactionPhase::Commit | TransactionPhase::WholeTransaction(..) | TransactionPhase::Load
    );
    // After an I/O error in a commit the outcome depends on a later recovery. With a full disk it does
    // not: SQLite rolls back, and reports that.
    if commits && failure.kind == FailureKind::Storage {
        Stop::Unknown(Box::new(failure))
    } else {
        failure.into()
    }
}

/// A failure outside of transactions.
pub(super) fn outside(error: &Error, doing: &str, path: &Path) -> Failure {
    let what = format!("SQLite could not {doing} {}: {error}", path.display());
    Failure::new(kind(error), what)
}

fn failure(error: &Error, during: TransactionPhase<'_>, path: &Path) -> Failure {
    let kind = kind(error);
    let at = path.display();
    let what = |doing: &str| match kind {
        FailureKind::DiskFull => format!("no space is left for {at} ({doing}: {error})"),
        FailureKind::Storage => format!("SQLite could not read or write {at} ({doing}: {error})"),
        _ => format!("SQLite refused {doing}: {error}"),
    };
    during.failure(kind, "begin", what)
}

/// The cause, if the error is a conflict.
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
    use super::stop;
    use crate::transaction_phase::TransactionPhase;
    use rusqlite::{Error, ffi};
    use std::path::Path;
    use syncline_contract::{Cause, FailureKind, Stop};

    fn of(code: i32, during: TransactionPhase<'_>) -> Stop {
        stop(&Error::SqliteFailure(ffi::Error::new(code), None), during, Path::new("/store.db"))
    }

    #[test]
    fn codes_become_the_right_stops() {
        let busy = |code| of(code, TransactionPhase::Commit);
        assert!(matches!(busy(ffi::SQLITE_BUSY), Stop::Conflict(Cause::Locked)));
        assert!(matches!(busy(ffi::SQLITE_BUSY_SNAPSHOT), Stop::Conflict(Cause::Serialization)));
        for (code, kind) in [
            (ffi::SQLITE_FULL, FailureKind::DiskFull),
            (ffi::SQLITE_IOERR_FSYNC, FailureKind::Storage),
            (ffi::SQLITE_CORRUPT, FailureKind::Storage),
            (ffi::SQLITE_CONSTRAINT_PRIMARYKEY, FailureKind::Statement),
            (ffi::SQLITE_TOOBIG, FailureKind::Limit),
        ] {
            let Stop::Failed(failure) = of(code, TransactionPhase::Begin) else {
                panic!("code {code} fails");
            };
            assert_eq!(failure.kind, kind, "{failure}");
        }
    }

    #[test]
    fn an_io_error_in_a_commit_leaves_its_outcome_unknown_and_a_full_disk_does_not() {
        assert!(matches!(of(ffi::SQLITE_IOERR_FSYNC, TransactionPhase::Commit), Stop::Unknown(_)));
        assert!(matches!(of(ffi::SQLITE_FULL, TransactionPhase::Commit), Stop::Failed(_)));
    }
}
