//! The client: the one writer, or a reader.

use super::schema::Mrow;
use crate::records::{READ_TASK, Tally, Tasks, WRITE_TASK};
use syncline_contract::{AccessPattern, Client, Ending, Session, Stop, Transaction, Waits};

/// A client.
#[derive(Debug)]
pub struct MrowClient {
    tasks: Tasks,
    reads_per_task: u64,
    records_per_commit: u64,
    write_wait_ns: u64,
    /// Number of records that the writer still has to write; zero for a reader.
    left: u64,
}

impl MrowClient {
    pub(super) fn new(mrow: &Mrow, number: usize, seed: u64) -> MrowClient {
        let options = &mrow.options;
        MrowClient {
            tasks: Tasks::new(&mrow.table, number, seed),
            reads_per_task: options.reads_per_task,
            records_per_commit: options.records_per_commit,
            write_wait_ns: options.write_wait_us * 1_000,
            left: if number == 0 { options.records - options.prewritten } else { 0 },
        }
    }
}

impl Client for MrowClient {
    type Tally = Tally;

    fn draw(&mut self) -> usize {
        if self.left > 0 {
            self.tasks.draw_writes(self.records_per_commit.min(self.left));
            WRITE_TASK
        } else {
            self.tasks.draw_reads(self.reads_per_task, 0);
            READ_TASK
        }
    }

    fn access_pattern(&self, kind: usize) -> AccessPattern {
        match kind {
            READ_TASK if self.reads_per_task == 1 => AccessPattern::Single,
            READ_TASK => AccessPattern::ReadOnly,
            _ if self.records_per_commit == 1 => AccessPattern::Single,
            _ => AccessPattern::Several,
        }
    }

    fn waits(&mut self, kind: usize) -> Waits {
        Waits { before_ns: 0, after_ns: if kind == WRITE_TASK { self.write_wait_ns } else { 0 } }
    }

    async fn perform<S: Session>(
        &mut self,
        kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        self.tasks.perform(kind, transaction).await
    }

    fn ended(&mut self, kind: usize, ending: Ending) {
        if kind == WRITE_TASK {
            let written = self.records_per_commit.min(self.left);
            self.tasks.written(ending);
            if ending != Ending::Undone {
                self.left -= written;
            }
        }
    }

    fn tally(self) -> Tally {
        self.tasks.tally()
    }
}
