//! The plan of a run: the number of clients, the duration, the arrivals, and the extra measurements.

use std::time::Duration;
use syncline_profiler::ProfilerOptions;

/// How transactions arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// Closed loop: a client starts its next transaction when its last has ended.
    Closed,
    /// Open loop at equal intervals, over all clients together.
    Fixed {
        /// Arrivals a second.
        rate_per_s: f64,
    },
    /// Open loop at exponentially distributed intervals, over all clients together.
    Poisson {
        /// Arrivals a second on average.
        rate_per_s: f64,
    },
}

impl Arrival {
    /// The name in options and records.
    pub fn word(self) -> &'static str {
        match self {
            Arrival::Closed => "closed",
            Arrival::Fixed { .. } => "fixed",
            Arrival::Poisson { .. } => "poisson",
        }
    }

    /// Arrivals a second; `None` in a closed loop.
    pub fn rate_per_s(self) -> Option<f64> {
        match self {
            Arrival::Closed => None,
            Arrival::Fixed { rate_per_s } | Arrival::Poisson { rate_per_s } => Some(rate_per_s),
        }
    }
}

/// The plan of a run. At least one of `duration` and `transactions` must be set; the run ends when it
/// reaches the first of them.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "the flags are independent of each other")]
pub struct RunPlan {
    /// The number of clients.
    pub clients: usize,
    /// The number of worker threads that drive the clients. With `None` the client model decides: one
    /// thread per client for stores that block, else one thread per core. A store in this process that
    /// keeps a log may get fewer, if it commits more with fewer in trial slices before the warm-up.
    pub workers: Option<usize>,
    /// The length of the measured span, without warm-up and drain.
    pub duration: Option<Duration>,
    /// The exact number of transactions that are attempted and measured.
    pub transactions: Option<u64>,
    /// The most transactions that each client attempts, so that all clients do the same amount; with
    /// `None` faster clients do more. Requires `transactions`, which must be this number times the clients.
    pub transactions_each: Option<u64>,
    /// How long the clients run before the measured span.
    pub warm_up: Duration,
    /// How long transactions under way may take to end after the measured span. After that the runner
    /// abandons them and counts them as unfinished.
    pub drain: Duration,
    /// How transactions arrive.
    pub arrival: Arrival,
    /// Whether the clients of a closed loop keep the workload's keying and think times; false omits them.
    pub waits: bool,
    /// In an open loop: how late a transaction may start. A later one is skipped and counted. `None`
    /// starts all of them, however late.
    pub skip_after: Option<Duration>,
    /// How often a conflicted transaction is retried, with the same input.
    pub retries: u32,
    /// How long after its due time a conflicted transaction is still retried; `None` sets no limit.
    pub retry_within: Option<Duration>,
    /// Equal seeds give equal clients and equal arrivals.
    pub seed: u64,
    /// The processors that workers are pinned to, in turn; empty pins no worker.
    pub pin: Vec<usize>,
    /// Whether the run starts from rows that an earlier run has kept, if there are any, and keeps its rows
    /// for the next run.
    pub reuse: bool,
    /// With `reuse`: the source of the rows that must exist already, as [`crate::loaded_as`] returns it;
    /// the run loads its own rows in addition. `None` loads rows only into an empty store.
    pub adds_to: Option<String>,
    /// With `reuse`: whether a workload that inserts or deletes rows may start from kept rows. No later
    /// run can start from them then. If false, such a run is refused.
    pub consume_rows: bool,
    /// Whether statements that do not depend on each other's answers share a round trip. False sends one
    /// statement per round trip; `None` leaves it to the workload.
    pub pipeline: Option<bool>,
    /// Whether each transaction has its own connection, opened before the transaction starts.
    pub connects_each: bool,
    /// Whether the run counts a transaction with a refused statement as failed and continues; if false,
    /// the first such transaction ends the run.
    pub continue_on_error: bool,
    /// Whether each operation is timed too; this costs two clock reads per operation.
    pub operations: bool,
    /// The profiler options for the cost by module; `None` runs without the profiler.
    pub profiler: Option<ProfilerOptions>,
    /// Whether the run measures the profiler's overhead before the measured span, in slices with and
    /// without the profiler.
    pub overhead_test: bool,
    /// The length of an interval of `RunResult::intervals`.
    pub interval: Duration,
    /// The laboratory's own cost of a transaction in nanoseconds of processor time, as `calibrate` measured
    /// it; `None` if it was not measured.
    pub laboratory_cpu_ns: Option<f64>,
    /// The best sync rate that the probe reached in the log directory (`line_max`); `None` if the directory
    /// was not probed.
    pub line_max_per_s: Option<f64>,
}

impl Default for RunPlan {
    /// One client in a closed loop for 30 s after 5 s of warm-up.
    fn default() -> RunPlan {
        RunPlan {
            clients: 1,
            workers: None,
            duration: Some(Duration::from_secs(30)),
            transactions: None,
            transactions_each: None,
            warm_up: Duration::from_secs(5),
            drain: Duration::from_secs(10),
            arrival: Arrival::Closed,
            waits: true,
            skip_after: None,
            retries: 0,
            retry_within: None,
            seed: 1,
            pin: Vec::new(),
            reuse: false,
            adds_to: None,
            consume_rows: false,
            pipeline: None,
            connects_each: false,
            continue_on_error: false,
            operations: false,
            profiler: None,
            overhead_test: false,
            interval: Duration::from_secs(1),
            laboratory_cpu_ns: None,
            line_max_per_s: None,
        }
    }
}
