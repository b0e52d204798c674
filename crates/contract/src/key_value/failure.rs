//! A store's I/O errors as stops and failures; the table stands at [`KeyValue`](super::KeyValue).

use super::store::WatchedKeyChanged;
use crate::outcome::{Cause, Failure, FailureKind, Stop};
use std::io::{self, ErrorKind};

/// How an error of a read stops its transaction: nothing was committed.
pub(super) fn of_read(error: &io::Error, store: &str) -> Stop {
    conflict(error).unwrap_or_else(|| outside(error, store, "read").into())
}

/// How an error of a commit stops its transaction: unless the store says that it did nothing, nobody
/// knows what it did.
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

/// A failure outside transactions, or of what is not a conflict.
pub(super) fn outside(error: &io::Error, store: &str, doing: &str) -> Failure {
    Failure::new(kind(error), format!("{store} could not {doing}: {error}"))
}

/// A store that could not be reached.
pub(super) fn unreachable(error: &io::Error, store: &str) -> Failure {
    Failure::new(kind(error), format!("cannot connect to {store}: {error}"))
}

/// A refused statement.
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
    fn a_commit_of_unknown_outcome_is_told_from_one_that_was_refused() {
        let commit = |kind: ErrorKind| of_commit(&kind.into(), "s");
        let unknown = [
            (ErrorKind::StorageFull, FailureKind::DiskFull),
            (ErrorKind::BrokenPipe, FailureKind::Connection),
            (ErrorKind::Other, FailureKind::Storage),
        ];
        for (given, wanted) in unknown {
            let stop = commit(given);
            assert!(
                matches!(&stop, Stop::Unknown(failure) if failure.kind == wanted),
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
    fn a_failed_read_leaves_nothing_and_says_whose_it_was() {
        let stop = of_read(&Error::other("page 7 is damaged"), "my store");
        let Stop::Failed(failure) = stop else {
            panic!("a read leaves nothing behind: {stop:?}");
        };
        assert_eq!(failure.what, "my store could not read: page 7 is damaged");
        assert_eq!(failure.kind, FailureKind::Storage);
    }
}
