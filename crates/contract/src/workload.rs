//! A workload: what is asked of a store, by whom, and what must be true afterwards.

use crate::outcome::{Ending, Stop};
use crate::plan::Plan;
use crate::rows::Rows;
use crate::schema::TableId;
use crate::session::{Session, Shape};
use crate::transaction::Transaction;

/// The verdict of one check after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    /// It was looked at and holds.
    Held,
    /// It was looked at and does not hold; what was found, in words.
    Violated(String),
    /// It could not apply; why, in words.
    NotApplicable(String),
}

/// One check after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What should be true, in words.
    pub name: String,
    /// Whether it is.
    pub outcome: CheckOutcome,
}

/// Rows to load before a run: any of them can be made from its number alone, so loading is parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The table.
    pub table: TableId,
    /// How many rows.
    pub rows: u64,
}

/// What a committed transaction is worth, where that is not one: "inserts", 100 each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The plural noun.
    pub name: &'static str,
    /// How many a committed transaction holds.
    pub per_transaction: u64,
}

/// One client: draws what to do next and does it. Holds the drawn input, so that a retry repeats it.
pub trait Client {
    /// What the checks need to know of a client when it has ended.
    type Tally: Send;

    /// Draws the next transaction: its position in [`Workload::transactions`]. No I/O.
    fn draw(&mut self) -> usize;

    /// The shape of the drawn transaction.
    fn shape(&self, kind: usize) -> Shape;

    /// Performs the drawn transaction up to, not including, its commit. May run again after a
    /// conflict: it must not keep what a second run would double.
    async fn perform<S: Session>(
        &mut self,
        kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop>;

    /// Told once how the drawn transaction ended, after the last retry.
    fn ended(&mut self, kind: usize, ending: Ending);

    /// Gives up what the checks need.
    fn tally(self) -> Self::Tally;
}

/// A workload.
pub trait Workload: Sync {
    /// Its clients.
    type Client: Client;

    /// Its name: "insert".
    fn name(&self) -> &'static str;

    /// A notice that stands in every row, on screen, record and report: "derived from TPC-B, not
    /// comparable to published TPC results".
    fn notice(&self) -> Option<&'static str> {
        None
    }

    /// Its options as given or defaulted, for the record and for doing the run again.
    fn options(&self) -> Vec<(&'static str, String)>;

    /// The names of its transactions.
    fn transactions(&self) -> &'static [&'static str];

    /// What a committed transaction is worth.
    fn unit(&self) -> Unit {
        Unit {
            name: "transactions",
            per_transaction: 1,
        }
    }

    /// Its tables and operations.
    fn plan(&self) -> &Plan;

    /// The rows to load first.
    fn loads(&self) -> Vec<Load> {
        Vec::new()
    }

    /// Appends row `number` of a load to the batch. Only asked for what `loads` names.
    fn load_row(&self, table: TableId, number: u64, batch: &mut Rows) {
        unreachable!(
            "{} loads no row {number} of table {} into {}",
            self.name(),
            table.0,
            batch.len()
        );
    }

    /// Client `number` of `clients`; equal seeds give equal clients.
    fn client(&self, number: usize, clients: usize, seed: u64) -> Self::Client;

    /// Checks what the store holds against what the clients were told. Not called on a target that
    /// keeps no rows.
    async fn check<S: Session>(
        &self,
        tallies: Vec<<Self::Client as Client>::Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop>;

    /// The names of its checks, for a target on which they do not apply.
    fn check_names(&self) -> Vec<&'static str>;
}
