//! Tasks: a reader's task reads some records and compares every byte; a writer's task writes some new ones.
//!
//! The reads of a task are requested together, and its writes are sent together, because they are
//! independent. Readers choose among acknowledged records.

use super::bytes::RecordBytes;
use super::table::Table;
use crate::distributions::Stream;
use crate::rows::{NewRows, RowSet};
use crate::violations::Violations;
use std::sync::Arc;
use syncline_contract::{Bytes, Ending, Int, Read, Session, Stop, Transaction, Write};

/// The position of a task that reads, in the transactions of both workloads.
pub(crate) const READ_TASK: usize = 0;
/// The position of a task that writes.
pub(crate) const WRITE_TASK: usize = 1;

/// What the check needs from a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records whose write was acknowledged.
    pub(super) written: RowSet,
    /// Numbers of records whose write has an unknown outcome.
    pub(super) perhaps: Vec<u64>,
    /// Reads that did not return the record as written.
    pub(super) wrong: Violations,
}

/// The tasks of a client of either workload.
#[derive(Debug)]
pub(crate) struct Tasks {
    read: Read<(Int,), (Bytes,)>,
    write: Write<(Int, Bytes)>,
    bytes: RecordBytes,
    new_rows: Arc<NewRows>,
    stream: Stream,
    /// The records of the drawn task.
    numbers: Vec<u64>,
    /// Numbers of records whose write was rolled back.
    spare: Vec<u64>,
    tally: Tally,
}

impl Tasks {
    /// The tasks of one client.
    pub(crate) fn new(table: &Table, client: usize, seed: u64) -> Tasks {
        Tasks {
            read: table.read,
            write: table.write,
            bytes: table.bytes.clone(),
            new_rows: Arc::clone(&table.new_rows),
            stream: Stream::of_client(seed, client, "records"),
            numbers: Vec::new(),
            spare: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// The random choices of the client.
    pub(crate) fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// Draws records to read; `newest` percent of them are deliberately the newest.
    pub(crate) fn draw_reads(&mut self, reads: u64, newest: u64) {
        self.numbers.clear();
        let readable = self.new_rows.readable();
        for _ in 0..reads {
            let is_newest = newest > 0 && self.stream.below(100) < newest;
            let number = if is_newest { readable - 1 } else { self.stream.below(readable) };
            self.numbers.push(number);
        }
    }

    /// Draws new records to write.
    pub(crate) fn draw_writes(&mut self, writes: u64) {
        self.numbers.clear();
        for _ in 0..writes {
            let number = self.spare.pop();
            self.numbers.push(number.unwrap_or_else(|| self.new_rows.next()));
        }
    }

    /// Performs the drawn task.
    pub(crate) async fn perform<S: Session>(
        &mut self,
        kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        if kind == WRITE_TASK { self.write(transaction) } else { self.read(transaction).await }
    }

    /// Reads the drawn records and compares every byte.
    async fn read<S: Session>(&mut self, transaction: &mut Transaction<'_, S>) -> Result<(), Stop> {
        for number in &self.numbers {
            transaction.ask(&self.read, (*number as i64,))?;
        }
        for number in &self.numbers {
            let found = transaction.answer_if_any(&self.read).await?;
            let holds = found.is_some_and(|(bytes,)| bytes == self.bytes.of(*number));
            if !holds {
                let is_there = found.is_some();
                wrong(*number, is_there, &self.new_rows, &mut self.tally.wrong);
            }
        }
        Ok(())
    }

    /// Writes the drawn records.
    fn write<S: Session>(&self, transaction: &mut Transaction<'_, S>) -> Result<(), Stop> {
        self.numbers.iter().try_for_each(|number| {
            transaction.write(&self.write, (*number as i64, self.bytes.of(*number)))
        })
    }

    /// Records how the write of the drawn records ended.
    pub(crate) fn written(&mut self, ending: Ending) {
        for number in self.numbers.drain(..) {
            match ending {
                Ending::Committed => {
                    self.tally.written.add(number);
                    self.new_rows.acknowledge(number);
                }
                Ending::Undone => self.spare.push(number),
                Ending::Unknown => {
                    self.tally.perhaps.push(number);
                    self.new_rows.lose(number);
                }
            }
        }
    }

    /// Returns what the check needs.
    pub(crate) fn tally(self) -> Tally {
        self.tally
    }
}

#[cold]
fn wrong(number: u64, is_there: bool, new_rows: &NewRows, wrong: &mut Violations) {
    if is_there {
        wrong.add(|| {
            format!("record {number} was read, but differs from the bytes that were written")
        });
    } else if !new_rows.is_unknown(number) {
        wrong.add(|| format!("record {number} was acknowledged, but not found"));
    }
}
