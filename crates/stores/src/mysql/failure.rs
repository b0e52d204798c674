//! Maps the servers' error codes to stops: conflicts, and failures with their kind.
//!
//! A deadlock (1213) rolls back the whole transaction, a lock time-out (1205) only its statement; the
//! session rolls back after either, so both are conflicts that leave no effects.

use super::login::LoginError;
use super::packet::Malformed;
use super::reply::ServerError;
use crate::transaction_phase::TransactionPhase;
use syncline_contract::{Cause, Failure, FailureKind, Stop};

/// How an error of the server stops a transaction.
#[cold]
pub(super) fn stop(error: &ServerError, during: TransactionPhase<'_>) -> Stop {
    if let Some(cause) = conflict(error) {
        return Stop::Conflict(cause);
    }
    let failure = failure(error, during);
    let commits =
        matches!(during, TransactionPhase::Commit | TransactionPhase::WholeTransaction(..));
    // After such an error in a commit, the outcome depends on a later recovery. With a full disk it
    // does not: the server rolls back, and reports that.
    if commits && matches!(failure.kind, FailureKind::Storage | FailureKind::Connection) {
        Stop::Unknown(Box::new(failure))
    } else {
        failure.into()
    }
}

fn failure(error: &ServerError, during: TransactionPhase<'_>) -> Failure {
    let kind = kind(error);
    let message = message(error);
    let what = |doing: &str| match kind {
        FailureKind::DiskFull => {
            format!("the server's disk is full ({doing}: {message})")
        }
        FailureKind::Storage => format!("the server could not read or write ({doing}: {message})"),
        FailureKind::Connection => format!("the server ended the connection ({doing}: {message})"),
        FailureKind::Limit => format!("{doing} exceeded a limit of the server: {message}"),
        FailureKind::Statement => format!("the server refused {doing}: {message}"),
    };
    during.failure(kind, "the start of a transaction", what)
}

/// A failure outside of transactions; `doing` completes "could not", as in "create the tables".
#[cold]
pub(super) fn outside(error: &ServerError, doing: &str, whom: &str) -> Failure {
    Failure::new(kind(error), format!("{whom} could not {doing}: {}", message(error)))
}

/// Why a log-in failed. `in_clear` means that the connection is unencrypted and leaves this machine.
#[cold]
pub(super) fn refused(refused: &LoginError, whom: &str, in_clear: bool) -> Failure {
    match refused {
        LoginError::Server(error) => {
            let advice = match error.code {
                1040 | 1203 | 1226 => "; use fewer clients, or raise that limit",
                // A user with REQUIRE SSL gets the same error as for a wrong password.
                1045 if in_clear => {
                    "; check user and password in the URL; the connection was not encrypted, which this user may \
                     require: tls=require"
                }
                3159 => "; the connection was not encrypted: tls=require",
                1044 | 1045 | 1698 => "; check user and password in the URL",
                _ => "",
            };
            let what = format!("{whom} refuses a connection: {}{advice}", message(error));
            Failure::new(kind(error), what)
        }
        LoginError::Protocol(what) => garbled(Malformed(what), whom),
        LoginError::Plugin(what) => Failure::new(FailureKind::Statement, what.clone()),
    }
}

/// A packet that is not valid in the protocol.
#[cold]
pub(super) fn garbled(Malformed(what): Malformed, whom: &str) -> Failure {
    let what =
        format!("{whom} sent {what}: this program does not understand that as the MySQL protocol");
    Failure::new(FailureKind::Statement, what)
}

/// The server's message with its number, on one line.
fn message(error: &ServerError) -> String {
    let words = error.message.replace('\n', " ");
    let words = words.trim_end_matches('.');
    format!("{words} (error {})", error.code)
}

/// The cause, if the error is a conflict.
fn conflict(error: &ServerError) -> Option<Cause> {
    match error.code {
        1213 | 1614 | 3101 => Some(Cause::Deadlock),
        // 3572 is MySQL's NOWAIT, 1689 a lock wait that another session ended.
        1205 | 1689 | 3572 => Some(Cause::Locked),
        1020 => Some(Cause::Serialization),
        _ if error.state == "40001" => Some(Cause::Serialization),
        _ => None,
    }
}

