//! Statements outside of measured transactions: one at a time, blocking, with answers as text.
//!
//! 1. A query sees only the names of `pg_catalog`, whatever the session's search path is: otherwise a
//!    role that may create functions in a schema of that path could have a superuser run them
//!    (CVE-2018-1058). The path is set for the query's own transaction, so that a pooler keeps nothing
//!    of it.
//! 2. A query must be answered within [`Control::patience`], a command within [`COMMAND_WITHIN`].
//! 3. An answer has at most [`ANSWER_MAX`] bytes.

use super::protocol::{Connection, ServerLocation, tag};
use postgres_protocol::message::frontend;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use syncline_contract::{Failure, FailureKind, TargetResult};

/// The statement that precedes each query and begins each transaction of [`Control`].
pub(super) const TRUSTED: &str = "SET LOCAL search_path = pg_catalog, pg_temp";

/// How long a command may take that creates or drops a managed object.
const COMMAND_WITHIN: Duration = Duration::from_mins(10);

/// The maximum size of the rows of an answer, in bytes.
const ANSWER_MAX: usize = 16 << 20;

/// A row of texts; null is `None`.
pub(super) type TextRow = Vec<Option<String>>;

/// A connection for this program's own queries and commands.
#[derive(Debug)]
pub(super) struct Control {
    connection: Connection,
    /// How long an answer to a query may take.
    patience: Duration,
    /// Transactions executed on it.
    pub(super) commits: u64,
}

impl Control {
    /// Connects, blocking the calling thread.
    pub(super) async fn open(place: &ServerLocation) -> TargetResult<Control> {
        Ok(Control {
            connection: Connection::open(place, None).await?,
            patience: place.settings.connect_timeout,
            commits: 0,
        })
    }

    /// The backend process that the server named at log-in.
    pub(super) fn process_at_login(&self) -> Option<u64> {
        self.connection.process_at_login
    }

    /// The socket, by which the server's process is identified.
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.connection.stream.as_fd()
    }

    /// Executes one or more queries in one transaction; returns all rows.
    pub(super) async fn rows(&mut self, statements: &str) -> TargetResult<Vec<TextRow>> {
        let ran = self.try_rows(statements).await?;
        ran.map_err(|error| error.outside(statements))
    }

    /// As [`Control::rows`], but returns an error of the server separately.
    pub(super) async fn try_rows(
        &mut self,
        statements: &str,
    ) -> TargetResult<Result<Vec<TextRow>, super::failure::ServerError>> {
        let text = format!("{TRUSTED}; {statements}");
        self.send(&text, Some(self.patience)).await
    }

    /// Sends statements unchanged and reads their rows within the given time.
    async fn send(
        &mut self,
        statements: &str,
        within: Option<Duration>,
    ) -> TargetResult<Result<Vec<TextRow>, super::failure::ServerError>> {
        let connection = &mut self.connection;
        let written = frontend::query(statements, &mut connection.out);
        written.map_err(|error| Failure::new(FailureKind::Statement, error.to_string()))?;
        connection.stream.limit(within);
        connection.flush().await?;
        self.commits += 1;
        let (mut rows, mut failed, mut bytes) = (Vec::new(), None, 0);
        loop {
            match connection.next().await? {
                tag::DATA_ROW => {
                    bytes += connection.message().len();
                    match text_row(connection.body()) {
                        Some(row) if bytes <= ANSWER_MAX => rows.push(row),
                        Some(_) => return Err(connection.garbled("too many rows")),
                        None => return Err(connection.garbled("a row")),
                    }
                }
                tag::ERROR => {
                    let error = connection.error();
                    if error.ends_connection() {
                        return Ok(Err(error));
                    }
                    failed = Some(error);
                }
                tag::READY => {
                    connection.note_status()?;
                    return Ok(failed.map_or(Ok(rows), Err));
                }
                tag::ROWS | tag::COMMAND_COMPLETE | tag::EMPTY_QUERY => {}
                _ => return Err(connection.garbled("the answer to a control statement")),
            }
        }
    }

    /// Runs commands unchanged: every name in them is qualified or a keyword, and they call no
    /// function.
    pub(super) async fn run(&mut self, commands: &str) -> TargetResult<()> {
        let ran = self.send(commands, Some(COMMAND_WITHIN)).await?;
        ran.map(drop).map_err(|error| error.outside(commands))
    }

    /// As [`Control::run`]; errors name what the commands do instead of their text.
    pub(super) async fn run_as(&mut self, commands: &str, doing: &str) -> TargetResult<()> {
        let ran = self.send(commands, Some(COMMAND_WITHIN)).await?;
        ran.map(drop).map_err(|error| error.outside(doing))
    }

    /// As [`Control::run`], for one command without a time limit.
    pub(super) async fn run_long(&mut self, command: &str) -> TargetResult<()> {
        let ran = self.send(command, None).await?;
        ran.map(drop).map_err(|error| error.outside(command))
    }

    /// The first cell of the first row; empty if it is missing or null.
    pub(super) async fn text(&mut self, statement: &str) -> TargetResult<String> {
        let rows = self.rows(statement).await?;
        let cell = rows.into_iter().next().and_then(|row| row.into_iter().next());
        Ok(cell.flatten().unwrap_or_default())
    }

    /// The first cell of the first row as a number, if it is one.
    pub(super) async fn number(&mut self, statement: &str) -> TargetResult<Option<u64>> {
        Ok(self.text(statement).await?.parse().ok())
    }
}

/// The cells of a row of texts.
pub(super) fn text_row(body: &[u8]) -> Option<TextRow> {
    cells(body)?
        .map(|cell| match cell {
            Some(bytes) => str::from_utf8(bytes?).ok().map(|text| Some(text.to_owned())),
            None => Some(None),
        })
        .collect()
}

/// The cells of a row: `None` for null, an empty inner option where bytes are missing.
#[inline]
pub(super) fn cells(body: &[u8]) -> Option<Cells<'_>> {
    let (count, rest) = body.split_first_chunk::<2>()?;
    Some(Cells { left: i16::from_be_bytes(*count), rest })
}

/// The iterator that [`cells`] returns.
pub(super) struct Cells<'b> {
    left: i16,
    rest: &'b [u8],
}

impl<'b> Iterator for Cells<'b> {
    type Item = Option<Option<&'b [u8]>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left <= 0 {
            return None;
        }
        self.left -= 1;
        let Some((length, rest)) = self.rest.split_first_chunk::<4>() else {
            self.left = 0;
            return Some(Some(None));
        };
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            self.rest = rest;
            return Some(None);
        };
        let Some((bytes, rest)) = rest.split_at_checked(length) else {
            self.left = 0;
            return Some(Some(None));
        };
        self.rest = rest;
        Some(Some(Some(bytes)))
    }
}
