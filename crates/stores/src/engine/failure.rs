//! Maps errors of the engine to the end of a transaction, or to a failure outside of one.

use syncline_contract::{Cause, Failure, FailureKind, Stop};
use syncline_engine::{Conflict, Error};

/// An error as a failure.
#[cold]
pub(super) fn failure(error: &Error) -> Failure {
    let kind = match error {
        Error::Full { .. } => FailureKind::DiskFull,
        Error::Disk(error) if error.is_full() => FailureKind::DiskFull,
        Error::Capped { .. }
        | Error::TooLong { .. }
        | Error::TooLarge { .. }
        | Error::KeyTooLarge { .. }
        | Error::LogLong { .. }
        | Error::Sessions { .. } => FailureKind::Limit,
        Error::DuplicateKey { .. }
        | Error::NoRow { .. }
        | Error::Unfit { .. }
        | Error::WrongKind { .. }
        | Error::IsNull { .. }
        | Error::WrongCount { .. }
        | Error::Unchangeable { .. } => FailureKind::Statement,
        _ => FailureKind::Storage,
    };
    Failure::new(kind, error.to_string())
}

/// An error as the end of a transaction.
#[cold]
pub(super) fn stop(error: &Error) -> Stop {
    match error {
        Error::Conflict(Conflict::Locked) => Stop::Conflict(Cause::Locked),
        Error::Conflict(_) => Stop::Conflict(Cause::Serialization),
        Error::Indeterminate { .. } => Stop::Unknown(Box::new(failure(error))),
        _ => failure(error).into(),
    }
}

/// A failure for a statement that the plan does not allow.
#[cold]
pub(super) fn statement(what: &str) -> Stop {
    Failure::new(FailureKind::Statement, what).into()
}
