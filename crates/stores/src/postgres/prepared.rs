//! A plan's operations, prepared once per session, and the checks of their answers.
//!
//! The plan's own operations exchange binary values of the plan's kinds; preparing them checks the
//! server's types against those kinds. A user's statement exchanges text, and may name tables that it
//! creates itself first: one that cannot be prepared yet is sent as text until it can.
//!
//! With [`Protocol::Extended`] and [`Protocol::Simple`] nothing is prepared: every operation, and
//! BEGIN, COMMIT and ROLLBACK, is sent as text each time; with the latter a user's statement is a
//! request of its own.

use super::control::cells;
use super::failure::NO_TABLE;
use super::protocol::{Connection, tag};
use super::types::{self, ANY, Oid};
use super::values::{binary, push_binary, push_text, text};
use crate::server::SchemaName;
use crate::sql::{POSTGRES, Sql};
use bytes::BytesMut;
use postgres_protocol::message::frontend;
use std::io;
use syncline_contract::{
    Action, Failure, FailureKind, Kind, OperationId, Plan, Protocol, Rows, Stop, TargetResult,
    Value,
};

/// How many rows a write must change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changes {
    /// Exactly one; anything else is an error of the workload.
    One,
    /// Any number.
    Any,
}

/// How an operation is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendMode {
    /// By the name of its prepared statement.
    Named,
    /// As text until it can be prepared.
    TextUntilPrepared,
    /// As text each time.
    AsText,
    /// As part of a simple query.
    Simple,
}

/// A column of an answer, as the server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerColumn {
    pub(super) name: String,
    pub(super) oid: Oid,
}

/// One operation.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Its name in the plan.
    pub(super) name: String,
    /// Its name on the server; empty if it is not prepared.
    statement: String,
    send_mode: SendMode,
    text: String,
    parameters: Vec<Kind>,
    answer: Vec<Kind>,
    /// True if it returns rows to the client.
    pub(super) answers: bool,
    changes: Changes,
    /// True if it is a user's statement: text both ways.
    users: bool,
    /// The columns of a user's statement, as last described by the server.
    pub(super) columns: Vec<ServerColumn>,
    /// The message that described them.
    described: Vec<u8>,
}

impl Prepared {
    fn of(plan: &Plan, id: OperationId, sql: Sql<'_>) -> Prepared {
        let operation = plan.operation(id);
        let action = &operation.action;
        let kinds =
            |columns: Vec<(Kind, bool)>| columns.into_iter().map(|(kind, _)| kind).collect();
        let (changes, users) = match action {
            Action::Insert { .. } | Action::Update { .. } | Action::Delete { .. } => {
                (Changes::One, false)
            }
            Action::Statement { .. } => (Changes::Any, true),
            _ => (Changes::Any, false),
        };
        let send_mode = match (plan.protocol, users) {
            (Protocol::Prepared, _) => SendMode::Named,
            (Protocol::Simple, true) => SendMode::Simple,
            (Protocol::Extended | Protocol::Simple, _) => SendMode::AsText,
        };
        let statement = match send_mode {
            SendMode::Named => format!("o{}", id.0),
            _ => String::new(),
        };
        Prepared {
            name: operation.name.to_string(),
            statement,
            send_mode,
            text: sql.statement(plan, action).text,
            parameters: kinds(plan.parameters(action)),
            answer: kinds(plan.answer(action)),
            answers: !action.writes(),
            changes,
            users,
            columns: Vec::new(),
            described: Vec::new(),
        }
    }

    /// True if it is sent as text until it can be prepared.
    pub(super) fn is_late(&self) -> bool {
        self.send_mode == SendMode::TextUntilPrepared
    }

    /// True if it is sent as part of a simple query.
    #[inline]
    pub(super) fn is_simple(&self) -> bool {
        self.send_mode == SendMode::Simple
    }

    fn write_parse(&self, out: &mut BytesMut) -> io::Result<()> {
        let kinds = self.parameters.iter();
        let oids = kinds.map(|kind| if self.users { ANY } else { types::of_parameter(*kind) });
        frontend::parse(&self.statement, &self.text, oids, out)
    }

    fn write_description(&self, out: &mut BytesMut) -> io::Result<()> {
        self.write_parse(out)?;
        frontend::describe(b'S', &self.statement, out)
    }

