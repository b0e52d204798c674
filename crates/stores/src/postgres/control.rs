//! Statements outside of transactions under test: one at a time, blocking, answers as text.
//!
//! 1. A question sees the names of `pg_catalog` alone, whatever the session's own search path is: who may
//!    create functions in a schema of that path could else have a superuser run them (CVE-2018-1058). The
//!    path is set for the question's own transaction, so that a pooler keeps nothing of it.
//! 2. A question has [`Control::patience`] for its answer, a command [`COMMAND_WITHIN`].
//! 3. An answer has at most [`ANSWER_MAX`] bytes.

use super::protocol::{Connection, ServerLocation, tag};
use postgres_protocol::message::frontend;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use syncline_contract::{Failure, FailureKind, TargetResult};

/// What stands before each question, and first in each transaction of our own.
pub(super) const TRUSTED: &str = "SET LOCAL search_path = pg_catalog, pg_temp";

/// How long a command may take: one that makes or drops what is ours.
const COMMAND_WITHIN: Duration = Duration::from_mins(10);

/// The most bytes of the rows of an answer.
const ANSWER_MAX: usize = 16 << 20;

/// A row of texts; null is none.
pub(super) type TextRow = Vec<Option<String>>;

/// A connection for questions of our own.
#[derive(Debug)]
pub(super) struct Control {
    connection: Connection,
    /// How long an answer to a question may take.
    patience: Duration,
    /// Transactions that it has made.
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

    /// The process that the server named at log-in.
    pub(super) fn process_at_login(&self) -> Option<u64> {
        self.connection.process_at_login
    }

    /// The socket, by which the server's process is known.
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.connection.stream.as_fd()
    }

    /// Asks one or more questions in one transaction; answers all rows.
    pub(super) async fn rows(&mut self, statements: &str) -> TargetResult<Vec<TextRow>> {
        let ran = self.try_rows(statements).await?;
        ran.map_err(|error| error.outside(statements))
    }

    /// The same; an error of the server is told apart.
    pub(super) async fn try_rows(
        &mut self,
        statements: &str,
    ) -> TargetResult<Result<Vec<TextRow>, super::failure::ServerError>> {
        let text = format!("{TRUSTED}; {statements}");
        self.send(&text, Some(self.patience)).await
    }

    /// Sends statements as they are, and takes their rows within that time.
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
                        Some(_) => return Err(connection.garbled("rows without end")),
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
                _ => return Err(connection.garbled("the answer to a statement of our own")),
            }
        }
    }

    /// Runs commands as they are: every name in them is qualified or a keyword, and no function is called.
    pub(super) async fn run(&mut self, commands: &str) -> TargetResult<()> {
        let ran = self.send(commands, Some(COMMAND_WITHIN)).await?;
        ran.map(drop).map_err(|error| error.outside(commands))
    }

    /// The same for commands that are named by what they do.
    pub(super) async fn run_as(&mut self, commands: &str, doing: &str) -> TargetResult<()> {
        let ran = self.send(commands, Some(COMMAND_WITHIN)).await?;
        ran.map(drop).map_err(|error| error.outside(doing))
    }

    /// The same for a command that may take as long as it likes.
    pub(super) async fn run_long(&mut self, command: &str) -> TargetResult<()> {
        let ran = self.send(command, None).await?;
        ran.map(drop).map_err(|error| error.outside(command))
    }

    /// The first cell of the first row; empty if there is none, or if it is null.
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

/// The cells of a row: none for null, an empty inner option for bytes that are not there.
#[inline]
pub(super) fn cells(body: &[u8]) -> Option<Cells<'_>> {
    let (count, rest) = body.split_first_chunk::<2>()?;
    Some(Cells { left: i16::from_be_bytes(*count), rest })
}

/// See [`cells`].
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
