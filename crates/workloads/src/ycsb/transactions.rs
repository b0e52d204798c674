//! The client: draws one operation or several, sends all reads, checks the answers, then writes.

use super::content::Content;
use super::keys::Keys;
use super::operation_kind::{DELETE, INSERT, MIXED, Mix, READ, READ_MODIFY_WRITE, SCAN, UPDATE};
use super::option_values::Verify;
use super::schema::{Get, Operations, ScanRows, Ycsb};
use crate::distributions::{KeyChooser, Stream};
use crate::rows::{NewRows, RowBitmap, RowSet};
use crate::violations::Violations;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use syncline_contract::{
    AccessPattern, Client, Ending, Many, Session, Several, Stop, Text, Transaction, Value, Write,
};

/// What the check needs from a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rows whose insert was acknowledged.
    pub(super) inserted: RowSet,
    /// Rows whose delete was acknowledged.
    pub(super) deleted: RowSet,
    /// Identities of rows whose insert has an unknown outcome.
    pub(super) perhaps_inserted: Vec<u64>,
    /// Number of deletes with an unknown outcome.
    pub(super) perhaps_deleted: u64,
    /// The greatest distance of its written versions from the run's first version.
    pub(super) versions: u64,
    /// Reads that did not find a row that must exist.
    pub(super) missing: Violations,
    /// Rows with values that were never written for them.
    pub(super) damaged: Violations,
}

/// A drawn operation.
#[derive(Clone, Debug)]
struct DrawnOperation {
    kind: usize,
    number: u64,
    identity: u64,
    key: String,
    /// The field to read, if a single one is read; otherwise zero, the position of the only operation.
    read: usize,
    /// The field to write; the same applies.
    write: usize,
    /// Number of rows of a scan.
    rows: u64,
    /// Whether the row to change was found.
    is_there: bool,
}

/// A client.
#[derive(Debug)]
pub struct YcsbClient {
    operations: Arc<Operations>,
    new_rows: Arc<NewRows>,
    keys: Keys,
    mix: Mix,
    chooser: KeyChooser,
    /// The record from which the chooser counts.
    first: u64,
    scan_rows: ScanRows,
    stream: Stream,
    value_fields: usize,
    reads_all: bool,
    writes_all: bool,
    deletes: bool,
    drawn: Vec<DrawnOperation>,
    /// Numbers whose insert was rolled back, for the next inserts.
    spare: Vec<u64>,
    /// Rows that the transaction has deleted so far.
    deleted_rows: Vec<u64>,
    first_version: u64,
    version: u64,
    updated: RowBitmap,
    clients: u64,
    values: Values,
    eyes: RowVerifier,
    tally: Tally,
}

impl YcsbClient {
    pub(super) fn new(ycsb: &Ycsb, number: usize, clients: usize, seed: u64) -> YcsbClient {
        let options = &ycsb.options;
        let first_version = ycsb.first_version.load(Ordering::Relaxed);
        let (chooser, first) = ycsb.chooser(number, clients);
        let empty = DrawnOperation {
            kind: READ,
            number: 0,
            identity: 0,
            key: String::new(),
            read: 0,
            write: 0,
            rows: 0,
            is_there: false,
        };
        YcsbClient {
            operations: Arc::clone(&ycsb.operations),
            new_rows: Arc::clone(&ycsb.new_rows),
            keys: ycsb.keys,
            mix: ycsb.mix(),
            chooser,
            first,
            scan_rows: ycsb.scan_rows(),
            stream: Stream::of_client(seed, number, "ycsb"),
            value_fields: ycsb.value_fields,
            reads_all: options.read_all_fields,
            writes_all: options.write_all_fields,
            deletes: ycsb.deletes(),
            drawn: vec![empty; options.ops_per_txn as usize],
            spare: Vec::new(),
            deleted_rows: Vec::new(),
            first_version,
            version: first_version.wrapping_add(number as u64),
            updated: ycsb.updated.marked(),
            clients: clients as u64,
            values: Values::default(),
            eyes: RowVerifier {
                content: ycsb.content.clone(),
                keys: ycsb.keys,
                verify: options.verify,
                turn: 0,
                fields: ycsb.value_fields,
            },
            tally: Tally::default(),
        }
    }

    #[inline]
    fn draw_one(&mut self, place: usize, readable: u64) {
        let kind = self.mix.draw(&mut self.stream);
        let number = if kind == INSERT {
            self.spare.pop().unwrap_or_else(|| self.new_rows.next())
        } else {
            self.first + self.chooser.draw(&mut self.stream, readable - self.first)
        };
        let drawn = &mut self.drawn[place];
        drawn.kind = kind;
        drawn.number = number;
        drawn.identity = self.keys.identity(number);
        self.keys.write(drawn.identity, &mut drawn.key);
        if !self.reads_all {
            drawn.read = self.stream.below(self.value_fields as u64) as usize;
        }
        if !self.writes_all && matches!(kind, UPDATE | READ_MODIFY_WRITE) {
            drawn.write = self.stream.below(self.value_fields as u64) as usize;
        }
        if kind == SCAN {
            drawn.rows = match &self.scan_rows {
                ScanRows::Always(rows) => *rows,
                ScanRows::Between(least, most) => least + self.stream.below(most - least + 1),
                ScanRows::Zipfian(least, gray) => least + gray.draw(&mut self.stream),
            };
        }
    }

