//! The client: draws an event, performs it as a whole or statement by statement, and checks what it reads.
//!
//! The values that a statement writes are drawn with it, so that a retry writes them again. A client
//! remembers sums and exceptions, never its rows; only `delete` remembers ids, one bit each.

use super::content::{C_BYTES, GROUP, Owner, PAD_BYTES};
use super::event::{Event, Statement};
use super::load::text;
use super::options::Ids;
use super::schema::Oltp;
use super::statements::{NewRow, OfRange, Statements, TableOperations};
use super::sysbench_test::Test;
use super::unique_ids;
use crate::distributions::{Stream, mixed};
use crate::rows::{RowBitmap, RowSet};
use crate::violations::Violations;
use std::collections::BTreeSet;
use std::sync::Arc;
use syncline_contract::{AccessPattern, Client, Ending, Session, Stop, Transaction};

/// A row: its table by position, and its id.
pub(super) type RowId = (usize, u64);

/// What the check needs from a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Acknowledged additions to `k`, by table.
    pub(super) added: Vec<u64>,
    /// Additions with unknown outcomes.
    pub(super) perhaps_added: Vec<u64>,
    /// Acknowledged rows of the tests `insert` and `bulk_insert`.
    pub(super) inserted: RowSet,
    /// Identities of rows with unknown outcomes.
    pub(super) perhaps_inserted: Vec<u64>,
    /// Rows of test `delete` that are gone.
    pub(super) deleted: BTreeSet<RowId>,
    /// Rows that may be absent: deleted and not known to be inserted again, or possibly deleted.
    pub(super) away: BTreeSet<RowId>,
    /// Reads with wrong answers.
    pub(super) misread: Violations,
}

/// A drawn statement.
#[derive(Clone, Copy, Debug)]
struct DrawnEvent {
    statement: Statement,
    table: usize,
    id: u64,
    /// The `k` of a new row.
    k: u64,
    c_version: u64,
    pad_version: u64,
}

/// A client.
#[derive(Debug)]
pub struct OltpClient {
    statements: Arc<Statements>,
    event: Event,
    ids: Ids,
    test: Test,
    /// True if a transaction is a whole event.
    whole: bool,
    rows_may_be_away: bool,
    /// The number of tables to draw from.
    tables: u64,
    table_size: u64,
    range_size: u64,
    bulk_rows: u64,
    stream: Stream,
    versions: Stream,
    /// The event in progress.
    drawn: Vec<DrawnEvent>,
    /// The range of the event's statements that form the transaction.
    part: (usize, usize),
    /// Number of rows that the client has inserted, or tried to.
    rows: u64,
    number: u64,
    clients: u64,
    /// Rows that were added to, whose `c` was set, and that were deleted.
    added: RowBitmap,
    set: RowBitmap,
    deleted: RowBitmap,
    tally: Tally,
}

impl OltpClient {
    pub(super) fn new(oltp: &Oltp, number: usize, clients: usize, seed: u64) -> OltpClient {
        let options = &oltp.options;
        let tables = options.tables as usize;
        OltpClient {
            statements: Arc::clone(&oltp.statements),
            event: oltp.event.clone(),
            ids: oltp.ids,
            test: options.test,
            whole: options.has_transactions(),
            rows_may_be_away: options.rows_may_be_away(),
            tables: match options.used_tables {
                0 => options.tables,
                some => some,
            },
            table_size: options.table_size,
            range_size: options.range_size,
            bulk_rows: options.bulk_rows,
            stream: Stream::of_client(seed, number, "oltp"),
            versions: Stream::of_client(seed ^ oltp.salt(), number, "oltp versions"),
            drawn: Vec::new(),
            part: (0, 0),
            rows: 0,
            number: number as u64,
            clients: clients as u64,
            added: oltp.changed.added.marked(),
            set: oltp.changed.set.marked(),
            deleted: oltp.changed.deleted.marked(),
            tally: Tally {
                added: vec![0; tables],
                perhaps_added: vec![0; tables],
                ..Tally::default()
            },
        }
    }

