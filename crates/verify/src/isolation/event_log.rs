//! Records invocations and endings of transactions during a load, in the order of real time.
//!
//! In memory, for a process that outlives its load; or line by line in a file, in Elle's format, for a
//! process that may be killed at any moment: transactions without a recorded ending are then unknown.

use parking_lot::Mutex;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use syncline_contract::{Failure, FailureKind, TargetResult};
use syncline_history::elle::event;
use syncline_history::{History, Operation, Transaction, TransactionStatus};

/// A log of events.
pub(crate) trait Events: Sync {
    /// Records that a transaction is requested; returns its number. A failure ends the client.
    fn invoke(&self, process: i64, operations: &[Operation]) -> TargetResult<usize>;

    /// Records how it ended.
    fn complete(
        &self,
        number: usize,
        process: i64,
        ending: TransactionStatus,
        operations: Vec<Operation>,
    ) -> TargetResult<()>;
}

/// A history and its number of events.
#[derive(Debug, Default)]
pub(super) struct InMemory(Mutex<(History, usize)>);

impl InMemory {
    pub(super) fn history(self) -> History {
        self.0.into_inner().0
    }
}

impl Events for InMemory {
    fn invoke(&self, process: i64, operations: &[Operation]) -> TargetResult<usize> {
        let mut guard = self.0.lock();
        let (history, events) = &mut *guard;
        history.transactions.push(Transaction {
            process,
            invoked: *events,
            completed: None,
            ending: TransactionStatus::Unknown,
            operations: operations.to_vec(),
        });
        *events += 1;
        Ok(history.transactions.len() - 1)
    }

    fn complete(
        &self,
        number: usize,
        _process: i64,
        ending: TransactionStatus,
        operations: Vec<Operation>,
    ) -> TargetResult<()> {
        let mut guard = self.0.lock();
        let (history, events) = &mut *guard;
        let transaction = &mut history.transactions[number];
        transaction.ending = ending;
        if ending == TransactionStatus::Committed {
            transaction.operations = operations;
        }
        if ending != TransactionStatus::Unknown {
            transaction.completed = Some(*events);
        }
        *events += 1;
        Ok(())
    }
}

/// An append-only file; each line is one write.
#[derive(Debug)]
pub(crate) struct FileLog {
    file: Mutex<File>,
    next: AtomicUsize,
}

impl FileLog {
    pub(crate) fn to(file: File) -> FileLog {
        FileLog { file: Mutex::new(file), next: AtomicUsize::new(0) }
    }

    fn write(
        &self,
        word: &str,
        process: i64,
        operations: &[Operation],
        answered: bool,
    ) -> TargetResult<()> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let line = format!("{}\n", event(word, process, index, operations, answered));
        let mut file = self.file.lock();
        file.write_all(line.as_bytes())
            .map_err(|error| Failure::new(FailureKind::Storage, format!("the history: {error}")))
    }
}

impl Events for FileLog {
    fn invoke(&self, process: i64, operations: &[Operation]) -> TargetResult<usize> {
        self.write("invoke", process, operations, false).map(|()| 0)
    }

    fn complete(
        &self,
        _number: usize,
        process: i64,
        ending: TransactionStatus,
        operations: Vec<Operation>,
    ) -> TargetResult<()> {
        let word = match ending {
            TransactionStatus::Committed => "ok",
            TransactionStatus::Failed => "fail",
            TransactionStatus::Unknown => "info",
        };
        self.write(word, process, &operations, ending == TransactionStatus::Committed)
    }
}