    /// Decodes the server's description of the columns of an answer; false if it is malformed.
    pub(super) fn describe(&mut self, body: &[u8]) -> bool {
        if self.described == body {
            return true;
        }
        let Some(columns) = columns(body) else {
            return false;
        };
        self.columns = columns;
        self.described.clear();
        self.described.extend_from_slice(body);
        true
    }

    /// Writes the messages that execute it. On an error, nothing is written.
    #[inline]
    pub(super) fn write(
        &self,
        id: OperationId,
        values: &[Value<'_>],
        out: &mut BytesMut,
    ) -> Result<(), Stop> {
        if self.has_other_scale(values) {
            return Err(self.refused(id, "received a decimal whose scale differs from the plan's"));
        }
        let before = out.len();
        let written = self.try_write(values, out);
        written.map_err(|why| {
            out.truncate(before);
            self.refused(id, &format!("received a value that cannot be sent: {why}"))
        })
    }

    #[inline]
    fn try_write(&self, values: &[Value<'_>], out: &mut BytesMut) -> Result<(), String> {
        let message = |error: io::Error| error.to_string();
        let as_text = self.statement.is_empty();
        if as_text {
            self.write_parse(out).map_err(message)?;
        }
        let given = values.iter().copied();
        let bound = if self.users {
            frontend::bind("", &self.statement, [], given, text, [], out)
        } else {
            frontend::bind("", &self.statement, [1], given, binary, [1], out)
        };
        bound.map_err(|error| match error {
            frontend::BindError::Conversion(error) => error.to_string(),
            frontend::BindError::Serialization(error) => error.to_string(),
        })?;
        if as_text && self.users {
            frontend::describe(b'P', "", out).map_err(message)?;
        }
        frontend::execute("", 0, out).map_err(message)
    }

    #[inline]
    fn has_other_scale(&self, values: &[Value<'_>]) -> bool {
        !self.users
            && values.iter().zip(&self.parameters).any(|(value, kind)| match (value, kind) {
                (Value::Decimal(decimal), Kind::Decimal { scale }) => decimal.scale != *scale,
                _ => false,
            })
    }

    /// The number of columns of an answer.
    pub(super) fn width(&self) -> usize {
        if self.users { self.columns.len() } else { self.answer.len() }
    }

    /// Adds a row of an answer; false if it does not match the prepared types.
    #[inline]
    pub(super) fn push(&self, body: &[u8], rows: &mut Rows) -> bool {
        let Some(mut cells) = cells(body) else {
            return false;
        };
        let mut pushed = 0;
        loop {
            let cell = match cells.next() {
                None => {
                    if self.width() == 0 {
                        rows.push_columnless();
                    }
                    return pushed == self.width();
                }
                Some(None) => None,
                Some(Some(Some(bytes))) => Some(bytes),
                Some(Some(None)) => return false,
            };
            if pushed == self.width() {
                return false;
            }
            let fits = if self.users {
                push_text(cell, self.columns[pushed].oid, rows)
            } else {
                push_binary(cell, self.answer[pushed], rows)
            };
            if !fits {
                return false;
            }
            pushed += 1;
        }
    }

    /// Checks the tag of a finished command (`UPDATE 1`) against what the operation promises.
    #[inline]
    pub(super) fn check(&self, id: OperationId, command: &[u8]) -> Result<(), Stop> {
        if self.changes == Changes::Any || ends_in_one(command) {
            return Ok(());
        }
        Err(self.refused(id, "changed no row or several rows where its key identifies one"))
    }

    #[cold]
    pub(super) fn refused(&self, id: OperationId, what: &str) -> Stop {
        let what = format!("operation \"{}\" {what}", self.name);
        Failure::new(FailureKind::Statement, what).in_operation(id).into()
    }

    /// Checks the columns that the server describes against those of the plan.
    fn accept(&mut self, columns: Vec<ServerColumn>) -> TargetResult<()> {
        if self.users {
            self.columns = columns;
            return Ok(());
        }
        let fit = columns.len() == self.answer.len()
            && columns
                .iter()
                .zip(&self.answer)
                .all(|(column, kind)| types::fits(column.oid, *kind));
        if fit || !self.answers {
            return Ok(());
        }
        let what = format!(
            "operation \"{}\" returns other types than the plan declares: {columns:?}",
            self.name
        );
        Err(Failure::new(FailureKind::Statement, what))
    }
}

/// True for `UPDATE 1` and `INSERT 0 1`, with the terminating zero.
#[inline]
fn ends_in_one(command: &[u8]) -> bool {
    command.ends_with(b" 1\0")
}

/// The statements that begin and end transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    Begin,
    Commit,
    Rollback,
}

impl Bound {
    const ALL: [Bound; 3] = [Bound::Begin, Bound::Commit, Bound::Rollback];

    /// The statement, which is also the server's completion tag.
    pub(super) fn word(self) -> &'static str {
        match self {
            Bound::Begin => "BEGIN",
            Bound::Commit => "COMMIT",
            Bound::Rollback => "ROLLBACK",
        }
    }

    /// Writes the messages that execute it: by name if it is prepared, or as text.
    #[inline]
    pub(super) fn write(self, is_prepared: bool, out: &mut BytesMut) -> io::Result<()> {
        let none: [Value<'_>; 0] = [];
        let name = if is_prepared {
            self.word()
        } else {
            frontend::parse("", self.word(), [], out)?;
            ""
        };
        let bound = frontend::bind("", name, [], none, text, [], out);
        bound.map_err(|error| match error {
            frontend::BindError::Conversion(error) => io::Error::other(error),
            frontend::BindError::Serialization(error) => error,
        })?;
        frontend::execute("", 0, out)
    }
}

/// Prepares every operation of a plan, and BEGIN, COMMIT and ROLLBACK, in one round trip; nothing if
/// the plan's protocol does not prepare.
///
/// The server counts each Sync as a commit, so all required statements share one: a connecting client
/// shall not look like dozens of transactions. A user's statement may fail alone and has its own Sync.
pub(super) async fn prepare(
    connection: &mut Connection,
    plan: &Plan,
    schema: &SchemaName,
) -> TargetResult<Vec<Prepared>> {
    let sql = Sql { dialect: &POSTGRES, schema: Some(schema.as_str()) };
    let ids = (0..plan.operations().len()).map(OperationId);
    let mut all: Vec<Prepared> = ids.map(|id| Prepared::of(plan, id, sql)).collect();
    if plan.protocol != Protocol::Prepared {
        return Ok(all);
    }
    let (users, own): (Vec<_>, Vec<_>) = all.iter_mut().partition(|one| one.users);
    let unwritten = |error: io::Error| Failure::new(FailureKind::Statement, error.to_string());
    for bound in Bound::ALL {
        frontend::parse(bound.word(), bound.word(), [], &mut connection.out).map_err(unwritten)?;
    }
    for one in &own {
        let written = one.write_description(&mut connection.out);
        written.map_err(unwritten)?;
    }
    frontend::sync(&mut connection.out);
    for one in &users {
        let written = one.write_description(&mut connection.out);
        written.map_err(unwritten)?;
        frontend::sync(&mut connection.out);
    }
    connection.flush().await?;
    prepared(connection, Bound::ALL.len(), own).await?;
    for one in users {
        prepared(connection, 0, [one]).await?;
    }
    Ok(all)
}

/// Prepares a user's statement that was sent as text so far.
pub(super) async fn prepare_late(
    connection: &mut Connection,
    id: OperationId,
    one: &mut Prepared,
) -> TargetResult<()> {
    one.statement = format!("o{}", id.0);
    one.send_mode = SendMode::Named;
    let unwritten = |error: io::Error| Failure::new(FailureKind::Statement, error.to_string());
    let written = one.write_description(&mut connection.out);
    written.map_err(unwritten)?;
    frontend::sync(&mut connection.out);
    connection.flush().await?;
    prepared(connection, 0, [one]).await
}

/// Reads the answers up to the next `ReadyForQuery`: first to `bounds` statements of [`Bound`], then to
/// operations in the order in which they were written. After an error the server skips the rest up to
/// the Sync.
async fn prepared<'p>(
    connection: &mut Connection,
    mut bounds: usize,
    operations: impl IntoIterator<Item = &'p mut Prepared>,
) -> TargetResult<()> {
    let mut operations = operations.into_iter();
    let mut failed = Ok(());
    loop {
        match connection.next().await? {
            tag::PARSE_COMPLETE => bounds = bounds.saturating_sub(1),
            tag::PARAMETERS => {}
            // The last message for an operation.
            tag::NO_DATA => {
                operations.next();
            }
            tag::ROWS => {
                let Some(columns) = columns(connection.body()) else {
                    return Err(connection.garbled("the columns of an answer"));
                };
                if let Some(one) = operations.next() {
                    failed = failed.and(one.accept(columns));
                }
            }
            tag::ERROR => {
                let error = connection.error();
                let one = (bounds == 0).then(|| operations.next()).flatten();
                match one {
                    Some(one) if one.users && error.code == NO_TABLE => {
                        one.statement.clear();
                        one.send_mode = SendMode::TextUntilPrepared;
                    }
                    Some(one) => {
                        let doing = format!("operation \"{}\": {}", one.name, one.text);
                        failed = failed.and(Err(error.outside(&doing)));
                    }
                    None => failed = Err(error.outside("the start of a session")),
                }
                if connection.broken {
                    return failed;
                }
            }
            tag::READY => {
                connection.note_status()?;
                return failed;
            }
            _ => return Err(connection.garbled("the answer to a preparation")),
        }
    }
}

/// Decodes the description of the columns of an answer.
pub(super) fn columns(body: &[u8]) -> Option<Vec<ServerColumn>> {
    /// The table and the column's number in it precede the type; length, modifier and format follow it.
    const BEFORE: usize = 6;
    const AFTER: usize = 8;
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let count = u16::from_be_bytes(*count);
    let mut columns = Vec::with_capacity(count.into());
    for _ in 0..count {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let name = String::from_utf8_lossy(&rest[..end]).into_owned();
        let (oid, after) = rest.get(end + 1 + BEFORE..)?.split_first_chunk::<4>()?;
        columns.push(ServerColumn { name, oid: Oid::from_be_bytes(*oid) });
        rest = after.get(AFTER..)?;
    }
    Some(columns)
}

#[cfg(test)]
mod tests {
    use super::{columns, ends_in_one};

