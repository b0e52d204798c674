//! What an error of the server means for a transaction, by its five-letter code.

use std::fmt::Write;
use syncline_contract::{Cause, Failure, FailureKind, OperationId, Stop};

/// An error as the server reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerError {
    severity: String,
    /// The SQLSTATE, such as `40001`.
    pub(super) code: String,
    message: String,
    detail: String,
    hint: String,
    /// The schema of the object that the error concerns.
    schema: String,
}

/// The codes of errors that other transactions caused.
const CONFLICTS: [(&str, Cause); 5] = [
    ("40001", Cause::Serialization),
    ("40P01", Cause::Deadlock),
    // A lock time-out; NOWAIT gives the same code.
    ("55P03", Cause::Locked),
    // YugabyteDB: a transaction of higher priority aborted this one, or it is out of date.
    ("40000", Cause::Serialization),
    ("40002", Cause::Serialization),
];

/// The maximum length of a field, in characters; the rest is dropped.
const FIELD_MAX: usize = 300;

/// The table that a statement names does not exist.
pub(super) const NO_TABLE: &str = "42P01";

impl ServerError {
    /// Parses the fields of an error message.
    pub(super) fn of(body: &[u8]) -> ServerError {
        let mut error = ServerError::default();
        let mut rest = body;
        while let Some((&field, after)) = rest.split_first()
            && field != 0
            && let Some(end) = after.iter().position(|byte| *byte == 0)
        {
            let text = String::from_utf8_lossy(&after[..end]);
            // A detail may have line breaks and any length.
            let signs = text.chars().map(|sign| if sign == '\n' { ' ' } else { sign });
            let text: String = signs.take(FIELD_MAX).collect();
            match field {
                b'V' => error.severity = text,
                b'S' if error.severity.is_empty() => error.severity = text,
                b'C' => error.code = text,
                b'M' => error.message = text,
                b'D' => error.detail = text,
                b'H' => error.hint = text,
                b's' => error.schema = text,
                _ => {}
            }
            rest = &after[end + 1..];
        }
        error
    }

    /// True if the connection cannot be used any more.
    pub(super) fn ends_connection(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }

    /// True if the outcome of the statement is not known to the server.
    pub(super) fn leaves_unknown(&self) -> bool {
        self.code == "40003" || self.code == "08007"
    }

    /// The cause if another transaction caused the error.
    fn cause(&self) -> Option<Cause> {
        // Two sessions that define the same object at once collide in the catalogs, `IF NOT EXISTS` or not.
        let in_catalog = self.code == "23505" && self.schema == "pg_catalog";
        if in_catalog || self.code == "XX000" && self.message.starts_with("tuple concurrently ") {
            return Some(Cause::Serialization);
        }
        let found = CONFLICTS.iter().find(|(code, _)| *code == self.code);
        found.map(|(_, cause)| *cause)
    }

    /// Detects a lost race: another session defined an object after `IF NOT EXISTS` had checked for it.
    /// Without the race the statement reports no error. The statement is recognized by its operation's
    /// name, which begins with its text.
    fn lost_race(&self, operation: &str) -> Option<Cause> {
        // A relation, a schema, or an object such as the type of a table exists already.
        let exists = matches!(self.code.as_str(), "42P07" | "42P06" | "42710");
        let raced = exists && operation.to_ascii_uppercase().contains("IF NOT EXISTS");
        raced.then_some(Cause::Serialization)
    }

    /// The kind of the failure.
    fn kind(&self) -> FailureKind {
        match self.code.as_str() {
            "53100" => FailureKind::DiskFull,
            // Too many connections, out of memory, configured limits.
            "53300" | "53200" | "53400" | "54000" => FailureKind::Limit,
            // Shutting down, starting up, gone: a retry may succeed.
            "57P01" | "57P02" | "57P03" | "57P05" => FailureKind::Connection,
            code if code.starts_with("08") => FailureKind::Connection,
            code if code.starts_with("28") || code.starts_with("3D") => FailureKind::Limit,
            // I/O errors of the operating system, and corrupted data.
            code if code.starts_with("58") || code.starts_with("XX00") => FailureKind::Storage,
            _ if self.ends_connection() => FailureKind::Connection,
            _ => FailureKind::Statement,
        }
    }

    /// One sentence: what was attempted, and the server's error.
    fn sentence(&self, doing: &str) -> String {
        let mut what = format!("the server refused to {doing}: {} ({})", self.message, self.code);
        for (name, text) in [("detail", &self.detail), ("hint", &self.hint)] {
            if !text.is_empty() && write!(what, "; {name}: {}", text.trim_end_matches('.')).is_err()
            {
                break;
            }
        }
        what
    }

