//! A client by threads: a connection of its own, on which every call blocks until it is done.

use super::execute::{Connected, Control};
use syncline_contract::{
    AccessPattern, Failure, FailureKind, OperationId, Replies, Rows, Session, Stop, TableId, Value,
};

/// A client's connection. Closing it undoes what is open.
#[derive(Debug)]
pub struct SqliteSession {
    connected: Connected,
    replies: Replies,
    shape: AccessPattern,
    /// True from the first operation of a transaction to its end.
    started: bool,
}

impl SqliteSession {
    pub(super) fn new(connected: Connected) -> SqliteSession {
        SqliteSession {
            connected,
            replies: Replies::default(),
            shape: AccessPattern::Single,
            started: false,
        }
    }

    #[inline]
    fn start(&mut self) -> Result<(), Stop> {
        match self.shape {
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
    fn begin(&mut self, shape: AccessPattern) {
        self.shape = shape;
        self.started = false;
        self.replies.clear();
    }

    #[inline]
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        if !self.started {
            self.start()?;
        }
        let whole = self.shape == AccessPattern::Single;
        self.connected.run(operation, values, whole, &mut self.replies)
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        self.replies.receive().ok_or_else(nothing_asked)
    }

    #[inline]
    async fn commit(&mut self) -> Result<(), Stop> {
        match self.shape {
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
            // If the rollback fails the transaction stays open, and the next one's BEGIN says so.
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
    let what = "the statements began a transaction and did not end it";
    Failure::new(FailureKind::Statement, what).into()
}

#[cold]
pub(super) fn nothing_asked() -> Stop {
    Failure::new(FailureKind::Statement, "no question waits for an answer").into()
}
