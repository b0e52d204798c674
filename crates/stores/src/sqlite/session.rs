//! A client that is a thread: its own connection, on which every call blocks until it is done.

use super::execute::{Connected, Control};
use syncline_contract::{
    AccessPattern, Failure, FailureKind, OperationId, Replies, Rows, Session, Stop, TableId, Value,
};

/// A client's connection. Closing it rolls back an open transaction.
#[derive(Debug)]
pub struct SqliteSession {
    connected: Connected,
    replies: Replies,
    pattern: AccessPattern,
    /// True from the first operation of a transaction to its end.
    started: bool,
}

impl SqliteSession {
    pub(super) fn new(connected: Connected) -> SqliteSession {
        SqliteSession {
            connected,
            replies: Replies::default(),
            pattern: AccessPattern::Single,
            started: false,
        }
    }

    #[inline]
    fn start(&mut self) -> Result<(), Stop> {
        match self.pattern {
            AccessPattern::Single | AccessPattern::AsWritten => {}
            AccessPattern::ReadOnly => self.connected.control(Control::Begin)?,
            AccessPattern::Several => self.connected.control(Control::BeginImmediate)?,
        }
        self.started = true;
        Ok(())
    }
}

impl Session for SqliteSession {
    #[inline]
    fn begin(&mut self, pattern: AccessPattern) {
        self.pattern = pattern;
        self.started = false;
        self.replies.clear();
    }

    #[inline]
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        if !self.started {
            self.start()?;
        }
        let whole = self.pattern == AccessPattern::Single;
        self.connected.run(operation, values, whole, &mut self.replies)
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        self.replies.receive().ok_or_else(no_operation_pending)
    }

    #[inline]
    async fn commit(&mut self) -> Result<(), Stop> {
        match self.pattern {
            AccessPattern::ReadOnly | AccessPattern::Several if self.started => {
                self.connected.control(Control::Commit)?;
            }
            AccessPattern::AsWritten if !self.connected.is_autocommit() => return Err(left_open()),
            _ => {}
        }
        self.started = false;
        Ok(())
    }

    async fn abort(&mut self) {
        self.started = false;
        self.replies.clear();
        if !self.connected.is_autocommit() {
            // If the rollback fails, the transaction stays open, and the next one's BEGIN returns an
            // error.
            drop(self.connected.control(Control::Rollback));
        }
    }

    fn columns(&self, operation: OperationId) -> Option<Vec<String>> {
        Some(self.connected.columns(operation))
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        self.connected.load(table, batch)
    }
}

#[cold]
fn left_open() -> Stop {
    let what =
        "a script left a transaction open: each run of it must end the transactions that it begins";
    Failure::new(FailureKind::Statement, what).into()
}

#[cold]
pub(super) fn no_operation_pending() -> Stop {
    Failure::new(FailureKind::Statement, "no operation is waiting for an answer").into()
}