    fn draw_event(&mut self) {
        self.drawn.clear();
        let tables = self.tables;
        for (statement, times) in &self.event.groups {
            let table = self.stream.below(tables) as usize;
            for _ in 0..*times {
                let drawn = DrawnEvent {
                    statement: *statement,
                    table,
                    id: self.ids.draw(&mut self.stream),
                    k: 0,
                    c_version: 0,
                    pad_version: 0,
                };
                let drawn = match statement {
                    Statement::NonIndexUpdate => {
                        DrawnEvent { c_version: self.versions.below(GROUP), ..drawn }
                    }
                    Statement::Insert | Statement::Delete => DrawnEvent {
                        k: self.ids.draw(&mut self.stream),
                        c_version: self.versions.below(GROUP),
                        pad_version: self.versions.below(GROUP),
                        ..drawn
                    },
                    _ => drawn,
                };
                self.drawn.push(drawn);
                if *statement == Statement::Delete && self.test != Test::Delete {
                    self.drawn.push(DrawnEvent { statement: Statement::Insert, ..drawn });
                }
            }
        }
    }

    /// The number of the next row in tests that insert; unique across clients.
    fn row_number(&self) -> u64 {
        self.rows * self.clients + self.number
    }

    /// The table of a client in test `bulk_insert`, and its ids: the first, and the step.
    fn bulk_place(&self) -> (usize, u64, u64) {
        let tables = self.statements.tables.len() as u64;
        let table = self.number % tables;
        let sharers = (self.clients - table).div_ceil(tables);
        (table as usize, self.number / tables + 1, sharers)
    }

    fn insert_in_bulk<S: Session>(&self, transaction: &mut Transaction<'_, S>) -> Result<(), Stop> {
        let (table, first, step) = self.bulk_place();
        let insert = &self.statements.bulk[table];
        for row in self.rows..self.rows + self.bulk_rows {
            let id = (first + row * step) as i64;
            transaction.write(insert, (id, id))?;
        }
        Ok(())
    }

    async fn perform_one<S: Session>(
        &mut self,
        place: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let drawn = self.drawn[place];
        let statements = Arc::clone(&self.statements);
        let of = &statements.of[drawn.table];
        let id = drawn.id as i64;
        match drawn.statement {
            Statement::PointSelect => {
                let point = declared(of.point.as_ref());
                let found = transaction.read_if_any(point, (id,)).await?;
                let held = found.map(|(c,)| drawn.owner().may_have_c(c));
                self.check_point(&drawn, held);
            }
            Statement::SimpleRange => {
                let simple = declared(of.simple.as_ref());
                self.range(&drawn, simple, |_, _| true, transaction).await?;
            }
            Statement::SumRange => {
                let sum = declared(of.sum.as_ref());
                let (sum,) = transaction.read(sum, (id, self.last(id))).await?;
                // No `k` is below 1, so the sum bounds the number of rows.
                let rows = self.rows_of(id) as i64;
                if !self.rows_may_be_away && sum.is_none_or(|sum| sum < rows) {
                    let sum_text = sum.map_or("nothing".to_owned(), |sum| sum.to_string());
                    self.tally
                        .misread
                        .add(|| format!("{rows} rows from {} sum up to {sum_text}", drawn.name()));
                }
            }
            Statement::OrderRange => {
                let order = declared(of.order.as_ref());
                self.range(&drawn, order, |before, c| before <= c, transaction).await?;
            }
            Statement::DistinctRange => {
                let distinct = declared(of.distinct.as_ref());
                self.range(&drawn, distinct, |before, c| before < c, transaction).await?;
            }
            Statement::IndexUpdate => {
                if let Some(key) = key(of, id, transaction).await? {
                    transaction.write(declared(of.add_to_k.as_ref()), (key, 1))?;
                }
            }
            Statement::NonIndexUpdate => {
                if let Some(key) = key(of, id, transaction).await? {
                    let mut c = [0; C_BYTES];
                    drawn.owner().c(drawn.c_version, &mut c);
                    transaction.write(declared(of.set_c.as_ref()), (key, text(&c)))?;
                }
            }
            Statement::Delete => {
                if let Some(key) = key(of, id, transaction).await? {
                    transaction.write(declared(of.delete.as_ref()), (key,))?;
                }
            }
            Statement::Insert => self.insert(&drawn, declared(of.new_row.as_ref()), transaction)?,
        }
        Ok(())
    }

