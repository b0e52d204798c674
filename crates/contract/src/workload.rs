//! A workload: its transactions, its clients, and the checks of its results.
//!
//! The loaded data depends only on the workload's options, never on the seed of a run, so that loaded rows
//! can serve several runs.

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
    /// It was checked and holds.
    Held,
    /// It was checked and does not hold; the text says what was found.
    Violated(String),
    /// It does not apply; the text says why.
    NotApplicable(String),
}

/// One check after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The condition, in words.
    pub name: String,
    /// Whether it holds.
    pub outcome: CheckOutcome,
}

/// Rows to load before a run, in units: a row, or a few rows of one table that belong together (the lines of
/// an order). A unit is made from its number alone, so loading is parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The table.
    pub table: TableId,
    /// Number of units.
    pub units: u64,
}

/// How long a client of a closed loop waits around a transaction, like a person at a terminal. An open loop
/// has its own schedule and does not wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Between the draw and the start (keying), in nanoseconds; not part of the response time.
    pub before_ns: Nanos,
    /// Between the end and the next draw (thinking), in nanoseconds.
    pub after_ns: Nanos,
}

/// A requirement for response times: the share of a transaction's committed responses that must be within a
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseBound {
    /// The transaction's position in [`Workload::transactions`].
    pub transaction: usize,
    /// The share in percent.
    pub percent: u8,
    /// The time in nanoseconds.
    pub within_ns: Nanos,
}

/// The counts of a run's measured span, from which the workload computes its own figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts<'a> {
    /// The length of the span.
    pub seconds: f64,
    /// Number of clients.
    pub clients: usize,
    /// Committed transactions, by their position in [`Workload::transactions`].
    pub committed: &'a [u64],
    /// Transactions aborted by the workload's own rule, by the same position.
    pub aborted: &'a [u64],
}

/// A characteristic figure of a workload: new orders/min, record reads per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnFigure {
    /// Its name, which follows value and unit: "new orders/min".
    pub name: &'static str,
    /// Its unit: "%", "MB"; empty if the name says what is counted.
    pub unit: &'static str,
    /// The value; unknown figures are left out.
    pub value: f64,
}

/// What a committed transaction counts as, if not as one: "inserts", 100 each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The plural noun.
    pub name: &'static str,
    /// Number of units per committed transaction.
    pub per_transaction: u64,
}

/// One client: draws the next transaction and performs it. Holds the drawn input, so that a retry repeats it.
/// It may continue on another thread between two transactions.
pub trait Client: Send {
    /// What the checks need from a client after it has ended.
    type Tally: Send;

    /// Draws the next transaction: its position in [`Workload::transactions`]. No I/O.
    fn draw(&mut self) -> usize;

    /// The access pattern of the drawn transaction.
    fn access_pattern(&self, kind: usize) -> AccessPattern;

    /// How long it waits around the drawn transaction.
    fn waits(&mut self, _kind: usize) -> Waits {
        Waits::default()
    }

    /// Performs the drawn transaction up to, but not including, its commit. May run again after a conflict,
    /// so it must not accumulate state that a second run would double.
    async fn perform<S: Session>(
        &mut self,
        kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop>;

    /// Called once with the ending of the drawn transaction, after the last retry.
    fn ended(&mut self, kind: usize, ending: Ending);

    /// Returns what the checks need.
    fn tally(self) -> Self::Tally;
}

/// A workload.
pub trait Workload: Sync {
    /// Its clients.
    type Client: Client;

    /// Its name: "insert".
    fn name(&self) -> &'static str;

    /// A notice shown with every result, on screen, in records and in reports: "derived from TPC-B, not
    /// comparable to published TPC results".
    fn notice(&self) -> Option<&'static str> {
        None
    }

    /// Its options with given or default values, for the record and for repeating the run.
    fn options(&self) -> Vec<(&'static str, String)>;

    /// The names of its transactions.
    fn transactions(&self) -> &'static [&'static str];

    /// True if every committed transaction at this position has written, so that its commit cannot be
    /// acknowledged before a sync if the store promises one. False for transactions that only read or may not
    /// write.
    fn always_writes(&self, _transaction: usize) -> bool {
        true
    }

    /// What a committed transaction counts as.
    fn unit(&self) -> Unit {
        Unit { name: "transactions", per_transaction: 1 }
    }

    /// Its tables and operations.
    fn plan(&self) -> &Plan;

    /// The rows to load before the run.
    fn loads(&self) -> Vec<Load> {
        Vec::new()
    }

    /// Appends the rows of unit `number` of a load to the batch. Only called for the loads of `loads`.
    fn load_unit(&self, table: TableId, number: u64, batch: &mut Rows) {
        unreachable!(
            "{} loads no unit {number} of table {} into {}",
            self.name(),
            table.0,
            batch.len()
        );
    }

    /// A description of the loaded rows that differs whenever a run could not start from the rows of another:
    /// "100000 rows of 100 bytes". None if a run cannot start from the rows that an earlier one has left.
    fn loaded_as(&self) -> Option<String> {
        None
    }

    /// True if a run leaves other rows than `loaded_as` describes, even one more or less, so that no later
    /// run can start from them.
    fn leaves_other_rows(&self) -> bool {
        false
    }

    /// A run begins: resets state that clients of an earlier run shared. `salt` is zero if the rows are
    /// loaded for this run, so that equal seeds write equal values. If an earlier run has left them, it is a
    /// number unique to this run, and values depend on it too: existing values must not be written again,
    /// because a store may skip such writes.
    fn run_begins(&self, _salt: u64) {}

    /// Reads the rows that an earlier run has left, for the check to compare with the rows after this run.
    /// Called after [`Workload::run_begins`] and before any client, only if rows were left.
    async fn read_kept_rows<S: Session>(&self, _session: &mut S) -> Result<(), Stop> {
        Ok(())
    }

    /// Client `number` of `clients`; equal seeds give equal clients.
    fn client(&self, number: usize, clients: usize, seed: u64) -> Self::Client;

    /// Requirements for its response times; judged as a check.
    fn response_bounds(&self) -> Vec<ResponseBound> {
        Vec::new()
    }

    /// Its characteristic figures.
    fn figures(&self, _counts: &Counts<'_>) -> Vec<OwnFigure> {
        Vec::new()
    }

    /// Compares what the store holds with what the clients were acknowledged. Not called for a target that
    /// keeps no rows.
    async fn check<S: Session>(
        &self,
        tallies: Vec<<Self::Client as Client>::Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop>;

    /// The names of its checks, for a target to which they do not apply.
    fn check_names(&self) -> Vec<&'static str>;
}
