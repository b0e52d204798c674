//! Converts a store's I/O errors to stops and failures; the table is in [`KeyValue`](super::KeyValue).

use super::store::WatchedKeyChanged;
use crate::outcome::{Cause, Failure, FailureKind, Stop};
use std::io::{self, ErrorKind};

/// The stop for a failed read: nothing was committed.
pub(super) fn of_read(error: &io::Error, store: &str) -> Stop {
    conflict(error).unwrap_or_else(|| outside(error, store, "read").into())
}

/// The stop for a failed commit: the outcome is unknown unless the store reports that it did nothing.
pub(super) fn of_commit(error: &io::Error, store: &str) -> Stop {
    conflict(error).unwrap_or_else(|| {
        let failure = outside(error, store, "commit");
        if failure.kind == FailureKind::Limit {
            failure.into()
        } else {
            Stop::Unknown(Box::new(failure))
        }
    })
}

/// A failure outside transactions, or one that is not a conflict.
pub(super) fn outside(error: &io::Error, store: &str, action: &str) -> Failure {
    Failure::new(kind(error), format!("{store} could not {action}: {error}"))
}

/// The failure of a store that cannot be reached.
pub(super) fn unreachable(error: &io::Error, store: &str) -> Failure {
    Failure::new(kind(error), format!("cannot connect to {store}: {error}"))
}

/// The failure of a refused statement.
pub(super) fn statement(what: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Statement, what)
}

fn conflict(error: &io::Error) -> Option<Stop> {
    if matches!(error.get_ref(), Some(inner) if inner.is::<WatchedKeyChanged>()) {
        return Some(Stop::Conflict(Cause::Serialization));
    }
    match error.kind() {
        ErrorKind::ResourceBusy => Some(Stop::Conflict(Cause::Locked)),
        ErrorKind::Deadlock => Some(Stop::Conflict(Cause::Deadlock)),
        _ => None,
    }
}

fn kind(error: &io::Error) -> FailureKind {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            FailureKind::DiskFull
        }
        ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::NotConnected
        | ErrorKind::BrokenPipe
        | ErrorKind::TimedOut
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable => FailureKind::Connection,
        ErrorKind::InvalidInput => FailureKind::Limit,
        _ => FailureKind::Storage,
    }
}

#[cfg(test)]
mod tests {
    use super::{of_commit, of_read};
    use crate::key_value::WatchedKeyChanged;
    use crate::outcome::{Cause, FailureKind, Stop};
    use std::io::{Error, ErrorKind};

    #[test]
    fn unknown_and_refused_commits_are_distinguished() {
        let commit = |kind: ErrorKind| of_commit(&kind.into(), "s");
        let unknown = [
            (ErrorKind::StorageFull, FailureKind::DiskFull),
            (ErrorKind::BrokenPipe, FailureKind::Connection),
            (ErrorKind::Other, FailureKind::Storage),
        ];
        for (given, expected) in unknown {
            let stop = commit(given);
            assert!(
                matches!(&stop, Stop::Unknown(failure) if failure.kind == expected),
                "{given}: {stop:?}"
            );
        }
        assert!(matches!(
            commit(ErrorKind::InvalidInput),
            Stop::Failed(failure) if failure.kind == FailureKind::Limit
        ));
        assert!(matches!(commit(ErrorKind::Deadlock), Stop::Conflict(Cause::Deadlock)));
        assert!(matches!(
            of_commit(&Error::other(WatchedKeyChanged), "s"),
            Stop::Conflict(Cause::Serialization)
        ));
    }

    #[test]
    fn a_failed_read_names_the_store() {
        let stop = of_read(&Error::other("page 7 is damaged"), "my store");
        let Stop::Failed(failure) = stop else {
            panic!("expected a failure: {stop:?}");
        };
        assert_eq!(failure.what, "my store could not read: page 7 is damaged");
        assert_eq!(failure.kind, FailureKind::Storage);
    }
}
