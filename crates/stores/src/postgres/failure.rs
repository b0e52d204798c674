//! What an error of the server means for a transaction, by its five-letter code.

use std::fmt::Write;
use syncline_contract::{Cause, Failure, FailureKind, OperationId, Stop};

/// An error as the server says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerError {
    severity: String,
    /// `40001`.
    pub(super) code: String,
    message: String,
    detail: String,
    hint: String,
    /// The schema of the object that it is about.
    schema: String,
}

/// A transaction's end that others caused, by code.
const CONFLICTS: [(&str, Cause); 5] = [
    ("40001", Cause::Serialization),
    ("40P01", Cause::Deadlock),
    // A lock time-out; NOWAIT says the same.
    ("55P03", Cause::Locked),
    // YugabyteDB: the transaction was thrown over by one of higher priority, or is out of date.
    ("40000", Cause::Serialization),
    ("40002", Cause::Serialization),
];

/// The most characters of a field that are kept.
const FIELD_MAX: usize = 300;

/// The table that a statement names is not there.
pub(super) const NO_TABLE: &str = "42P01";

impl ServerError {
    /// Of the fields of an error message.
    pub(super) fn of(body: &[u8]) -> ServerError {
        let mut error = ServerError::default();
        let mut rest = body;
        while let Some((&field, after)) = rest.split_first()
            && field != 0
            && let Some(end) = after.iter().position(|byte| *byte == 0)
        {
            let text = String::from_utf8_lossy(&after[..end]);
            // A detail may have lines, and any of them as many signs as the server likes.
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

    /// True if nothing more can be asked on this connection.
    pub(super) fn ends_connection(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }

    /// True if the server cannot say whether the statement was done.
    pub(super) fn leaves_unknown(&self) -> bool {
        self.code == "40003" || self.code == "08007"
    }

    /// Who was in the way; none if nobody was.
    fn cause(&self) -> Option<Cause> {
        // Two sessions that define the same object at once collide in the catalogs, `IF NOT EXISTS` or not.
        let in_catalog = self.code == "23505" && self.schema == "pg_catalog";
        if in_catalog || self.code == "XX000" && self.message.starts_with("tuple concurrently ") {
            return Some(Cause::Serialization);
        }
        let found = CONFLICTS.iter().find(|(code, _)| *code == self.code);
        found.map(|(_, cause)| *cause)
    }

    /// Another session has defined an object between the look of `IF NOT EXISTS` and the definition: without
    /// a race that says no error. The statement is told by its operation's name, which begins with its text.
    fn lost_race(&self, operation: &str) -> Option<Cause> {
        // A relation, a schema, or an object such as the type of a table is there.
        let exists = matches!(self.code.as_str(), "42P07" | "42P06" | "42710");
        let raced = exists && operation.to_ascii_uppercase().contains("IF NOT EXISTS");
        raced.then_some(Cause::Serialization)
    }

    /// What failed.
    fn kind(&self) -> FailureKind {
        match self.code.as_str() {
            "53100" => FailureKind::DiskFull,
            // Too many connections, out of memory, configured limits; passwords and rights.
            "53300" | "53200" | "53400" | "54000" => FailureKind::Limit,
            // Shutting down, starting up, gone: another try may find it back.
            "57P01" | "57P02" | "57P03" | "57P05" => FailureKind::Connection,
            code if code.starts_with("08") => FailureKind::Connection,
            code if code.starts_with("28") || code.starts_with("3D") => FailureKind::Limit,
            // The system's own errors, and corrupted data.
            code if code.starts_with("58") || code.starts_with("XX00") => FailureKind::Storage,
            _ if self.ends_connection() => FailureKind::Connection,
            _ => FailureKind::Statement,
        }
    }

    /// One sentence: what was done, and what the server said.
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

    /// As a failure outside transactions.
    #[cold]
    pub(super) fn outside(&self, doing: &str) -> Failure {
        let doing = if doing == "log in" { doing.to_owned() } else { format!("execute {doing}") };
        Failure::new(self.kind(), self.sentence(&doing))
    }

    /// As the end of a transaction, in an operation, or in its beginning or end. `unknown` says that its
    /// commit was under way when the connection ended.
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
    fn conflicts_are_told_by_their_cause() {
        for (code, cause) in
            [("40001", Cause::Serialization), ("40P01", Cause::Deadlock), ("55P03", Cause::Locked)]
        {
            let stop = error("ERROR", code).stop(None, "commit", true);
            assert!(matches!(stop, Stop::Conflict(found) if found == cause), "{code}");
        }
    }

    /// f12.
    #[test]
    fn two_that_define_one_object_at_once_are_in_conflict() {
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
    fn failures_are_told_by_their_kind_and_name_the_operation() {
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
            let said = "execute operation \"insert row\": the message";
            assert!(failure.what.contains(said) && failure.what.ends_with("a detail"), "{failure}");
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
    fn garbage_is_an_error_without_words_and_never_a_panic() {
        for body in [&b""[..], b"S", b"SX", b"\0", b"C40001", &[255, 0, 255]] {
            let error = ServerError::of(body);
            assert!(matches!(error.stop(None, "commit", false), Stop::Failed(_)));
        }
    }
}