    fn insert<S: Session>(
        &self,
        drawn: &DrawnEvent,
        new_row: &NewRow,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (mut c, mut pad) = ([0; C_BYTES], [0; PAD_BYTES]);
        let number = self.row_number();
        let again = matches!(new_row, NewRow::Again(_) | NewRow::AgainWithKey(_));
        let (owner, c_version, pad_version) = if again {
            (drawn.owner(), drawn.c_version, drawn.pad_version)
        } else {
            let no_row = Owner { table: drawn.table, id: 0 };
            (no_row, number, number)
        };
        owner.c(c_version, &mut c);
        owner.pad(pad_version, drawn.k, &mut pad);
        let (id, k, c, pad) = (drawn.id as i64, drawn.k as i64, text(&c), text(&pad));
        match new_row {
            NewRow::Again(put) => transaction.write(put, (id, k, c, pad)),
            NewRow::AgainWithKey(put) => transaction.write(put, (id, id, k, c, pad)),
            NewRow::WithId(insert) => {
                transaction.write(insert, (unique_ids::id(number), k, c, pad))
            }
            NewRow::ByStore(insert) => transaction.write(insert, (k, c, pad)),
        }
    }

    /// Reads a range and checks the number and the order of its rows.
    async fn range<S: Session>(
        &mut self,
        drawn: &DrawnEvent,
        read: &OfRange,
        in_order: impl Fn(&str, &str) -> bool,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let first = drawn.id as i64;
        transaction.ask(read, (first, self.last(first)))?;
        let (mut rows, mut before, mut ordered) = (0, None, true);
        for row in transaction.answers(read).await? {
            let (c,) = row?;
            ordered &= before.is_none_or(|before| in_order(before, c));
            before = Some(c);
            rows += 1;
        }
        let most = self.rows_of(first);
        if rows > most || (rows < most && !self.rows_may_be_away) || !ordered {
            let order = if ordered { "in" } else { "out of" };
            self.tally.misread.add(|| {
                let what = Statement::NAMES[drawn.statement as usize];
                let from = drawn.name();
                format!("{what} from {from}: {rows} of {most} rows, {order} order")
            });
        }
        Ok(())
    }

    fn last(&self, first: i64) -> i64 {
        first + self.range_size as i64 - 1
    }

    /// Number of rows of the range from an id.
    fn rows_of(&self, first: i64) -> u64 {
        self.range_size.min(self.table_size + 1 - first as u64)
    }

    /// Checks the answer of a point select: none, or whether the text was written for the row.
    #[inline]
    fn check_point(&mut self, drawn: &DrawnEvent, held: Option<bool>) {
        let what = match held {
            Some(true) => return,
            None if self.rows_may_be_away => return,
            None => "is missing",
            Some(false) => "has a c that was never written for it",
        };
        self.tally.misread.add(|| format!("{} {what}", drawn.name()));
    }

    fn bulk_ended(&mut self, ending: Ending) {
        if ending == Ending::Undone {
            // Nothing of it remains, so its ids are free for the next draw.
            return;
        }
        let (table, first, step) = self.bulk_place();
        for row in self.rows..self.rows + self.bulk_rows {
            let identity = identity((table, first + row * step));
            if ending == Ending::Committed {
                self.tally.inserted.add(identity);
            } else {
                self.tally.perhaps_inserted.push(identity);
            }
        }
        self.rows += self.bulk_rows;
    }

