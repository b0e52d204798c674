//! The servers' error codes as stops: what is a conflict, what a failure, and of which kind.
//!
//! A deadlock (1213) rolls the whole transaction back, a lock time-out (1205) only its statement; the
//! session rolls back after either, so both are conflicts of which nothing remains.

use super::login::Refused;
use super::packet::Malformed;
use super::reply::ServerError;
use crate::transaction_phase::TransactionPhase;
use syncline_contract::{Cause, Failure, FailureKind, Stop};

/// How a transaction stops on a server's error.
#[cold]
pub(super) fn stop(error: &ServerError, during: TransactionPhase<'_>) -> Stop {
    if let Some(cause) = conflict(error) {
        return Stop::Conflict(cause);
    }
    let failure = failure(error, during);
    let commits =
        matches!(during, TransactionPhase::Commit | TransactionPhase::WholeTransaction(..));
    // After such an error in a commit nobody knows what a later recovery will find. A full disk is
    // another matter: the server rolls back, and says so.
    if commits && matches!(failure.kind, FailureKind::Storage | FailureKind::Connection) {
        Stop::Unknown(Box::new(failure))
    } else {
        failure.into()
    }
}

fn failure(error: &ServerError, during: TransactionPhase<'_>) -> Failure {
    let kind = kind(error);
    let said = said(error);
    let what = |doing: &str| match kind {
        FailureKind::DiskFull => {
            format!("no space is left where the server writes ({doing}: {said})")
        }
        FailureKind::Storage => format!("the server could not read or write ({doing}: {said})"),
        FailureKind::Connection => format!("the server ended the connection ({doing}: {said})"),
        FailureKind::Limit => format!("{doing} met a limit of the server: {said}"),
        FailureKind::Statement => format!("the server refused {doing}: {said}"),
    };
    during.failure(kind, "the start of a transaction", what)
}

/// A failure outside transactions: "could not make the tables of".
#[cold]
pub(super) fn outside(error: &ServerError, doing: &str, whom: &str) -> Failure {
    Failure::new(kind(error), format!("{whom} could not {doing}: {}", said(error)))
}

/// Why a log-in failed. `in_clear` says that its connection leaves this program unencrypted.
#[cold]
pub(super) fn refused(refused: &Refused, whom: &str, in_clear: bool) -> Failure {
    match refused {
        Refused::Server(error) => {
            let advice = match error.code {
                1040 | 1203 | 1226 => "; ask for fewer clients, or raise that limit",
                // A user who must encrypt (REQUIRE SSL) is refused in the same words as a wrong password.
                1045 if in_clear => {
                    "; check user and password in the URL; the connection was not encrypted, which this user \
                     may have to be: tls=require"
                }
                3159 => "; the connection was not encrypted: tls=require",
                1044 | 1045 | 1698 => "; check user and password in the URL",
                _ => "",
            };
            let what = format!("{whom} refuses a connection: {}{advice}", said(error));
            Failure::new(kind(error), what)
        }
        Refused::Protocol(what) => garbled(Malformed(what), whom),
        Refused::Plugin(what) => Failure::new(FailureKind::Statement, what.clone()),
    }
}

/// What came is not the protocol.
#[cold]
pub(super) fn garbled(Malformed(what): Malformed, whom: &str) -> Failure {
    let what =
        format!("{whom} sent {what}: it does not speak the MySQL protocol as this program does");
    Failure::new(FailureKind::Statement, what)
}

/// The server's words with its number, on one line.
fn said(error: &ServerError) -> String {
    let words = error.message.replace('\n', " ");
    let words = words.trim_end_matches('.');
    format!("{words} (error {})", error.code)
}

/// What was in the way, if the error is a conflict.
fn conflict(error: &ServerError) -> Option<Cause> {
    match error.code {
        1213 | 1614 | 3101 => Some(Cause::Deadlock),
        // The last is MySQL's NOWAIT, the one before it a lock wait that somebody ended.
        1205 | 1689 | 3572 => Some(Cause::Locked),
        1020 => Some(Cause::Serialization),
        _ if error.state == "40001" => Some(Cause::Serialization),
        _ => None,
    }
}

/// What failed. Codes that tell of the operating system say its number in their words.
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

/// Error 28 of the operating system, by number or by name.
fn says_no_space(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("error 28")
        || message.contains("errcode: 28")
        || message.contains("no space left")
}

#[cfg(test)]
mod tests {
    use super::{kind, outside, refused, stop};
    use crate::mysql::login::Refused;
    use crate::mysql::reply::ServerError;
    use crate::transaction_phase::TransactionPhase;
    use syncline_contract::{Cause, FailureKind, Name, OperationId, Stop};

    fn error(code: u16, state: &str, message: &str) -> ServerError {
        ServerError { code, state: state.to_owned(), message: message.to_owned() }
    }

    #[test]
    fn conflicts_are_told_by_their_cause() {
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
        for (code, message, wanted) in [
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
            assert_eq!(kind(&error(code, "HY000", message)), wanted, "{code}");
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
    fn a_full_server_says_what_to_do() {
        let full = Refused::Server(error(1040, "", "Too many connections"));
        let failure = refused(&full, "MariaDB at /s", false);
        assert_eq!(failure.kind, FailureKind::Limit);
        assert!(failure.what.contains("fewer clients"), "{failure}");
        let dropped = outside(&error(1044, "42000", "Access denied."), "make a database", "it");
        assert_eq!(dropped.what, "it could not make a database: Access denied (error 1044)");
    }
}