    /// Sends the read of an operation, if it has one.
    #[inline]
    fn ask<S: Session>(
        &self,
        drawn: &DrawnOperation,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (operations, key) = (&*self.operations, drawn.key.as_str());
        match drawn.kind {
            READ => transaction.ask(&operations.reads[drawn.read], (key,)),
            READ_MODIFY_WRITE => transaction.ask(&operations.reads_to_change[drawn.read], (key,)),
            SCAN => transaction.ask(&operations.scans[drawn.read], (key, drawn.rows as i64)),
            UPDATE | DELETE => match &operations.is_there {
                Some(is_there) => transaction.ask(is_there, (key,)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Receives the answer of an operation, if it has one, and checks it.
    #[inline]
    async fn take<S: Session>(
        &mut self,
        place: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let drawn = &mut self.drawn[place];
        match drawn.kind {
            READ | READ_MODIFY_WRITE => {
                let get: Get = if drawn.kind == READ {
                    self.operations.reads[drawn.read]
                } else {
                    self.operations.reads_to_change[drawn.read]
                };
                let row = transaction.answer_if_any(&get).await?;
                self.found(place, row);
            }
            SCAN => {
                let scan = &self.operations.scans[drawn.read];
                for row in transaction.answers(scan).await? {
                    self.eyes.scanned(drawn.read, &row?, &mut self.tally.damaged);
                }
            }
            UPDATE | DELETE => {
                drawn.is_there = match &self.operations.is_there {
                    Some(is_there) => transaction.answer_if_any(is_there).await?.is_some(),
                    None => true,
                };
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks the row that a read returned.
    #[inline]
    fn found(&mut self, place: usize, row: Option<Several<'_, Text>>) {
        let drawn = &mut self.drawn[place];
        drawn.is_there = row.is_some();
        match row {
            Some(row) => {
                let damaged = &mut self.tally.damaged;
                self.eyes.row(drawn.identity, drawn.read, &row, 0, damaged);
            }
            None if self.deletes => {}
            None => missed(drawn, &self.new_rows, &mut self.tally.missing),
        }
    }

    /// Sends the write of an operation, if it has one.
    fn write<S: Session>(
        &mut self,
        place: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let drawn = &self.drawn[place];
        let (operations, key) = (&*self.operations, drawn.key.as_str());
        let (content, identity) = (&self.eyes.content, drawn.identity);
        let is_there = drawn.is_there && !self.deleted_rows.contains(&drawn.number);
        match drawn.kind {
            INSERT => {
                let fields = 0..self.value_fields;
                self.values.fill(content, identity, fields, 0);
                self.values.send(operations.insert, key, transaction)
            }
            UPDATE | READ_MODIFY_WRITE if is_there => {
                let fields = if self.writes_all {
                    0..self.value_fields
                } else {
                    drawn.write..drawn.write + 1
                };
                self.values.fill(content, identity, fields, self.version);
                self.values.send(operations.updates[drawn.write], key, transaction)
            }
            DELETE if is_there => {
                let Some(delete) = &operations.delete else {
                    unreachable!("a mix that deletes has declared it");
                };
                self.deleted_rows.push(drawn.number);
                transaction.write(delete, (key,))
            }
            _ => Ok(()),
        }
    }
}

#[cold]
fn missed(drawn: &DrawnOperation, new_rows: &NewRows, missing: &mut Violations) {
    if !new_rows.is_unknown(drawn.number) {
        missing.add(|| {
            let (key, number) = (&drawn.key, drawn.number);
            format!("no row at key {key}, row number {number}")
        });
    }
}

impl Client for YcsbClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        let readable = self.new_rows.readable();
        self.version = self.version.wrapping_add(self.clients);
        for place in 0..self.drawn.len() {
            self.draw_one(place, readable);
        }
        if self.drawn.len() == 1 { self.drawn[0].kind } else { MIXED }
    }

    #[inline]
    fn access_pattern(&self, kind: usize) -> AccessPattern {
        match kind {
            READ | SCAN | INSERT => AccessPattern::Single,
            UPDATE if !self.deletes => AccessPattern::Single,
            MIXED => {
                let reads = |drawn: &DrawnOperation| matches!(drawn.kind, READ | SCAN);
                if self.drawn.iter().all(reads) {
                    AccessPattern::ReadOnly
                } else {
                    AccessPattern::Several
                }
            }
            _ => AccessPattern::Several,
        }
    }

    #[inline]
    async fn perform<S: Session>(
        &mut self,
        kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        if kind == READ {
            let drawn = &self.drawn[0];
            let get = &self.operations.reads[drawn.read];
            transaction.ask(get, (&drawn.key,))?;
            let row = transaction.answer_if_any(get).await?;
            self.found(0, row);
            return Ok(());
        }
        for drawn in &self.drawn {
            self.ask(drawn, transaction)?;
        }
        for place in 0..self.drawn.len() {
            self.take(place, transaction).await?;
        }
        self.deleted_rows.clear();
        for place in 0..self.drawn.len() {
            self.write(place, transaction)?;
        }
        Ok(())
    }

    #[inline]
    fn ended(&mut self, kind: usize, ending: Ending) {
        if kind == READ {
            return;
        }
        for drawn in &self.drawn {
            match (drawn.kind, ending) {
                (INSERT, Ending::Committed) => {
                    self.tally.inserted.add(drawn.identity);
                    self.new_rows.acknowledge(drawn.number);
                }
                (INSERT, Ending::Undone) => self.spare.push(drawn.number),
                (INSERT, Ending::Unknown) => {
                    self.tally.perhaps_inserted.push(drawn.identity);
                    self.new_rows.lose(drawn.number);
                }
                (UPDATE | READ_MODIFY_WRITE, Ending::Committed) if drawn.is_there => {
                    self.updated.mark(drawn.number);
                }
                _ => {}
            }
        }
        for number in self.deleted_rows.drain(..) {
            // Rows with unknown outcomes are excluded from the expected ones, whichever client deletes them.
            match ending {
                Ending::Committed | Ending::Unknown if self.new_rows.is_unknown(number) => {}
                Ending::Committed => self.tally.deleted.add(self.keys.identity(number)),
                Ending::Undone => {}
                Ending::Unknown => self.tally.perhaps_deleted += 1,
            }
        }
    }

    fn tally(mut self) -> Tally {
        self.tally.versions = self.version.wrapping_sub(self.first_version);
        self.tally
    }
}

/// The values of a write, in reused memory.
#[derive(Debug, Default)]
struct Values {
    text: String,
    /// The end of each value in the text.
    ends: Vec<usize>,
    list: Vec<Value<'static>>,
}

impl Values {
    fn fill(
        &mut self,
        content: &Content,
        identity: u64,
        fields: std::ops::Range<usize>,
        version: u64,
    ) {
        self.text.clear();
        self.ends.clear();
        for field in fields {
            content.write(identity, field, version, &mut self.text);
            self.ends.push(self.text.len());
        }
    }

    /// Sends a key and the values.
    fn send<S: Session>(
        &mut self,
        operation: Write<Many<Text>>,
        key: &str,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let mut list = recycled(std::mem::take(&mut self.list));
        list.push(Value::Text(key));
        let mut start = 0;
        for end in &self.ends {
            list.push(Value::Text(&self.text[start..*end]));
            start = *end;
        }
        let sent = transaction.write(&operation, Several::Values(&list));
        self.list = recycled(list);
        sent
    }
}

/// The memory of a list, emptied, for values with another lifetime. The standard library collects in place,
/// so this does not allocate.
fn recycled<'b>(mut list: Vec<Value<'_>>) -> Vec<Value<'b>> {
    list.clear();
    list.into_iter().map(|_| unreachable!("the list is empty")).collect()
}

/// Verifies rows that were read.
#[derive(Debug)]
pub(super) struct RowVerifier {
    pub(super) content: Content,
    pub(super) keys: Keys,
    pub(super) verify: Verify,
    /// The next field to verify, if one at a time is verified.
    pub(super) turn: usize,
    pub(super) fields: usize,
}

impl RowVerifier {
    /// Verifies a row with a known key, whose values begin at cell `before`. `read` is the field that was
    /// read, if it was a single one.
    #[inline]
    pub(super) fn row(
        &mut self,
        identity: u64,
        read: usize,
        row: &Several<'_, Text>,
        before: usize,
        damaged: &mut Violations,
    ) {
        let cells = row.len() - before;
        let looked_at = match self.verify {
            Verify::Presence => return,
            Verify::Field => {
                self.turn = if self.turn + 1 < cells { self.turn + 1 } else { 0 };
                self.turn..self.turn + 1
            }
            Verify::Row => 0..cells,
        };
        let first = if cells == self.fields { 0 } else { read };
        for cell in looked_at {
            let (field, value) = (first + cell, row.get(before + cell));
            if !self.content.holds(identity, field, value) {
                self.damaged(identity, field, damaged);
            }
        }
    }

    #[cold]
    fn damaged(&self, identity: u64, field: usize, damaged: &mut Violations) {
        damaged.add(|| {
            let key = self.keys.text(identity);
            format!("value {field} at key {key} was never written there")
        });
    }

    /// Verifies a row of a scan: its key, then values.
    pub(super) fn scanned(
        &mut self,
        read: usize,
        row: &Several<'_, Text>,
        damaged: &mut Violations,
    ) -> Option<u64> {
        let key = row.get(0);
        let identity = self.keys.read(key);
        match identity {
            Some(identity) => self.row(identity, read, row, 1, damaged),
            None => damaged.add(|| format!("key {key:?} is not a key of this table")),
        }
        identity
    }
}
