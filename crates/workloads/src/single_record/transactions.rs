//! The client: draws and performs transactions.

use super::options::Access;
use super::schema::{SingleRecord, TEXTS, TableOperations, indexed};
use super::written_texts::{TextBitmaps, note};
use crate::distributions::Stream;
use crate::lookup::By;
use std::sync::Arc;
use syncline_contract::{AccessPattern, Client, Ending, Session, Stop, Transaction};

/// What the check needs from a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rows that were read with the wrong key, or with a text that is never written.
    pub wrong: u64,
    /// The first of them, in words.
    pub first: Option<String>,
}

/// A client.
#[derive(Debug)]
pub struct SingleRecordClient {
    writes: bool,
    by: By,
    rows: u64,
    tables: Arc<[TableOperations]>,
    texts: Arc<[String]>,
    words: TextBitmaps,
    stream: Stream,
    table: usize,
    row: u64,
    text: usize,
    tally: Tally,
}

impl SingleRecordClient {
    pub(super) fn new<A: Access>(of: &SingleRecord<A>, number: usize, seed: u64) -> Self {
        SingleRecordClient {
            writes: A::WRITES,
            by: of.options.by,
            rows: of.options.rows,
            tables: Arc::clone(&of.tables),
            texts: Arc::clone(&of.texts),
            words: of.written.words(),
            stream: Stream::of_client(seed, number, "single record"),
            table: 0,
            row: 0,
            text: 0,
            tally: Tally::default(),
        }
    }

    /// Checks a row that was read.
    #[inline]
    fn check_row(&mut self, id: i64, text: &str) {
        if id != self.row as i64 || self.texts.iter().all(|of| of != text) {
            self.record_wrong(id, text);
        }
    }

    #[cold]
    fn record_wrong(&mut self, id: i64, text: &str) {
        self.tally.wrong += 1;
        let row = self.row;
        let first = || format!("row {row} was requested, but {id} was returned with \"{text}\"");
        self.tally.first.get_or_insert_with(first);
    }
}

impl Client for SingleRecordClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        if self.tables.len() > 1 {
            self.table = self.stream.below(self.tables.len() as u64) as usize;
        }
        self.row = self.stream.below(self.rows);
        if self.writes {
            self.text = self.stream.below(TEXTS as u64) as usize;
        }
        0
    }

    #[inline]
    fn access_pattern(&self, _kind: usize) -> AccessPattern {
        if self.writes && self.by == By::Index {
            AccessPattern::Several
        } else {
            AccessPattern::Single
        }
    }

    #[inline]
    async fn perform<S: Session>(
        &mut self,
        _kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let table = self.tables[self.table];
        let mut id = self.row as i64;
        if let Some(by_index) = &table.by_index {
            let sec = indexed(self.row, self.rows);
            let (found, text) = transaction.read(by_index, (sec,)).await?;
            self.check_row(found, text);
            id = found;
        } else if !self.writes {
            let (found, text) = transaction.read(&table.by_key, (id,)).await?;
            self.check_row(found, text);
        }
        if let Some(set_text) = &table.set_text {
            transaction.write(set_text, (id, &self.texts[self.text]))?;
        }
        Ok(())
    }

    #[inline]
    fn ended(&mut self, _kind: usize, ending: Ending) {
        if self.writes && ending != Ending::Undone {
            let row = self.table * self.rows as usize + self.row as usize;
            note(&self.words, row, self.text, ending == Ending::Committed);
        }
    }

    fn tally(self) -> Tally {
        self.tally
    }
}