/// The kind of a failure. Codes for errors of the operating system include its number in their message.
pub(super) fn kind(error: &ServerError) -> FailureKind {
    match error.code {
        1021 | 1114 => FailureKind::DiskFull,
        3 | 1026 | 1030 | 1878 if says_no_space(&error.message) => FailureKind::DiskFull,
        2..=29
        | 1023..=1026
        | 1030
        | 1033..=1035
        | 1194
        | 1195
        | 1290
        | 1296
        | 1456
        | 1812..=1815
        | 1836
        | 1878
        | 3098
        | 3100 => FailureKind::Storage,
        1047
        | 1053
        | 1077..=1081
        | 1152
        | 1158..=1161
        | 1184
        | 1317
        | 1927
        | 2006
        | 2013
        | 3169
        | 4031 => FailureKind::Connection,
        1037 | 1038 | 1040 | 1041 | 1118 | 1135 | 1153 | 1197 | 1203 | 1206 | 1226 | 1390
        | 1461 | 1534 | 1637 => FailureKind::Limit,
        _ => FailureKind::Statement,
    }
}

/// Checks for error 28 of the operating system, by number or by name.
fn says_no_space(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("error 28")
        || message.contains("errcode: 28")
        || message.contains("no space left")
}

#[cfg(test)]
mod tests {
    use super::{kind, outside, refused, stop};
    use crate::mysql::login::LoginError;
    use crate::mysql::reply::ServerError;
    use crate::transaction_phase::TransactionPhase;
    use syncline_contract::{Cause, FailureKind, Name, OperationId, Stop};

    fn error(code: u16, state: &str, message: &str) -> ServerError {
        ServerError { code, state: state.to_owned(), message: message.to_owned() }
    }

    #[test]
    fn conflict_codes_map_to_their_cause() {
        for (code, state, cause) in [
            (1213, "40001", Cause::Deadlock),
            (1205, "HY000", Cause::Locked),
            (1020, "HY000", Cause::Serialization),
            (9999, "40001", Cause::Serialization),
        ] {
            let stopped = stop(&error(code, state, ""), TransactionPhase::Commit);
            assert!(matches!(stopped, Stop::Conflict(got) if got == cause), "{code}: {stopped:?}");
        }
    }

    #[test]
    fn failures_have_the_kind_that_the_contract_names() {
        let no_space = "Error writing file './x' (Errcode: 28 \"No space left on device\")";
        for (code, message, expected) in [
            (1040, "Too many connections", FailureKind::Limit),
            (1114, "The table 't' is full", FailureKind::DiskFull),
            (1021, "Disk full", FailureKind::DiskFull),
            (3, no_space, FailureKind::DiskFull),
            (3, "Error writing file './x' (Errcode: 5)", FailureKind::Storage),
            (1030, "Got error 28 from storage engine", FailureKind::DiskFull),
            (1062, "Duplicate entry", FailureKind::Statement),
            (1146, "Table doesn't exist", FailureKind::Statement),
            (1053, "Server shutdown in progress", FailureKind::Connection),
            (1927, "Connection was killed", FailureKind::Connection),
        ] {
            assert_eq!(kind(&error(code, "HY000", message)), expected, "{code}");
        }
    }

    #[test]
    fn a_refused_statement_names_its_operation() {
        let name = Name::from("insert row");
        let during = TransactionPhase::Operation(OperationId(3), &name);
        let Stop::Failed(failure) = stop(&error(1062, "23000", "Duplicate entry"), during) else {
            panic!("it fails");
        };
        assert_eq!(failure.operation, Some(OperationId(3)));
        assert_eq!(
            failure.what,
            "the server refused operation \"insert row\": Duplicate entry (error 1062)"
        );
    }

    #[test]
    fn an_io_error_in_a_commit_leaves_its_outcome_unknown_and_a_full_disk_does_not() {
        let io = error(1030, "HY000", "Got error 5 from storage engine");
        assert!(matches!(stop(&io, TransactionPhase::Commit), Stop::Unknown(_)));
        assert!(matches!(stop(&io, TransactionPhase::Begin), Stop::Failed(_)));
        let full = error(1114, "HY000", "The table is full");
        assert!(matches!(stop(&full, TransactionPhase::Commit), Stop::Failed(_)));
    }

    #[test]
    fn too_many_connections_are_reported_with_advice() {
        let full = LoginError::Server(error(1040, "", "Too many connections"));
        let failure = refused(&full, "MariaDB at /s", false);
        assert_eq!(failure.kind, FailureKind::Limit);
        assert!(failure.what.contains("fewer clients"), "{failure}");
        let dropped = outside(&error(1044, "42000", "Access denied."), "create a database", "it");
        assert_eq!(dropped.what, "it could not create a database: Access denied (error 1044)");
    }
}
