//! The client: draws and performs transactions.

use super::schema::{Do, Short, TableOperations};
use crate::distributions::Stream;
use std::sync::Arc;
use syncline_contract::{
    AccessPattern, Client, Ending, Int, Read, Session, Several, Stop, Transaction, Value,
};

/// The largest multiple of `rows` that is added to a row's number for its indexed columns.
const MULTIPLES: i64 = 1 << 30;

/// What the check needs from a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rows that were returned with the wrong key.
    pub wrong: u64,
    /// Committed updates.
    pub updates: u64,
    /// Updates with unknown outcomes.
    pub unknown: u64,
}

/// A client.
#[derive(Debug)]
pub struct ShortClient {
    does: Do,
    rows: u64,
    tables: Arc<[TableOperations]>,
    single: bool,
    stream: Stream,
    row: i64,
    /// The key, one to add, and the new value of each indexed column.
    change: Vec<Value<'static>>,
    tally: Tally,
}

impl ShortClient {
    pub(super) fn new(of: &Short, number: usize, seed: u64) -> ShortClient {
        let reads = 1 + of.options.indexes;
        let operations = match of.options.does {
            Do::Read => of.options.tables * reads,
            Do::Update => of.options.tables,
        };
        ShortClient {
            does: of.options.does,
            rows: of.options.rows,
            tables: Arc::clone(&of.tables),
            single: operations == 1,
            stream: Stream::of_client(seed, number, "short"),
            row: 0,
            change: vec![Value::Int(1); 2 + of.options.indexes as usize],
            tally: Tally::default(),
        }
    }

    /// All reads of a transaction, in order.
    fn each_read(tables: &[TableOperations]) -> impl Iterator<Item = &Read<(Int,), (Int,)>> {
        tables.iter().flat_map(|table| std::iter::once(&table.by_key).chain(&table.by_index))
    }
}

impl Client for ShortClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        self.row = self.stream.below(self.rows) as i64;
        if self.does == Do::Update {
            self.change[0] = Value::Int(self.row);
            if self.change.len() > 2 {
                let multiple = self.stream.between(1, MULTIPLES);
                let value = Value::Int(self.row + multiple * self.rows as i64);
                self.change[2..].fill(value);
            }
        }
        0
    }

    #[inline]
    fn access_pattern(&self, _kind: usize) -> AccessPattern {
        match self.does {
            _ if self.single => AccessPattern::Single,
            Do::Read => AccessPattern::ReadOnly,
            Do::Update => AccessPattern::Several,
        }
    }

    #[inline]
    async fn perform<S: Session>(
        &mut self,
        _kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        if self.does == Do::Update {
            for table in self.tables.iter() {
                transaction.write(&table.change, Several::Values(&self.change))?;
            }
            return Ok(());
        }
        for read in ShortClient::each_read(&self.tables) {
            transaction.ask(read, (self.row,))?;
        }
        for read in ShortClient::each_read(&self.tables) {
            let (id,) = transaction.answer(read).await?;
            self.tally.wrong += u64::from(id != self.row);
        }
        Ok(())
    }

    #[inline]
    fn ended(&mut self, _kind: usize, ending: Ending) {
        if self.does == Do::Update {
            match ending {
                Ending::Committed => self.tally.updates += 1,
                Ending::Undone => {}
                Ending::Unknown => self.tally.unknown += 1,
            }
        }
    }

    fn tally(self) -> Tally {
        self.tally
    }
}