    fn statement_ended(&mut self, drawn: &DrawnEvent, ending: Ending) {
        let row = (drawn.table, drawn.id);
        let place = Oltp::place(self.table_size, row);
        if drawn.statement == Statement::Delete && ending != Ending::Undone {
            self.deleted.mark(place);
        }
        match (drawn.statement, self.test, ending) {
            (_, _, Ending::Undone) => {}
            (Statement::IndexUpdate, _, Ending::Committed) => {
                self.added.mark(place);
                self.tally.added[drawn.table] += 1;
            }
            (Statement::NonIndexUpdate, _, Ending::Committed) => self.set.mark(place),
            (Statement::IndexUpdate, _, Ending::Unknown) => {
                self.tally.perhaps_added[drawn.table] += 1;
            }
            (Statement::Insert, Test::Insert, _) => {
                let identity = identity((drawn.table, self.row_number()));
                if ending == Ending::Committed {
                    self.tally.inserted.add(identity);
                } else {
                    self.tally.perhaps_inserted.push(identity);
                }
                self.rows += 1;
            }
            (Statement::Delete, Test::Delete, Ending::Committed) => {
                self.tally.deleted.insert(row);
            }
            // Within a transaction its insert restores the row.
            (Statement::Delete, _, _) if !self.whole => {
                self.tally.away.insert(row);
            }
            (Statement::Insert, _, Ending::Committed) => {
                self.tally.away.remove(&row);
            }
            _ => {}
        }
    }
}

/// A number that distinguishes rows.
pub(super) fn identity((table, number): RowId) -> u64 {
    mixed(number) ^ ((table as u64) << 48)
}

/// A statement of the event, which has been declared.
fn declared<T>(statement: Option<&T>) -> &T {
    statement.expect("what an event holds was declared")
}

/// The key for an id: the id itself, or as found in the index; none if there is no such row.
#[inline]
async fn key<S: Session>(
    of: &TableOperations,
    id: i64,
    transaction: &mut Transaction<'_, S>,
) -> Result<Option<i64>, Stop> {
    match &of.find {
        None => Ok(Some(id)),
        Some(find) => {
            let found = transaction.read_if_any(find, (id,)).await?;
            Ok(found.map(|(key,)| key))
        }
    }
}

impl DrawnEvent {
    fn owner(&self) -> Owner {
        Owner { table: self.table, id: self.id }
    }

    fn name(&self) -> String {
        format!("row {} of sbtest{}", self.id, self.table + 1)
    }
}

impl Client for OltpClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        if self.test == Test::BulkInsert {
            return 0;
        }
        let (_, next) = self.part;
        if next < self.drawn.len() && !self.whole {
            self.part = (next, next + 1);
        } else {
            self.draw_event();
            let end = if self.whole { self.drawn.len() } else { 1 };
            self.part = (0, end);
        }
        if self.whole { 0 } else { self.drawn[self.part.0].statement as usize }
    }

    fn access_pattern(&self, _kind: usize) -> AccessPattern {
        let find = self.statements.of.first().is_some_and(|of| of.find.is_some());
        let single = match self.test {
            Test::BulkInsert => self.bulk_rows == 1,
            _ if self.whole => false,
            _ => !find || !self.drawn[self.part.0].statement.writes(),
        };
        match self.test {
            _ if single => AccessPattern::Single,
            Test::ReadOnly => AccessPattern::ReadOnly,
            _ => AccessPattern::Several,
        }
    }

    #[inline]
    async fn perform<S: Session>(
        &mut self,
        _kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        if self.test == Test::BulkInsert {
            return self.insert_in_bulk(transaction);
        }
        let (from, to) = self.part;
        for place in from..to {
            self.perform_one(place, transaction).await?;
        }
        Ok(())
    }

    #[inline]
    fn ended(&mut self, _kind: usize, ending: Ending) {
        if self.test == Test::BulkInsert {
            return self.bulk_ended(ending);
        }
        let (from, to) = self.part;
        for place in from..to {
            let drawn = self.drawn[place];
            self.statement_ended(&drawn, ending);
        }
    }

    fn tally(self) -> Tally {
        self.tally
    }
}
