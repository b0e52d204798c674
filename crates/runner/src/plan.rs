//! What a run shall be: how many clients, how long, how they arrive, what is measured beside.

use std::time::Duration;
use syncline_profiler::ProfilerOptions;

/// How transactions arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// Closed loop: a client starts its next transaction when its last has ended.
    Closed,
    /// Open loop at equal distances, over all clients together.
    Fixed {
        /// Arrivals a second.
        rate_per_s: f64,
    },
    /// Open loop at exponentially distributed distances, over all clients together.
    Poisson {
        /// Arrivals a second on average.
        rate_per_s: f64,
    },
}

impl Arrival {
    /// The word in options and records.
    pub fn word(self) -> &'static str {
        match self {
            Arrival::Closed => "closed",
            Arrival::Fixed { .. } => "fixed",
            Arrival::Poisson { .. } => "poisson",
        }
    }

    /// Arrivals a second; none in a closed loop.
    pub fn rate_per_s(self) -> Option<f64> {
        match self {
            Arrival::Closed => None,
            Arrival::Fixed { rate_per_s } | Arrival::Poisson { rate_per_s } => Some(rate_per_s),
        }
    }
}

/// The plan of a run. At least one of `duration` and `transactions` is given; the first to be reached
/// ends the run.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "each stands alone; none excludes another")]
pub struct RunPlan {
    /// How many clients.
    pub clients: usize,
    /// How many worker threads drive them; none lets the client model decide: a thread a client for
    /// stores that block, else a thread a core, or fewer if the store works in this process, keeps a log, and
    /// commits more with them in some slices before the warm-up.
    pub workers: Option<usize>,
    /// How long is measured, warm-up and drain apart.
    pub duration: Option<Duration>,
    /// How many transactions are attempted and measured, exactly.
    pub transactions: Option<u64>,
    /// How many of them each client attempts at most, so that all do the same; none lets who is faster do
    /// more. Needs `transactions`, which is then this many times the clients.
    pub transactions_each: Option<u64>,
    /// How long the clients run before anything is measured.
    pub warm_up: Duration,
    /// How long transactions under way may take to end after the measured span; then they are
    /// abandoned and counted as unfinished.
    pub drain: Duration,
    /// How transactions arrive.
    pub arrival: Arrival,
    /// Whether the clients of a closed loop wait around their transactions as the workload says; false
    /// leaves out keying and thinking.
    pub waits: bool,
    /// In an open loop: how late a transaction may start; one that would be later is skipped and counted.
    /// None starts all, however late.
    pub skip_after: Option<Duration>,
    /// How often a conflicted transaction is tried again, with the same input.
    pub retries: u32,
    /// How long after it was due a conflicted transaction is still tried again; none sets no limit.
    pub retry_within: Option<Duration>,
    /// Equal seeds give equal clients and equal arrivals.
    pub seed: u64,
    /// The processors that workers are pinned to, in turn; empty pins none.
    pub pin: Vec<usize>,
    /// Whether loaded rows are taken from an earlier run, if one has left them, and left for the next.
    pub reuse: bool,
    /// With `reuse`: what the rows that are there already must have been made from, as [`crate::loaded_as`]
    /// says it; the run loads its own beside them. None loads only where nothing is.
    pub adds_to: Option<String>,
    /// With `reuse`: whether a workload that leaves other rows than it found may start from kept ones, so
    /// that no later run can; else it is refused.
    pub spends_rows: bool,
    /// Whether statements that do not wait for one another's answers travel together; false sends one a
    /// round trip, none leaves it to the workload.
    pub pipeline: Option<bool>,
    /// Whether each transaction has a connection of its own, made before it starts.
    pub connects_each: bool,
    /// Whether a transaction whose statement is refused is counted as failed and the run goes on; else it
    /// ends the run.
    pub goes_on_after_errors: bool,
    /// Whether each operation is timed too; costs two clock reads an operation.
    pub operations: bool,
    /// How closely the store's process is looked at, for the cost by module; none does not look.
    pub meter: Option<ProfilerOptions>,
    /// Whether slices of time with the meter and without it stand before the measured span, which say what
    /// looking costs.
    pub unmetered_beside: bool,
    /// The length of an interval of `RunResult::intervals`.
    pub interval: Duration,
    /// What the laboratory itself costs a transaction, in nanoseconds of processor time, as
    /// `calibrate` measured it; none if it was not measured.
    pub laboratory_cpu_ns: Option<f64>,
    /// The best rate of syncs that the probe reached in the log directory (`line_max`); none if it was
    /// not probed.
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
            spends_rows: false,
            pipeline: None,
            connects_each: false,
            goes_on_after_errors: false,
            operations: false,
            meter: None,
            unmetered_beside: false,
            interval: Duration::from_secs(1),
            laboratory_cpu_ns: None,
            line_max_per_s: None,
        }
    }
}