    #[test]
    fn the_columns_of_an_answer_are_read_and_broken_ones_are_none() {
        let mut body = vec![0, 1];
        body.extend(b"balance\0");
        body.extend([0, 0, 0, 9, 0, 2, 0, 0, 0, 20, 0, 8, 255, 255, 255, 255, 0, 0]);
        let found = columns(&body).unwrap();
        assert_eq!((found[0].name.as_str(), found[0].oid), ("balance", 20));
        for cut in 0..body.len() {
            assert_eq!(columns(&body[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn one_changed_row_is_distinguished_from_none_and_many() {
        assert!(ends_in_one(b"UPDATE 1\0") && ends_in_one(b"INSERT 0 1\0"));
        for other in [&b"UPDATE 0\0"[..], b"DELETE 11\0", b"UPDATE 10\0", b"", b"1\0"] {
            assert!(!ends_in_one(other));
        }
    }

    // A.E6
    #[test]
    fn hostile_messages_never_cause_a_read_beyond_their_end() {
        use crate::postgres::control::cells;
        use crate::postgres::failure::ServerError;
        let mut random = fastrand::Rng::with_seed(23);
        let numbers: [&[u8]; 8] = [
            &[0, 0],
            &[0, 1],
            &[0x7f, 0xff],
            &[0xff, 0xff],
            &[0x7f, 0xff, 0xff, 0xff],
            &[0xff, 0xff, 0xff, 0xff],
            &[0, 0, 0, 2],
            b"C40001\0Mwords\0",
        ];
        let mut whole = 0;
        for _ in 0..50_000 {
            let mut body = Vec::new();
            for _ in 0..random.usize(0..6) {
                body.extend_from_slice(numbers[random.usize(..numbers.len())]);
            }
            body.truncate(random.usize(..=body.len()));
            if let Some(cells) = cells(&body) {
                let bytes: usize = cells.flatten().flatten().map(<[u8]>::len).sum();
                assert!(bytes <= body.len());
                whole += 1;
            }
            drop(columns(&body));
            drop(ServerError::of(&body));
        }
        assert!(whole > 1_000);
    }
}