    /// As a failure outside of measured transactions.
    #[cold]
    pub(super) fn outside(&self, doing: &str) -> Failure {
        let doing = if doing == "log in" { doing.to_owned() } else { format!("execute {doing}") };
        Failure::new(self.kind(), self.sentence(&doing))
    }

    /// As the end of a transaction. `unknown` means that a commit was in flight when the connection
    /// ended.
    #[cold]
    pub(super) fn stop(
        &self,
        operation: Option<(OperationId, &str)>,
        doing: &str,
        unknown: bool,
    ) -> Stop {
        let name = operation.map_or("", |(_, name)| name);
        if let Some(cause) = self.cause().or_else(|| self.lost_race(name)) {
            return Stop::Conflict(cause);
        }
        let failure = match operation {
            Some((id, name)) => {
                Failure::new(self.kind(), self.sentence(&format!("execute operation \"{name}\"")))
                    .in_operation(id)
            }
            None => Failure::new(self.kind(), self.sentence(doing)),
        };
        let lost = self.ends_connection() && unknown;
        if lost || self.leaves_unknown() {
            Stop::Unknown(Box::new(failure))
        } else {
            failure.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ServerError;
    use syncline_contract::{Cause, FailureKind, OperationId, Stop};

    fn error(severity: &str, code: &str) -> ServerError {
        let body = format!("S{severity}\0V{severity}\0C{code}\0Mthe message\0Da detail.\0\0");
        ServerError::of(body.as_bytes())
    }

    #[test]
    fn conflict_codes_map_to_their_cause() {
        for (code, cause) in
            [("40001", Cause::Serialization), ("40P01", Cause::Deadlock), ("55P03", Cause::Locked)]
        {
            let stop = error("ERROR", code).stop(None, "commit", true);
            assert!(matches!(stop, Stop::Conflict(found) if found == cause), "{code}");
        }
    }

    /// f12.
    #[test]
    fn concurrent_definitions_of_one_object_conflict() {
        let of = |fields: &str| ServerError::of(fields.as_bytes()).stop(None, "commit", false);
        let catalog = "SERROR\0C23505\0Mduplicate key\0spg_catalog\0tpg_type\0\0";
        assert!(matches!(of(catalog), Stop::Conflict(Cause::Serialization)));
        let granted = "SERROR\0CXX000\0Mtuple concurrently updated\0\0";
        assert!(matches!(of(granted), Stop::Conflict(Cause::Serialization)));
        let exists = ServerError::of(b"SERROR\0C42710\0Mtype exists\0\0");
        let stop = |name: &str| exists.stop(Some((OperationId(0), name)), "", false);
        let raced = stop("a.sql:1 create table if not exists t (a int)");
        assert!(matches!(raced, Stop::Conflict(Cause::Serialization)));
        assert!(matches!(stop("a.sql:1 CREATE TYPE t AS (a int)"), Stop::Failed(_)));
        for own in [
            "SERROR\0C23505\0Mduplicate key\0spublic\0tt\0\0",
            "SERROR\0CXX000\0Mcache lookup failed\0\0",
        ] {
            assert!(matches!(of(own), Stop::Failed(_)), "{own}");
        }
    }

    #[test]
    fn failures_have_a_kind_and_name_the_operation() {
        for (severity, code, kind) in [
            ("ERROR", "53100", FailureKind::DiskFull),
            ("FATAL", "53300", FailureKind::Limit),
            ("FATAL", "57P01", FailureKind::Connection),
            ("FATAL", "57P03", FailureKind::Connection),
            ("ERROR", "23505", FailureKind::Statement),
            ("FATAL", "28P01", FailureKind::Limit),
            ("ERROR", "58030", FailureKind::Storage),
            ("ERROR", "XX001", FailureKind::Storage),
        ] {
            let stop = error(severity, code).stop(Some((OperationId(3), "insert row")), "", false);
            let Stop::Failed(failure) = stop else {
                panic!("{code}: {stop:?}");
            };
            assert_eq!((failure.kind, failure.operation), (kind, Some(OperationId(3))), "{code}");
            let expected = "execute operation \"insert row\": the message";
            assert!(
                failure.what.contains(expected) && failure.what.ends_with("a detail"),
                "{failure}"
            );
        }
    }

    #[test]
    fn a_commit_whose_connection_the_server_ended_is_unknown() {
        let stop = error("FATAL", "57P01").stop(None, "commit", true);
        assert!(matches!(stop, Stop::Unknown(_)));
        let stop = error("FATAL", "57P01").stop(None, "begin", false);
        assert!(matches!(stop, Stop::Failed(_)));
    }

    #[test]
    fn garbage_is_an_empty_error_and_never_a_panic() {
        for body in [&b""[..], b"S", b"SX", b"\0", b"C40001", &[255, 0, 255]] {
            let error = ServerError::of(body);
            assert!(matches!(error.stop(None, "commit", false), Stop::Failed(_)));
        }
    }
}
