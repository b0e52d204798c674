//! Tasks: a reader's, which reads some records and compares every byte, and a writer's, which writes
//! some new ones.
//!
//! The reads of a task are asked together and its writes sent together: they are independent. Readers
//! pick among records that were acknowledged.

use super::bytes::RecordBytes;
use super::table::Table;
use crate::distributions::Stream;
use crate::rows::{NewRows, RowSet};
use crate::violations::Violations;
use std::sync::Arc;
use syncline_contract::{Bytes, Ending, Int, Read, Session, Stop, Transaction, Write};

/// What the check needs to know of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records whose writing was acknowledged.
    pub(super) written: RowSet,
    /// Numbers of records of which nobody knows whether they were written.
    pub(super) perhaps: Vec<u64>,
    /// Reads that did not answer the record as it was written.
    pub(super) wrong: Violations,
}

/// What a client of either workload does.
#[derive(Debug)]
pub(crate) struct Tasks {
    read: Read<(Int,), (Bytes,)>,
    write: Write<(Int, Bytes)>,
    bytes: RecordBytes,
    new_rows: Arc<NewRows>,
    stream: Stream,
    /// The records of the task that was drawn.
    numbers: Vec<u64>,
    /// Numbers of records that were not written after all.
    spare: Vec<u64>,
    tally: Tally,
}

impl Tasks {
    /// Of a client.
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

    /// Draws so many records to read, of which `newest` per cent are the newest on purpose.
    pub(crate) fn draw_reads(&mut self, reads: u64, newest: u64) {
        self.numbers.clear();
        let readable = self.new_rows.readable();
        for _ in 0..reads {
            let is_newest = newest > 0 && self.stream.below(100) < newest;
            let number = if is_newest { readable - 1 } else { self.stream.below(readable) };
            self.numbers.push(number);
        }
    }

    /// Draws so many new records to write.
    pub(crate) fn draw_writes(&mut self, writes: u64) {
        self.numbers.clear();
        for _ in 0..writes {
            let number = self.spare.pop();
            self.numbers.push(number.unwrap_or_else(|| self.new_rows.next()));
        }
    }

    /// Reads what was drawn and compares every byte.
    pub(crate) async fn read<S: Session>(
        &mut self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
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

    /// Writes what was drawn.
    pub(crate) fn write<S: Session>(
        &self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        self.numbers.iter().try_for_each(|number| {
            transaction.write(&self.write, (*number as i64, self.bytes.of(*number)))
        })
    }

    /// How the writing of what was drawn ended.
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

    /// Gives up what the check needs.
    pub(crate) fn tally(self) -> Tally {
        self.tally
    }
}

#[cold]
fn wrong(number: u64, is_there: bool, new_rows: &NewRows, wrong: &mut Violations) {
    if is_there {
        wrong.add(|| format!("record {number} was read with other bytes than were written"));
    } else if !new_rows.is_unknown(number) {
        wrong.add(|| format!("record {number} was acknowledged and not found"));
    }
}
