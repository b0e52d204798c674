//! A workload: what is asked of a store, by whom, and what must be true afterwards.
//!
//! What is loaded depends on the workload's options alone, never on the seed of a run, so that loaded
//! rows can serve several runs.

use crate::outcome::{Ending, Stop};
use crate::plan::Plan;
use crate::rows::Rows;
use crate::schema::TableId;
use crate::session::{AccessPattern, Session};
use crate::transaction::Transaction;
use syncline_instrument::Nanos;

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

/// Rows to load before a run, in units: a row, or a few rows of one table that belong together (the
/// lines of an order). Any unit can be made from its number alone, so loading is parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The table.
    pub table: TableId,
    /// How many units.
    pub units: u64,
}

/// How long a client of a closed loop waits around a transaction, as a person at a terminal does. An
/// open loop has its own schedule and does not wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Between the draw and the start (keying), in nanoseconds; response time does not span it.
    pub before_ns: Nanos,
    /// Between the end and the next draw (thinking), in nanoseconds.
    pub after_ns: Nanos,
}

/// What responses must keep to: a share of a transaction's committed responses within a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseBound {
    /// The transaction's position in [`Workload::transactions`].
    pub transaction: usize,
    /// Of a hundred responses, so many...
    pub percent: u8,
    /// ...within that many nanoseconds.
    pub within_ns: Nanos,
}

/// What a run counted in its measured span, for the workload's own figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts<'a> {
    /// The length of the span.
    pub seconds: f64,
    /// How many clients there were.
    pub clients: usize,
    /// Committed transactions, by their position in [`Workload::transactions`].
    pub committed: &'a [u64],
    /// Transactions that ended by the workload's own rule, likewise.
    pub aborted: &'a [u64],
}

/// A figure that a workload is known by: new orders/min, record reads a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnFigure {
    /// What it is, as it reads behind value and unit: "new orders/min".
    pub name: &'static str,
    /// Its unit: "%", "MB"; empty where the name says what is counted.
    pub unit: &'static str,
    /// How much; unknown figures are left out.
    pub value: f64,
}

/// What a committed transaction is worth, where that is not one: "inserts", 100 each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The plural noun.
    pub name: &'static str,
    /// How many a committed transaction holds.
    pub per_transaction: u64,
}

/// One client: draws what to do next and does it. Holds the drawn input, so that a retry repeats it. Between
/// two transactions it may go on on another thread.
pub trait Client: Send {
    /// What the checks need to know of a client when it has ended.
    type Tally: Send;

    /// Draws the next transaction: its position in [`Workload::transactions`]. No I/O.
    fn draw(&mut self) -> usize;

    /// The shape of the drawn transaction.
    fn shape(&self, kind: usize) -> AccessPattern;

    /// How long it waits around the drawn transaction.
    fn waits(&mut self, _kind: usize) -> Waits {
        Waits::default()
    }

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

    /// True if every committed transaction of that position has written, so that its commit cannot be
    /// acknowledged before a sync where the store promises one. False for what reads, or only may write.
    fn always_writes(&self, _transaction: usize) -> bool {
        true
    }

    /// What a committed transaction is worth.
    fn unit(&self) -> Unit {
        Unit { name: "transactions", per_transaction: 1 }
    }

    /// Its tables and operations.
    fn plan(&self) -> &Plan;

    /// The rows to load first.
    fn loads(&self) -> Vec<Load> {
        Vec::new()
    }

    /// Appends the rows of unit `number` of a load to the batch. Only asked for what `loads` names.
    fn load_unit(&self, table: TableId, number: u64, batch: &mut Rows) {
        unreachable!(
            "{} loads no unit {number} of table {} into {}",
            self.name(),
            table.0,
            batch.len()
        );
    }

    /// What the loaded rows are made from, in words that differ wherever a run could not start from the
    /// rows of another: "100000 rows of 100 bytes". None if a run cannot start from what an earlier one
    /// has left.
    fn loaded_as(&self) -> Option<String> {
        None
    }

    /// True if a run leaves other rows than `loaded_as` says, a row more or less, so that no later run
    /// can start from them.
    fn leaves_other_rows(&self) -> bool {
        false
    }

    /// A run begins: what clients of an earlier one shared is forgotten. `salt` is zero where the rows are
    /// loaded for this run, so that equal seeds write equal values; where an earlier run has left them it
    /// is a number that no other run has, from which values are drawn too: what is there already must not
    /// be written again, which a store may skip.
    fn run_begins(&self, _salt: u64) {}

    /// Looks at the rows that an earlier run has left, for what the check holds against the rows after
    /// this run. Called after [`Workload::run_begins`] and before any client, only where rows were left.
    async fn look_at_kept_rows<S: Session>(&self, _session: &mut S) -> Result<(), Stop> {
        Ok(())
    }

    /// Client `number` of `clients`; equal seeds give equal clients.
    fn client(&self, number: usize, clients: usize, seed: u64) -> Self::Client;

    /// What its responses must keep to; judged as a check.
    fn response_bounds(&self) -> Vec<ResponseBound> {
        Vec::new()
    }

    /// The figures that it is known by.
    fn figures(&self, _counts: &Counts<'_>) -> Vec<OwnFigure> {
        Vec::new()
    }

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
